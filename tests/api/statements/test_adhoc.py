"""A SELECT given alone, as a Spark job over offset ranges."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from pyspark import cloudpickle

from api.instance.spark_session import session
from api.rest.problems import status_of
from api.statements import adhoc, adhoc_job
from api.statements.adhoc import split
from mars.config import load
from mars.errors import MarsError, NotReadyError, SqlError
from mars.results.embedded.engine import Engine
from mars.results.formats import named_types
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse

pytestmark = pytest.mark.services
STREAM = compile_stream(parse("CREATE STREAM s (t BIGINT, k STRING, v DECIMAL(9,2)) FROM KAFKA 's' FORMAT CSV "
                              "TIMESTAMP t UNIT ms"))


@pytest.fixture(scope="module")
def on_spark(context):
    """The application's context with a Spark session."""
    # Two slots: each has a Python process whose start costs more than these tests.
    context.spark = session(context.config.model_copy(update={"spark_master": "local[2]"}))
    yield context
    context.spark.stop()
    context.spark = None


@pytest.fixture(scope="module")
def stream(client, kafka, stack) -> str:
    """2,001 tuples in two partitions, one of them bad: sip s0..s9, bytes 0..1999, one second each."""
    kafka.create("adhoc", 2)
    lines = [b"s%d,%d,%d" % (i % 10, i, i) for i in range(2000)]
    stack.produce("adhoc", [*lines[::2], b"x,y,z"])
    stack.produce("adhoc", [b"\n".join(lines[1::2])], partition=1)
    sql = "CREATE STREAM adhoc (sip STRING, bytes BIGINT, time BIGINT) FROM KAFKA 'adhoc' FORMAT CSV TIMESTAMP time UNIT s"
    assert client.post("/v1/sql", json={"sql": sql}).status_code == 200
    return "adhoc"


def test_without_spark_it_says_so(client, stream, context):
    if context.spark is None:
        answer = client.post("/v1/sql", json={"sql": f"SELECT count(*) FROM {stream}"})
        assert answer.status_code == 503


def test_grouped_windowed_ordered_and_cut(client, stream, on_spark, monkeypatch):
    monkeypatch.setattr(adhoc, "RANGE_MIN", 600)

    def rows(sql: str) -> list:
        answer = client.post("/v1/sql", json={"sql": sql})
        assert answer.status_code == 200, answer.text
        document = answer.json()
        assert "1 bad is left out" in document["notes"][0]
        return document["rows"]

    assert rows(f"SELECT sip, count(*), sum(bytes) AS b FROM {stream} GROUP BY sip ORDER BY b DESC LIMIT 2") == [
        ["s9", 200, 200_800], ["s8", 200, 200_600]]
    assert rows(f"SELECT count(*), max(bytes), sum(bytes) FROM {stream}") == [[2000, 1999, 1999 * 1000]]
    windows = rows(f"SELECT count(*) FROM {stream} WHERE bytes >= 1000 WINDOWING 500 s")
    assert windows == [["1970-01-01T00:16:40Z", "1970-01-01T00:25:00Z", 500],
                       ["1970-01-01T00:25:00Z", "1970-01-01T00:33:20Z", 500]]


def test_a_rate_makes_it_slower_and_leaves_its_rows(client, stream, on_spark, monkeypatch):
    monkeypatch.setattr(adhoc, "RANGE_MIN", 300)
    for sql, rows in ((f"SELECT count(*) FROM {stream} RATE 2000", [[2000]]),
                      (f"SELECT bytes FROM {stream} WHERE bytes = 7 RATE 2000", [[7]])):
        begun = time.monotonic()
        assert client.post("/v1/sql", json={"sql": sql}).json()["rows"] == rows
        assert time.monotonic() - begun > 0.9


@pytest.mark.parametrize(("rest", "reason"), [
    ("sip, count(*) FROM {s} WHERE bytes < 10 GROUP BY sip HAVING count(*) > 1000",
     "of 2001 tuples, 1 cannot be read, 1990 are left out by WHERE, HAVING leaves out every group of the other 10"),
    ("sip, count(*) FROM {s} WHERE bytes < 0 GROUP BY sip", "of 2001 tuples, 1 cannot be read, 2000 are left out by WHERE"),
    ("sip FROM {s} WHERE bytes < 0", "of 2001 tuples, 1 cannot be read, WHERE leaves out the other 2000"),
    ("sip FROM {s} LIMIT 0", "LIMIT 0 asks for none"),
    ("sip FROM {s} FROM LATEST", "topic 'adhoc' holds no tuple from where the SELECT begins")])
def test_an_empty_answer_says_where_the_tuples_went(client, stream, on_spark, rest, reason):
    answer = client.post("/v1/sql", json={"sql": f"SELECT {rest.format(s=stream)}"}).json()
    assert (answer["rows"], answer["reason"]) == ([], reason)


def test_progress_is_told_and_the_statement_ends_when_asked(on_spark, stream, client):
    told = []

    def stop_at_once(done: int, total: int) -> bool:
        told.append((done, total))
        return False

    made = on_spark.catalog.stream(stream)
    plan = compile_select(parse(f"SELECT count(*) FROM {stream}"), made, continuous=False)
    with pytest.raises(SqlError, match="stopped"):
        adhoc.run(on_spark, made, plan, {0: 0, 1: 0}, {0: 1001, 1: 1}, stop_at_once)
    assert [total for _done, total in told] == [2]  # asked once; the ranges may be read by then
    assert client.get("/v1/sql/nothing").status_code == 404


def test_ranges_cover_everything_once():
    pieces = split([(0, 5, 1_000_000), (2, 0, 10)])
    assert sum(end - start for _, start, end in pieces) == 1_000_005
    assert max(end - start for _, start, end in pieces) <= 62_501
    assert split([]) == []


def test_aggregates_without_keys_give_one_row_over_nothing():
    select = parse("SELECT count(*), sum(v), min(k), count(DISTINCT k) AS kinds, first(v) FROM s")
    [row] = adhoc.row_of_nothing(compile_select(select, STREAM, continuous=False), STREAM).to_pylist()
    assert row == {"count": 0, "sum": None, "min": None, "kinds": 0, "first": None}


class Away:
    """A reader whose broker has gone away after it was asked for the ends: it waits until it is told to stop."""

    def __init__(self) -> None:
        self.asked = 0

    def read(self, *_range: int, limit_bytes: int, should_stop: Callable[[], bool], range_bytes_max: float) -> None:
        for self.asked in range(1, 200):
            if should_stop():
                return
            time.sleep(0.02)
        raise AssertionError("nobody stopped it")

    def close(self) -> None:
        """Nothing to close."""


@pytest.mark.parametrize("how", ["cancelled", "shutdown"])
def test_tuples_that_do_not_come_are_not_waited_for_once_the_statement_is_stopped(how, monkeypatch):
    select = parse("SELECT k FROM s")
    reader, shutdown = Away(), threading.Event()
    monkeypatch.setattr(adhoc_job, "_reader", lambda *_: reader)
    context = SimpleNamespace(config=load({}, environment={}), shutdown=shutdown)

    def progress(_done: int, _total: int) -> bool:
        if reader.asked == 3 and how == "shutdown":
            shutdown.set()
        return not (reader.asked >= 3 and how == "cancelled")

    with pytest.raises(SqlError, match="stopped"):
        adhoc.run(context, STREAM, compile_select(select, STREAM, continuous=False), {0: 0}, {0: 10}, progress)
    assert reader.asked < 10


def test_no_tuple_has_the_columns_of_the_select_list(monkeypatch):
    monkeypatch.setattr(adhoc_job, "_reader", lambda *_: Away())
    context = SimpleNamespace(config=load({}, environment={}), shutdown=threading.Event(), engine=Engine())
    for sql in ("SELECT * FROM s LIMIT 5", "SELECT * FROM s ORDER BY k"):
        plan = compile_select(parse(sql), STREAM, continuous=False)
        found = adhoc.run(context, STREAM, plan, {0: 7}, {0: 7}, lambda *_: True)
        assert named_types(found.rows.schema) == [
            {"name": "t", "type": "BIGINT"}, {"name": "k", "type": "STRING"}, {"name": "v", "type": "DECIMAL(9,2)"}]
        assert (len(found.rows), found.truncated) == (0, False)


def test_a_fault_of_a_task_keeps_its_kind(monkeypatch):
    def away(*_: object) -> None:
        raise NotReadyError("Kafka does not answer", "at 127.0.0.1:9", "wait")

    def without_spark(_context: object, task: adhoc_job.Task, _progress: object) -> list:
        mapping, merging = (pickle.loads(cloudpickle.dumps(stage(task))) for stage in (adhoc_job.mapping, adhoc_job.merging))
        return [merging((part, [data])) for part, data in mapping(0)]

    monkeypatch.setattr(adhoc_job, "_aggregate_range", away)
    monkeypatch.setattr(adhoc, "_on_spark", without_spark)
    context = SimpleNamespace(config=load({}, environment={}))
    plan = compile_select(parse("SELECT count(*) FROM s"), STREAM, continuous=False)
    with pytest.raises(MarsError) as caught:
        adhoc.run(context, STREAM, plan, {0: 0}, {0: 9}, lambda *_: True)
    assert (status_of(caught.value), caught.value.title, caught.value.hint) == (503, "Kafka does not answer", "wait")
