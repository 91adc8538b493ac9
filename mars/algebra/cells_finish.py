"""From merged cells to result rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra import aggregates, windows
from mars.algebra.cells_layout import call_columns, key_columns, lasts_of, panes_of
from mars.algebra.evaluate import call, evaluate
from mars.algebra.evaluation.arrays import order_keys, plain, valid_mask
from mars.model import types
from mars.model.plan import UNITS_PER_SECOND, QueryPlan, Stream

INSTANT = types.to_arrow("TIMESTAMP")


def finish(plan: QueryPlan, stream: Stream, cells: pa.Table, ordered: bool = True) -> pa.Table:
    """The result rows of cells of windows: `window_start` and `window_end` (only with a window), then the outputs.

    The column window_end is the time by which the window closes, or is given out: readers put the end that is shown
    in its place (mars/results/emitted.py). HAVING is applied; if `ordered`, rows are ordered by window, then by the
    keys in their order, NULL first. An output that is named like a window column would give two columns of that name,
    so the compiler leaves those out.
    """
    if ordered:
        cells = cells.take(pa.array(sort_order(plan, stream, cells)))
    known, ends = _known_columns(plan, stream, cells)
    names: list[str] = [name for name in ("window_start", "window_end") if name in known]
    arrays = [known["window_start"], ends] if ends is not None else []
    for output in plan.presentation.outputs:
        names.append(output.name)
        arrays.append(_declared(evaluate(output.expression, known, len(cells)), output.type))
    rows = pa.Table.from_arrays(arrays, names=names)
    having = plan.presentation.having
    if having is None:
        return rows
    return rows.filter(evaluate(having, known, len(cells)).fill_null(False))


def sort_order(plan: QueryPlan, stream: Stream, cells: pa.Table) -> np.ndarray:
    """The row numbers of cells in result order: by window, then the keys in their order, NULL first."""
    kind, names, lasts = windows.of(plan.aggregation, stream), panes_of(cells), lasts_of(cells)
    levels = [names] if lasts is None else [*kind.bounds(names, lasts)]
    return np.lexsort([*levels, *key_levels(cells)][::-1])


def key_levels(cells: pa.Table) -> list[np.ndarray]:
    """What the keys are ordered by, the first one first; NULL comes first."""
    levels: list[np.ndarray] = []
    for key in key_columns(cells):
        valid, values = valid_mask(key), order_keys(key)
        levels += [values] if valid is None else [valid, np.where(valid, values, 0)]
    return levels


def _known_columns(plan: QueryPlan, stream: Stream, cells: pa.Table) -> tuple[dict[str, pa.Array], pa.Array | None]:
    """(what outputs and HAVING may name: k0.., a0.., window_start, window_end, window_time, window_final; the ends by which
    windows close)."""
    known = {f"k{i}": key for i, key in enumerate(key_columns(cells))}
    for i, aggregate in enumerate(plan.presentation.aggregates):
        known[f"a{i}"] = aggregates.finish(aggregate, call_columns(plan.aggregation, cells, aggregate))
    kind = windows.of(plan.aggregation, stream)
    if not kind.shown:
        return known, None
    windows_ = panes_of(cells)
    starts, ends = kind.bounds(windows_, lasts_of(cells))
    known["window_start"] = instants(stream, starts)
    known["window_end"] = instants(stream, kind.shown_end(windows_, ends))
    known["window_time"] = _in_column_type(stream, starts, known["window_start"])
    known["window_final"] = pa.array(kind.final(windows_))
    return known, instants(stream, ends)


def instants(stream: Stream, times: np.ndarray) -> pa.Array:
    """TIMESTAMP of event times in the stream's unit; ns are cut."""
    per_second = UNITS_PER_SECOND[stream.time_unit]
    micros = times // (per_second // 1_000_000) if per_second > 1_000_000 else times * (1_000_000 // per_second)
    return pa.array(micros).cast(INSTANT)


def _in_column_type(stream: Stream, times: np.ndarray, as_instants: pa.Array) -> pa.Array:
    """Event times in the event-time column's own type: integer of the unit, TIMESTAMP, or ISO 8601 text ending in Z."""
    type_ = stream.column(stream.time_column).type
    if type_ == "TIMESTAMP":
        return as_instants
    if type_ == "STRING":
        return pc.binary_join_element_wise(
            pc.replace_substring(call("cast", [as_instants], "STRING"), " ", "T"), "Z", "")
    return pa.array(times).cast(types.to_arrow(type_), safe=False)


def _declared(values: pa.Array, type_: str) -> pa.Array:
    values, wanted = plain(values), types.to_arrow(type_)
    return values if values.type == wanted else values.cast(wanted)
