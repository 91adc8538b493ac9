"""The checker is checked: it accepts what is exact, and sees each way of being wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from mapper.parse import Parser
from tests.mapper import parsing
from tests.nemesis.load import LINES_A_MESSAGE
from tests.nemesis.oracle import COLUMNS, Oracle
from tests.nemesis.tuples import CLOSING_MS, FUTURE_MS, STATISTICS, Source

BASE_MS = 1_700_000_000_000
BY_KEY, BY_GROUP, IN_TIME = STATISTICS


@pytest.fixture(params=["CSV", "JSON"])
def oracle(request, tmp_path) -> Iterator[Oracle]:
    """It has read ten thousand tuples, in messages of one and of many."""
    source = Source(7, BASE_MS, request.param)
    made = Oracle(str(tmp_path), f"t > {BASE_MS + FUTURE_MS // 2}", request.param)
    lines = source.step(10_000, 10_000)
    messages = [*lines[:5_000], b"\n".join(lines[5_000:]), *source.poison(), *source.closing(2)]
    made.add([(0, offset, message) for offset, message in enumerate(messages)])
    yield made
    made.close()


def exact(oracle: Oracle, statistic) -> tuple[list[dict], dict[str, int], int]:
    """Rows, counters and watermark as an exact Mars has them, by the checker's own tables: they are its measure."""
    watermark_ms = oracle.last_ms + CLOSING_MS // 2
    oracle._tables(statistic, rows_of([], oracle, statistic), watermark_ms)
    rows = oracle.database.sql("SELECT * FROM wanted ORDER BY ALL").to_arrow_table().to_pylist()
    return rows, {**oracle.counters(statistic), "late": 0}, watermark_ms


def rows_of(rows: list[dict], oracle: Oracle, statistic) -> pa.Table:
    """Rows as Mars answers with them."""
    names = [*statistic.keys, *statistic.values]
    columns = {name: pa.array([row[name] for row in rows], pa.string() if name == "k" else pa.int64()) for name in names}
    start, end = (pa.array([row[name] * 1000 for row in rows], pa.timestamp("us", "UTC")) for name in ("ms", "end_ms"))
    return pa.table({"window_start": start, "window_end": end, **columns})


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
def test_what_is_exact_is_accepted(oracle, statistic):
    rows, counters, watermark_ms = exact(oracle, statistic)
    assert len(rows) > 20
    assert counters["bad"] > 50
    assert counters["future"] > 0
    assert oracle.compare(statistic, rows_of(rows, oracle, statistic), counters, watermark_ms).wrong == []


def test_late_tuples_are_a_row_or_counted(oracle):
    rows, counters, watermark_ms = exact(oracle, BY_KEY)
    kept = [row for row in rows if not row["k"].startswith("L")]
    late = len(rows) - len(kept)
    assert late > 3
    said = {**counters, "late": late}
    assert oracle.compare(BY_KEY, rows_of(kept, oracle, BY_KEY), said, watermark_ms).wrong == []
    assert "late is 0" in oracle.compare(BY_KEY, rows_of(kept, oracle, BY_KEY), counters, watermark_ms).wrong[0]


def lose_a_row(rows: list[dict]) -> None:
    del rows[3]


def give_a_row_twice(rows: list[dict]) -> None:
    rows.append(rows[3])


def invent_a_row(rows: list[dict]) -> None:
    rows.append({**rows[3], "k": "never"})


def lose_one_and_double_another(rows: list[dict]) -> None:
    row = max(rows, key=lambda row: row["n"])
    row["ids"] += 1  # the same count, of other tuples


def lose_and_double_with_the_same_sum(rows: list[dict]) -> None:
    row = max(rows, key=lambda row: row["n"])
    row["squares"] += 2


@pytest.mark.parametrize("spoil", [lose_a_row, give_a_row_twice, invent_a_row, lose_one_and_double_another,
                                   lose_and_double_with_the_same_sum])
def test_what_is_wrong_is_seen(oracle, spoil: Callable[[list[dict]], None]):
    rows, counters, watermark_ms = exact(oracle, BY_KEY)
    spoil(rows)
    assert len(oracle.compare(BY_KEY, rows_of(rows, oracle, BY_KEY), counters, watermark_ms).wrong) == 1


@pytest.mark.parametrize("name", ["tuples", "bad", "future", "filtered"])
def test_each_counter_must_be_right(oracle, name):
    rows, counters, watermark_ms = exact(oracle, BY_GROUP)
    counters[name] += 1
    [wrong] = oracle.compare(BY_GROUP, rows_of(rows, oracle, BY_GROUP), counters, watermark_ms).wrong
    assert wrong.startswith(f"by_group: {name} is")


@pytest.mark.parametrize("form", ["CSV", "JSON"])
def test_the_checker_reads_what_mappers_read(form, tmp_path):
    """Of messages of one line and of many, in which some do not read: what takes a neighbour along would be an error."""
    source, oracle = Source(11, BASE_MS, form), Oracle(str(tmp_path), "FALSE", form)
    lines = source.step(20_000, 10_000)
    packed = [b"\n".join(lines[i:i + LINES_A_MESSAGE]) for i in range(5_000, len(lines), LINES_A_MESSAGE)]
    items = [value or b"" for value in (*lines[:5_000], *packed, *source.poison())]
    oracle.add([(0, offset, value) for offset, value in enumerate(items)])
    stream = parsing.stream({"t": "BIGINT", "id": "BIGINT", "k": "STRING", "g": "BIGINT", "v": "BIGINT"}, form)
    parsed = parsing.rows(Parser(stream, COLUMNS).parse(parsing.messages(items)), COLUMNS)
    read = sorted(tuple(row[2:7]) for row in parsed if isinstance(row[2], int) and isinstance(row[6], int))
    wanted = oracle.database.sql("SELECT t, id, k, g, v FROM lines WHERE t IS NOT NULL AND v IS NOT NULL ORDER BY ALL")
    assert read == wanted.fetchall()
    assert len(parsed) == oracle.tuples()
    oracle.close()
