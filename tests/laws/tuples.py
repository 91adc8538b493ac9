"""Random tuples, a plan with every aggregate over them, and the same statistics computed the plain way in Python."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from mars.algebra import cells
from mars.model import types
from mars.model.expressions import Call, Column, Literal
from mars.model.partials import AggregateCall
from mars.model.plan import Key, Output, QueryPlan, Stream, StreamColumn, Window
from tests.plans import made

STREAM = Stream("s", 1, "topic", "id", tuple(StreamColumn(*column) for column in (
    ("t", "BIGINT"), ("name", "STRING"), ("level", "DOUBLE"), ("i", "BIGINT"), ("x", "DOUBLE"), ("d", "DECIMAL(10,2)"),
    ("note", "STRING"))), "CSV", "t", "ms", key_parts=3)
SIZE = 1_000


def column(name: str) -> Column:
    """A column of the stream."""
    return Column(name, STREAM.column(name).type)


POSITIVE = Call("gt", (column("i"), Literal(0, "BIGINT")), "BOOLEAN")
CALLS = (
    AggregateCall("count", None, None, "BIGINT"), AggregateCall("count", None, POSITIVE, "BIGINT"),
    AggregateCall("count", column("x"), None, "BIGINT"), AggregateCall("sum", column("i"), None, "BIGINT"),
    AggregateCall("sum", column("x"), None, "DOUBLE"), AggregateCall("sum", column("d"), POSITIVE, "DECIMAL(20,2)"),
    AggregateCall("avg", column("x"), None, "DOUBLE"), AggregateCall("avg", column("d"), None, "DECIMAL(14,6)"),
    AggregateCall("min", column("x"), None, "DOUBLE"), AggregateCall("max", column("x"), None, "DOUBLE"),
    AggregateCall("min", column("note"), None, "STRING"), AggregateCall("max", column("note"), POSITIVE, "STRING"),
    AggregateCall("var_samp", column("x"), None, "DOUBLE"), AggregateCall("stddev_pop", column("x"), None, "DOUBLE"),
    AggregateCall("var_pop", column("x"), None, "DOUBLE"), AggregateCall("sum", column("d"), None, "DECIMAL(20,2)"),
    AggregateCall("count_distinct", column("note"), None, "BIGINT"),
    AggregateCall("count_distinct", column("x"), None, "BIGINT"),
    AggregateCall("first", column("note"), None, "STRING"), AggregateCall("last", column("i"), POSITIVE, "BIGINT"),
)
OUTPUTS = (Output("name", Column("k0", "STRING"), "STRING"), Output("level", Column("k1", "DOUBLE"), "DOUBLE"),
           *(Output(f"v{i}", Column(f"a{i}", call.type), call.type) for i, call in enumerate(CALLS)))
PLAN = made(("t", "name", "level", "i", "x", "d", "note"),
            tuple(Key(name, column(name), column(name).type) for name in ("name", "level")), CALLS, OUTPUTS,
            window=Window("tumbling", SIZE))


@dataclass(frozen=True)
class Row:
    """One tuple and its place."""

    t: int
    name: str | None
    level: float | None
    i: int | None
    x: float | None
    d: Decimal | None
    note: str | None
    partition: int
    offset: int


WORDS = st.sampled_from([None, "", "a", "b", "é", "日本", "😀"])
EIGHTHS = st.integers(-8_000, 8_000).map(lambda n: n / 8)
FLOATS = EIGHTHS | EIGHTHS | EIGHTHS | st.sampled_from([None, -0.0, 0.0, 1.0]) | st.sampled_from([None, 2.0, math.nan])
# Most tuples fall into few cells and many times are equal: else nothing would ever be merged, and no tie decided.
TIMES = st.integers(0, 5).map(lambda n: 100 * n) | st.integers(-1_500, 2_500)
FIELDS = st.tuples(
    TIMES, st.sampled_from(["é", "é", "é", "a", None]), st.sampled_from([0.0, -0.0, 0.0, -0.0, math.nan, None]),
    st.none() | st.integers(-9, 9) | st.sampled_from([2**63 - 1, -(2**63)]), FLOATS,
    st.none() | st.decimals("-99999999.99", "99999999.99", places=2), WORDS, st.integers(0, 2))
ROWS = st.integers(0, 30).flatmap(lambda n: st.lists(FIELDS, min_size=n, max_size=n)).map(
    lambda found: [Row(*fields, offset) for offset, fields in enumerate(found)])


def columns_of(rows: list[Row]) -> dict[str, pa.Array]:
    """The rows as Arrow columns, text dictionary-coded as the reader codes it."""
    found = {}
    for name in ("name", "level", "i", "x", "d", "note"):
        array = pa.array([getattr(row, name) for row in rows], types.to_arrow(STREAM.column(name).type))
        found[name] = array.dictionary_encode() if pa.types.is_string(array.type) else array
    return found


def aggregated(rows: list[Row], plan: QueryPlan = PLAN) -> pa.Table:
    """The cells of rows of any partitions: one aggregation for each partition, merged."""
    by_partition = defaultdict(list)
    for row in rows:
        by_partition[row.partition].append(row)
    kept = plan.aggregation
    return cells.merge(kept, STREAM, [
        cells.aggregate(kept, STREAM, columns_of(part), np.array([row.t for row in part], np.int64), None, partition,
                        np.array([row.offset for row in part], np.int64), np.zeros(len(part), np.int32))
        for partition, part in by_partition.items()])


def naive(rows: list[Row]) -> dict[tuple, list]:
    """The finished values by (window start, name, level), computed tuple by tuple."""
    groups = defaultdict(list)
    for row in rows:
        groups[row.t // SIZE * SIZE, row.name, key_of(row.level)].append(row)
    return {key: _values(group) for key, group in groups.items()}


def key_of(level: float | None) -> object:
    """A float as a dictionary key: one NaN, -0 as 0."""
    return "NaN" if level is not None and math.isnan(level) else level


def _values(rows: list[Row]) -> list:
    xs, ds = ([getattr(row, name) for row in rows if getattr(row, name) is not None] for name in "xd")
    positive = [row for row in rows if row.i is not None and row.i > 0]
    integers = [row.i for row in rows if row.i is not None]
    ordered = sorted(rows, key=lambda row: (row.t, row.partition, row.offset))
    last = sorted(positive, key=lambda row: (row.t, row.partition, row.offset))
    notes = [row.note.encode() for row in rows if row.note is not None]
    high = [row.note.encode() for row in positive if row.note is not None]
    numbers = [x for x in xs if not math.isnan(x)]
    some_nan = len(numbers) < len(xs)
    exact = sum(xs, 0.0) if xs else None
    variance = math.nan if some_nan else statistics.variance(xs) if len(xs) > 1 else None
    deviation = math.nan if some_nan else statistics.pstdev(xs) if xs else None
    return [
        len(rows), len(positive), len(xs), (sum(integers) + 2**63) % 2**64 - 2**63 if integers else None, exact,
        sum((row.d for row in positive if row.d is not None), Decimal(0))
        if any(row.d is not None for row in positive) else None,
        exact / len(xs) if xs else None, round_half_up(sum(ds), len(ds)) if ds else None,
        min(numbers) if numbers else math.nan if xs else None, math.nan if some_nan else max(numbers, default=None),
        min(notes).decode() if notes else None, max(high).decode() if high else None,
        variance if len(xs) > 1 else None, deviation, math.nan if some_nan else statistics.pvariance(xs) if xs else None,
        sum(ds) if ds else None,
        len(set(notes)), len(set(numbers)) + some_nan, ordered[0].note, last[-1].i if last else None]


def round_half_up(total: Decimal, count: int) -> Decimal:
    """total / count with six digits after the point, halves away from zero."""
    units = abs(int(total * 100)) * 10**4
    return Decimal((2 * units + count) // (2 * count)).scaleb(-6).copy_sign(total)


def finished(table: pa.Table) -> dict[tuple, list]:
    """The result rows of cells in the form of `naive`."""
    rows = cells.finish(PLAN, STREAM, table).to_pylist()
    return {(round(row["window_start"].timestamp() * 1000), row["name"], key_of(row["level"])):
            [row[f"v{i}"] for i in range(len(CALLS))] for row in rows}


def agree(left: dict[tuple, list], right: dict[tuple, list]) -> bool:
    """The same keys with the same values; floats to 1e-9."""
    return left.keys() == right.keys() and all(
        _same(a, b) for key in left for a, b in zip(left[key], right[key], strict=True))


def _same(left: object, right: object) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(left) and math.isnan(right))
    return left == right
