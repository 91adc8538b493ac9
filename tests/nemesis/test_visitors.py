"""The checker of visitors is checked: it accepts what Mars's own kernels make of the tuples, and sees what is wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mars.model.plan import Stream
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse
from tests.nemesis import visitors
from tests.nemesis.changing import ChangingFollower
from tests.nemesis.oracle import Oracle
from tests.nemesis.refusals import Broken
from tests.nemesis.tuples import CLOSING_MS, COLUMNS, FUTURE_MS, Source
from tests.nemesis.visitors import VISITORS, Visitor, drawn
from tests.test_differential import by_mars

BASE_MS, TUPLES = 1_700_000_000_000, 12_000
BY_NAME = {visitor.name: visitor for visitor in VISITORS}


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    """Of 12 s, without those that lie in the future, as no record has a time here; and one that closes all windows."""
    source = Source(7, BASE_MS)
    made = [line for line in source.step(TUPLES, 12_000)
            if not line[:13].isdigit() or int(line[:13]) < BASE_MS + FUTURE_MS // 2]
    return [*made, *source.closing(1)]


@pytest.fixture
def oracle(lines, tmp_path) -> Iterator[Oracle]:
    made = Oracle(str(tmp_path), "FALSE")
    made.add([(0, offset, line) for offset, line in enumerate(lines)])
    yield made
    made.close()


def stream() -> Stream:
    return compile_stream(parse(f"CREATE STREAM s ({COLUMNS}) FROM KAFKA 's' FORMAT CSV TIMESTAMP t UNIT ms"))


def watermark(oracle: Oracle) -> int:
    return oracle.last_ms + CLOSING_MS // 2


def rows_of(visitor: Visitor, lines: list[bytes], oracle: Oracle) -> pa.Table:
    """What an exact Mars has to say of closed windows, without the last columns."""
    select = visitor.create("q", "s", "EARLIEST").partition(" AS ")[2].replace("EMIT EVERY 4 s", "")
    rows = by_mars(compile_select(parse(select), stream(), continuous=True), stream(), [lines], random.Random(1))
    ends = pc.cast(rows["window_end"], pa.timestamp("ms", "UTC")).cast(pa.int64())
    return rows.filter(pc.less_equal(ends, watermark(oracle))).select(
        ["window_start", "window_end", *visitor.keys, *visitor.values])


def compare(visitor: Visitor, rows: pa.Table, oracle: Oracle, **changes: int) -> list[str]:
    late = pa.table({name: pa.array([], type_) for name, type_ in (
        ("window_start", pa.timestamp("us", "UTC")), ("window_end", pa.timestamp("us", "UTC")), ("partition", pa.int32()),
        ("offset", pa.int64()), ("line", pa.int32()), *((name, pa.int64()) for name in ("t", "id", "g", "v")),
        ("k", pa.string()))})
    counters = {**oracle.counters(visitor), "late": 0, **changes}
    return oracle.compare(visitor, rows, counters, watermark(oracle), late if visitor.keeps_late else None).wrong


@pytest.mark.parametrize("visitor", VISITORS, ids=lambda visitor: visitor.name)
def test_what_the_kernels_make_is_accepted_and_what_is_wrong_is_seen(visitor, lines, oracle):
    if visitor.name == "landmark_from":  # of an endless series the kernels alone give the first windows
        pytest.skip("its windows have no end")
    rows = rows_of(visitor, lines, oracle)
    assert len(rows) > 20
    assert compare(visitor, rows, oracle) == []
    assert len(compare(visitor, rows.slice(0, len(rows) - 1), oracle)) == 1
    assert len(compare(visitor, pa.concat_tables([rows, rows.slice(len(rows) - 1)]), oracle)) in (1, 2)
    column = rows.column_names.index("ids")
    spoilt = pc.add(rows["ids"], pa.array([0] * (len(rows) - 1) + [1]))
    assert len(compare(visitor, rows.set_column(column, "ids", spoilt), oracle)) == 1
    moved = pc.add(rows["window_end"], pa.scalar(1000, pa.duration("us")))
    assert bool(compare(visitor, rows.set_column(1, "window_end", moved), oracle)) is visitor.windows.has_edges


def test_a_late_tuple_may_miss_the_first_of_its_windows_only(lines, oracle):
    visitor = BY_NAME["hopping"]
    rows = rows_of(visitor, lines, oracle)
    own = [i for i, key in enumerate(rows["key"].to_pylist()) if key.startswith("L")]
    first = [i for i in own if rows["key"][i] == rows["key"][own[0]]]
    first.sort(key=lambda i: rows["window_end"][i].as_py())
    assert len(first) == 4
    kept = rows.take([i for i in range(len(rows)) if i not in first[:2]])
    assert compare(visitor, kept, oracle) == []
    none = rows.take([i for i in range(len(rows)) if i not in first])
    assert compare(visitor, none, oracle, late=1) == []
    assert "late is 0" in compare(visitor, none, oracle)[0]
    [wrong] = compare(visitor, rows.take([i for i in range(len(rows)) if i not in first[2:]]), oracle)
    assert "not in a later one" in wrong


def test_late_tuples_and_rows_are_all_together(lines, oracle):
    visitor = BY_NAME["kept"]
    rows = rows_of(visitor, lines, oracle)
    chosen = oracle.database.sql("SELECT * FROM tuples WHERE g < 0 LIMIT 3").to_arrow_table()
    starts = [one // 2_000 * 2_000 for one in chosen["t"].to_pylist()]
    late = pa.table({"window_start": pa.array(starts, pa.timestamp("ms", "UTC")),
                     "window_end": pa.array([start + 2_000 for start in starts], pa.timestamp("ms", "UTC")),
                     "partition": chosen["p"], "offset": chosen["o"], "line": [0] * 3,
                     **{name: chosen[name] for name in ("t", "id", "k", "g", "v")}})
    ids = set(chosen["id"].to_pylist())
    left = [line for line in lines if not (len(line.split(b",")) == 5 and line.split(b",")[1].isdigit()
                                           and int(line.split(b",")[1]) in ids)]
    assert len(left) == len(lines) - 3
    held = rows_of(visitor, left, oracle)
    counters = {**oracle.counters(visitor), "late": 3}

    def judge(rows: pa.Table, late: pa.Table) -> list[str]:
        return oracle.compare(visitor, rows, counters, watermark(oracle), late).wrong

    assert judge(held, late) == []
    assert judge(rows, late)
    assert judge(held, late.slice(1))
    assert "twice" in judge(held, pa.concat_tables([late, late.slice(1, 1)]))[0]
    moved = late.set_column(late.column_names.index("offset"), "offset", pc.add(late["offset"], 1))
    assert "not at its place" in judge(held, moved)[0]


def test_rows_of_open_windows_are_those_of_their_times(lines, oracle):
    visitor = BY_NAME["every"]
    found = visitors.emitted(oracle, visitor, watermark(oracle)).to_pylist()
    finals = [row for row in found if row["final"]]
    assert len(finals) == len(rows_of(visitor, lines, oracle))
    read = [line.split(b",") for line in lines if line.count(b",") == 4]
    tuples = [(int(t), int(id_), k.decode(), int(g)) for t, id_, k, g, _ in read if t.isdigit() and len(t) < 19]
    wanted = set()
    for tick in range(BASE_MS // 4_000 * 4_000, BASE_MS + 200_000, 4_000):
        for key in {k for t, _, k, g in tuples if tick - 4_000 <= t < tick and g >= 0 and tick < t // 6_000 * 6_000 + 6_000}:
            start = tick // 6_000 * 6_000
            ids = [id_ for t, id_, k, g in tuples if k == key and start <= t < tick and g >= 0]
            wanted.add((start, tick, key, len(ids), sum(ids)))
    given = {(int(row["window_start"].timestamp() * 1000), row["key"], row["n"], row["ids"]) for row in found
             if not row["final"]}
    assert given == {(start, key, n, ids) for start, _, key, n, ids in wanted}
    assert len(found) - len(finals) == len(wanted)


@pytest.mark.parametrize(("name", "told", "is_right"), [
    ("changes", [(1, False), (3, False), (3, True), (3, True)], True),
    ("changes", [(3, False), (2, False)], False), ("changes", [(3, True), (4, True)], False),
    ("revised", [(3, 0), (4, 1), (3, 0)], True), ("revised", [(3, 0), (4, 0)], False)])
def test_what_may_come_after_what(name, told, is_right):
    visitor, broken = BY_NAME[name], Broken()
    follower = ChangingFollower(visitor, lambda: "", "q", broken, None)
    stamp = "final" if visitor.changes else "revision"
    names = ["window_start", "window_end", *visitor.keys, "n", stamp]
    for n, value in told:
        follower._take({"columns": [{"name": name} for name in names],
                        "rows": [["2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z", "k1", n, value]]})
    assert (broken.lines == []) is is_right


def test_all_visitors_come_in_turn():
    come = [visitor.name for turn in range(len(VISITORS)) for visitor in drawn(5, turn, 4)]
    assert all(come.count(name) == 4 for name in BY_NAME)
    assert not any(visitor.keeps_late for turn in range(9) for visitor in drawn(5, turn, 4, keeps_late=False))
