"""The embedded engine reads results piece by piece, and no more of them than a statement needs."""

from __future__ import annotations

import gc
import threading
import weakref

import pyarrow as pa
import pytest

from mars.adapters.storage import CorruptFileError, StateAwayError
from mars.errors import SqlError
from mars.results.embedded.engine import Engine
from mars.results.embedded.scan import Closed
from mars.results.embedded.watch import Limits
from mars.results.pieces import Piece

INSTANT = pa.timestamp("us", "UTC")
SCHEMA = pa.schema({"window_start": INSTANT, "window_end": INSTANT, "k": pa.int64(), "x": pa.float64(), "s": pa.string()})
MINUTE_US = 60_000_000
COUNT, ROWS = 60, 50


class Result:
    """One window a minute from the epoch on, each a piece of its own; `loaded` are those that were read, `most` is how many
    were held at once."""

    def __init__(self, count: int = COUNT, fails: Exception | None = None) -> None:
        self.loaded: list[int] = []
        self.fails = fails
        self.held = self.most = 0
        spans = ((n * MINUTE_US, (n + 1) * MINUTE_US) for n in range(count))
        pieces = [Piece(start, start, end, end, ROWS, lambda n=n: self.load(n)) for n, (start, end) in enumerate(spans)]
        self.closed = Closed(SCHEMA, tuple(pieces))

    def load(self, number: int) -> pa.Table:
        self.loaded.append(number)
        if self.fails:
            raise self.fails
        table = rows(number)
        self.held += 1
        self.most = max(self.most, self.held)
        weakref.finalize(table, self.leave)
        return table

    def leave(self) -> None:
        self.held -= 1


def rows(number: int) -> pa.Table:
    start = pa.array([number * MINUTE_US] * ROWS, pa.int64()).cast(INSTANT)
    end = pa.array([(number + 1) * MINUTE_US] * ROWS, pa.int64()).cast(INSTANT)
    x = [float("nan") if k == 7 else None if k == 8 else k / 7 for k in range(ROWS)]
    return pa.Table.from_arrays([start, end, pa.array(range(ROWS)), pa.array(x), pa.array([f"s{k}" for k in range(ROWS)])],
                                schema=SCHEMA)


WHOLE = pa.concat_tables([rows(n) for n in range(COUNT)])


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


@pytest.mark.parametrize(("where", "pieces"), [
    ("window_start >= '1970-01-01T00:50:00Z'", 10), ("window_start = TIMESTAMP '1970-01-01 00:07:00' AND k > 3", 1),
    ("window_end <= '1970-01-01 00:03:00' AND s LIKE 's1%'", 3), ("NOT window_start < '1970-01-01 00:58:00'", 2),
    ("window_start BETWEEN '1970-01-01 00:10:00' AND '1970-01-01 00:12:00'", 3), ("window_start IS NULL", 0),
    ("window_start IN ('1970-01-01 00:10:00', '1970-01-01 00:12:00')", 2), ("x != x", COUNT), ("x > 6", COUNT),
    ("window_start < '1970-01-01 00:01:00' OR window_end > '1970-01-01 00:59:30'", 2),
    ("date_trunc('minute', window_start) = '1970-01-01 00:09:00'", 1), ("s = 's7'", COUNT),
    ("window_start > now()::TIMESTAMP - INTERVAL 1 DAY", 0), ("window_start < '1970-01-01 00:02:00' OR k = 3", COUNT),
    ("x IS NULL AND window_start < '1970-01-01 00:01:00'", 1)])
def test_a_condition_on_the_window_leaves_pieces_unread(engine, where, pieces):
    sql, result = f"SELECT * FROM q WHERE {where} ORDER BY window_start, k", Result()
    found = engine.run(sql, {"q": result.closed})
    assert str(found.to_pydict()) == str(engine.run(sql, {"q": WHOLE}).to_pydict())  # as text, for NaN is not itself
    assert len(result.loaded) == pieces


@pytest.mark.parametrize("sql", [
    "SELECT s, count(*), sum(k), max(window_end) FROM q GROUP BY s ORDER BY s", "SELECT count(*) FROM q",
    "SELECT k, window_start FROM q ORDER BY k DESC, window_start LIMIT 7", "SELECT DISTINCT s FROM q ORDER BY 1",
    "SELECT a.k, b.s FROM q a JOIN q b ON a.window_end = b.window_start AND a.k = b.k WHERE a.k < 3 ORDER BY ALL",
    "SELECT * FROM (SELECT k, row_number() OVER (ORDER BY window_start DESC, k) AS n FROM q) WHERE n < 9 ORDER BY n",
    "WITH last AS (SELECT max(window_start) AS t FROM q) SELECT k FROM q, last WHERE window_start = t ORDER BY k"])
def test_the_answer_is_that_of_the_whole_and_a_piece_is_let_go(engine, sql):
    result = Result()
    assert engine.run(sql, {"q": result.closed}) == engine.run(sql, {"q": WHOLE})
    assert result.most <= 2 * sql.count("q")  # for each reading, one that is read and one that is being let go


def test_who_wants_few_rows_reads_few_pieces(engine):
    result = Result(100_000)
    assert len(engine.run("SELECT s, k FROM q LIMIT 120", {"q": result.closed})) == 120
    assert len(engine.run("SELECT s, k FROM q", {"q": result.closed}, Limits(120))) == 120
    assert len(result.loaded) < 1_000


@pytest.mark.parametrize("error", [CorruptFileError("damaged"), StateAwayError("away"), ZeroDivisionError()])
def test_what_reading_raises_is_raised(engine, error):
    with pytest.raises(type(error)) as caught:
        engine.run("SELECT k FROM q", {"q": Result(fails=error).closed})
    assert caught.value is error


@pytest.mark.parametrize("why", ["too long", "stopped"])
def test_a_reading_that_finds_no_row_ends(engine, why):
    """The engine gets nothing from it, and so asks for nothing."""
    asked = threading.Event()
    threading.Timer(0.3, asked.set).start()
    limits = Limits(timeout_s=0.3) if why == "too long" else Limits(stopped=asked.is_set)
    with pytest.raises(SqlError, match=why):
        engine.run("SELECT k FROM q WHERE s = 'none'", {"q": Result(100_000).closed}, limits)


def test_nothing_is_held_after_a_statement(engine):
    result = Result()
    held = weakref.ref(result)
    engine.run("SELECT k FROM q", {"q": result.closed})
    with pytest.raises(SqlError):
        engine.run("SELECT nothing FROM q", {"q": result.closed})
    del result
    gc.collect()
    assert held() is None
