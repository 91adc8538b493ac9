from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from mars.algebra import cells
from mars.algebra.cells_wire import MANY, METADATA, compacted, parts_of
from mars.errors import InvariantError
from mars.model.expressions import Call, Column, Literal
from mars.model.partials import AggregateCall
from mars.model.plan import Key, Output, QueryPlan, Stream, StreamColumn
from mars.model.types import to_arrow
from tests.plans import changed, made

KEY = Column("k", "STRING")
COUNT = AggregateCall("count", None, None, "BIGINT")


def stream(type_: str = "BIGINT", unit: str = "ms") -> Stream:
    return Stream("s", 1, "topic", "id", (StreamColumn("t", type_), StreamColumn("k", "STRING")), "CSV", "t", unit)


def plan(type_: str = "BIGINT", **changes: object) -> QueryPlan:
    outputs = (Output("t", Column("window_time", type_), type_), Output("k", Column("k0", "STRING"), "STRING"),
               Output("count", Column("a0", "BIGINT"), "BIGINT"))
    return changed(made(("t", "k"), (Key("k", KEY, "STRING"),), (COUNT,), outputs), **changes)


def aggregate(query: QueryPlan, source: Stream, times: list[int], keys: list[str | None]) -> pa.Table:
    n = len(times)
    return cells.aggregate(query.aggregation, source, {"k": pa.array(keys, pa.string())}, np.array(times, np.int64), None, 0,
                           np.arange(n), np.zeros(n, np.int32))


def test_rows_come_by_window_then_key_with_null_first() -> None:
    table = aggregate(plan(), stream(), [60_000, 1, 2, 3, 4], ["a", "é", "z", None, "z"])
    rows = cells.finish(plan(), stream(), table)
    assert rows.column_names == ["window_start", "window_end", "t", "k", "count"]
    assert [tuple(row.values())[2:] for row in rows.to_pylist()] == [
        (0, None, 1), (0, "z", 2), (0, "é", 1), (60_000, "a", 1)]
    assert rows["window_end"][3].as_py() == datetime(1970, 1, 1, 0, 2, tzinfo=UTC)
    assert rows.schema.field("k").type == pa.string()


@pytest.mark.parametrize(("type_", "unit", "time", "expected"), [
    ("INT", "s", -1, -60), ("BIGINT", "ns", 61_000_000_000, 60_000_000_000),
    ("TIMESTAMP", "us", 61_000_000, datetime(1970, 1, 1, 0, 1, tzinfo=UTC)),
    ("STRING", "us", 61_000_000, "1970-01-01T00:01:00Z"),
])
def test_the_window_is_shown_in_the_event_time_columns_own_type(type_, unit, time, expected) -> None:
    table = aggregate(plan(type_), stream(type_, unit), [time], ["a"])
    assert cells.finish(plan(type_), stream(type_, unit), table)["t"].to_pylist() == [expected]


@pytest.mark.parametrize("type_", ["FLOAT", "DOUBLE"])
@pytest.mark.parametrize("earlier", [0.0, -0.0])
def test_a_key_of_zero_is_shown_alike_whatever_came_first(type_, earlier) -> None:
    key = Column("d", type_)
    query = plan(keys=(Key("d", key, type_),), outputs=(Output("d", Column("k0", type_), type_),))
    source = Stream("s", 1, "topic", "id", (StreamColumn("t", "BIGINT"), StreamColumn("d", type_)), "CSV", "t", "ms")
    batches = [cells.aggregate(query.aggregation, source, {"d": pa.array(values, to_arrow(type_))},
                               np.zeros(len(values), np.int64), None, 0, np.arange(len(values)),
                               np.zeros(len(values), np.int32))
               for values in ([earlier, -earlier], [earlier], [None])]
    for tables in (batches[:1], batches, [batches[1].slice(0), *batches]):
        rows = cells.finish(query, source, cells.merge(query.aggregation, source, tables))
        assert [str(value) for value in rows["d"].to_pylist() if value is not None] == ["0.0"]


def test_having_keeps_the_rows_for_which_it_is_true() -> None:
    having = Call("gt", (Column("a0", "BIGINT"), Literal(1, "BIGINT")), "BOOLEAN")
    query = plan(having=having)
    rows = cells.finish(query, stream(), aggregate(query, stream(), [1, 2, 3], ["a", "b", "b"]))
    assert rows["k"].to_pylist() == ["b"]


def test_without_window_and_keys_there_is_one_row() -> None:
    query = plan(window=None, keys=(), outputs=(Output("count", Column("a0", "BIGINT"), "BIGINT"),))
    table = aggregate(query, stream(), [1, 10**9], ["a", "b"])
    assert cells.finish(query, stream(), table).to_pylist() == [{"count": 2}]
    assert [len(part) for part in cells.split(table, 3)] == [1, 0, 0]


def test_only_used_text_is_sent() -> None:
    many = pa.DictionaryArray.from_arrays(pa.array([7, 7], pa.int32()), pa.array([f"value{i}" for i in range(1000)]))
    table = cells.aggregate(plan().aggregation, stream(), {"k": many}, np.zeros(2, np.int64), None, 0, np.arange(2),
                            np.zeros(2, np.int32))
    decoded = cells.decode(cells.encode(table), cells.schema(plan().aggregation, stream()))
    assert decoded["k0"].chunk(0).dictionary.to_pylist() == ["value7"]
    assert decoded["k0"].to_pylist() == ["value7"]


def test_empty_cells_can_be_sent_merged_and_finished() -> None:
    empty = cells.merge(plan().aggregation, stream(), [])
    again = cells.decode(cells.encode(empty), cells.schema(plan().aggregation, stream()))
    assert cells.row_count(cells.merge(plan().aggregation, stream(), [again, empty])) == 0
    assert len(cells.finish(plan(), stream(), again)) == 0
    assert cells.finish(plan(), stream(), again).schema == cells.finish(
        plan(), stream(), aggregate(plan(), stream(), [1], ["a"])).schema


@pytest.mark.parametrize("damage", [lambda data: data[:40], lambda data: b"", lambda data: b"x" * 100])
def test_damaged_cells_are_refused(damage) -> None:
    data = cells.encode(aggregate(plan(), stream(), [1], ["a"]))
    with pytest.raises(InvariantError):
        cells.decode(damage(data))


def test_cells_of_another_plan_or_version_are_refused() -> None:
    table = aggregate(plan(), stream(), [1], ["a"])
    with pytest.raises(InvariantError, match="another plan"):
        cells.decode(cells.encode(table), cells.schema(plan(keys=()).aggregation, stream()))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.with_metadata({next(iter(METADATA)): b"0"})):
        pass
    with pytest.raises(InvariantError, match="another version"):
        cells.decode(sink.getvalue().to_pybytes())


def test_late_cells_are_told_apart_by_window_end_and_grace() -> None:
    query = plan(grace_ms=500)
    table = aggregate(query, stream(), [1, 60_001], ["a", "a"])
    assert [len(part) for part in cells.late_split(query.aggregation, stream(), table, 60_499)] == [0, 2]
    assert [len(part) for part in cells.late_split(query.aggregation, stream(), table, 60_500)] == [1, 1]


@pytest.mark.parametrize("count", [1, MANY, 40])
@pytest.mark.parametrize("null", [None, "a"])
def test_parts_of_cells_are_compacted_as_each_by_itself(count: int, null: str | None) -> None:
    words = pa.array([null, *(f"{n % 7}" for n in range(99))]).dictionary_encode()
    table = pa.table({"w": np.arange(100), "k0": words, "n": np.ones(100, np.int64)})
    places = np.array([0, *sorted(np.random.default_rng(1).integers(0, 101, count - 1)), 100])
    parts = parts_of(table, places)
    assert len(parts) == count
    for part, first, end in zip(parts, places, places[1:], strict=False):
        whole = compacted(table.slice(first, end - first))
        assert cells.decode(cells.encode(part)).equals(cells.decode(cells.encode(whole)))
        assert cells.decode(cells.encode(part))["k0"].combine_chunks().dictionary.equals(whole["k0"].dictionary)
