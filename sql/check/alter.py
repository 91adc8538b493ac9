"""What ALTER QUERY may change: what is shown of the cells that a query keeps, for its past too. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mars.model.partials import KINDS, AggregateCall, needed
from mars.model.plan import Aggregation, QueryPlan

CLAUSES = {"where": "WHERE", "window": "WINDOWING", "watermark_ms": "WATERMARK", "idle_ms": "IDLE", "grace_ms": "GRACE",
           "late": "LATE", "late_for_ms": "LATE", "max_ahead_ms": "MAXAHEAD", "timeout_ms": "EMIT"}


def altered(old: QueryPlan, new: QueryPlan, starts_elsewhere: bool) -> QueryPlan | str:
    """The plan of a query that keeps the cells of `old` and shows of them what `new` says, at its RATE; or, in words, why
    they do not hold that. `starts_elsewhere`: the new statement has a FROM clause of another start."""
    kept, wanted = old.aggregation, new.aggregation
    differences = dict.fromkeys(_differences(kept, wanted, new.presentation.aggregates))
    if old.late_to != new.late_to:
        differences["LATE"] = None
    found = [*differences, *(["the start"] if starts_elsewhere else [])]
    if old.presentation.emission != new.presentation.emission or "EMIT" in found:
        found = ["EMIT", *(text for text in found if text != "EMIT" and not text.startswith("what is kept"))]
    if found:
        return " and ".join(found)
    versions = {**dict(new.versions or ()), **dict(old.versions or ())}  # those that its cells are made with
    return replace(new, aggregation=replace(wanted, columns=kept.columns, partials=kept.partials), start=old.start,
                   versions=tuple(sorted(versions.items())) if old.versions is not None else None)


def _differences(kept: Aggregation, wanted: Aggregation, calls: tuple[AggregateCall, ...]) -> Iterator[str]:
    for field, clause in CLAUSES.items():
        if getattr(kept, field) != getattr(wanted, field):
            yield clause
    if [key.expression for key in kept.keys] != [key.expression for key in wanted.keys]:
        yield "GROUP BY"
    for names, words in ((set(wanted.columns) - set(kept.columns), "reads"), (set(kept.columns) - set(wanted.columns),
                                                                              "no longer reads")):
        if names:
            yield f"which tuples are bad (it {words} {', '.join(sorted(names))})"
    for partial in wanted.partials:
        if not any(partial.is_same(other) for other in kept.partials):
            needing = [f"{call.function}(..)" for call in calls if any(partial.is_same(other) for other in needed(call))]
            yield f"what is kept of each group ({needing[0]} needs {KINDS[partial.kind]} of its argument)"
            return
