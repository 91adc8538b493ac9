"""Which code computes an answer. Every part of Mars that decides answers has a version, and a query keeps its versions.

Cells of one query must not come from two versions, because they would not fit together: if one version computes a key with
another last bit, or puts it into another key part, one group becomes two. So a plan records at CREATE the versions of the
parts that it uses, and code of any other version never computes it. If you change what a part gives for any value, raise its
number here (docs/development.md); tests/mars/test_computing.py is red until then. This module is pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from mars.algebra.aggregate_functions import AGGREGATES
from mars.algebra.functions import SCALARS
from mars.algebra.windows import KINDS
from mars.algebra.windows.zones import zone
from mars.model.expressions import Expression, functions_of
from mars.model.partials import STAMPS, needed
from mars.model.plan import QueryPlan, Stream


def _window_part(kind: str) -> str:
    """The part that a kind of windows is; the first one had no name of its own."""
    return "window" if kind == "tumbling" else f"window {kind}"


# How messages become tuples, texts become values, and tuples find their window, their group and their key part.
PARTS = ("csv", "json", *(f"read {type_}" for type_ in (
    "BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING", "DATE", "TIMESTAMP")),
         *(_window_part(kind) for kind in KINDS if kind), "group", "hash", "max ahead")
VERSIONS: dict[str, int] = dict.fromkeys((*PARTS, *SCALARS, *AGGREGATES), 1) | {"cast": 2, "round": 2}
# The versions of plans that record none. Version 0 is numpy's, whose bits depend on the CPU. Never change this.
UNRECORDED = {"exp": 0, "ln": 0, "log10": 0, "power": 0}
ZONE = "time zone "  # and a name: the data of each zone are a part, whose version tells all its changes
BY_VALUE = ("distinct", "counts", "bars")  # these partials group the values of a cell
WAY_OUT = "DROP the query and CREATE it again, or use the Mars that created it"


def versions_of(plan: QueryPlan, stream: Stream) -> tuple[tuple[str, int], ...]:
    """(part, version) of everything that this code uses to compute the plan, for `QueryPlan.versions`."""
    return tuple((part, _version(part) or 0) for part in sorted({*_parts(plan, stream)}))


def differences(plan: QueryPlan, stream: Stream) -> list[str]:
    """The parts in which this code differs from the code that the plan was created with, in words; empty if it may
    compute it."""
    wanted = plan.versions
    if wanted is None:
        wanted = tuple((part, UNRECORDED.get(part, 1)) for part in sorted({*_parts(plan, stream)}))
    return [f"{part} of version {version}, where this Mars has {_version(part) or 'none'}"
            for part, version in wanted if _version(part) != version]


def _version(part: str) -> int | None:
    """The version of a part here; None if this code does not have it."""
    if not part.startswith(ZONE):
        return VERSIONS.get(part)
    try:
        return zone(part.removeprefix(ZONE)).version
    except KeyError:
        return None


def refusal(plan: QueryPlan, stream: Stream) -> str:
    """Why this code must not compute the plan, with the way out, as the reason of a stopped query; empty if it may."""
    found = differences(plan, stream)
    return f"it was created with {'; '.join(found)}: its windows would be of two kinds; {WAY_OUT}" if found else ""


def _parts(plan: QueryPlan, stream: Stream) -> Iterator[str]:
    yield stream.format.lower()
    for name in {*plan.aggregation.columns, stream.time_column}:
        yield f"read {stream.column(name).type.partition('(')[0]}"
    if stream.column(stream.time_column).type == "STRING":
        yield "read TIMESTAMP"
    if plan.aggregation.window:
        yield _window_part(plan.aggregation.window.kind)
        if plan.aggregation.window.zone:
            yield ZONE + plan.aggregation.window.zone
    if plan.aggregation.max_ahead_ms is not None:
        yield "max ahead"
    if plan.aggregation.keys:
        yield from ("group", "hash")
    for call in plan.presentation.aggregates:
        if call.function in STAMPS:  # reducers write them, and nothing computes them of tuples
            continue
        yield call.function
        yield from ("group",) if needed(call)[0].kind in BY_VALUE else ()
    for expression in _expressions(plan):
        yield from functions_of(expression)


def _expressions(plan: QueryPlan) -> Iterator[Expression | None]:
    yield from (plan.aggregation.where, plan.presentation.having)
    yield from (key.expression for key in plan.aggregation.keys)
    yield from (output.expression for output in plan.presentation.outputs)
    for call in plan.presentation.aggregates:
        yield from (call.argument, call.filter, call.second)
