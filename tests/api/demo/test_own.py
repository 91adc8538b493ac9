"""A file and a topic of the user's own as the demo's source, alone and among what others send."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from api.demo.own import FileSource, TopicSource

pytestmark = pytest.mark.services
OPTIONS = {"schema": None, "time_column": None, "unit": None, "select": None}
STREAM = {"columns": [{"name": "c1", "type": "BIGINT"}, {"name": "c2", "type": "STRING"}], "format": "CSV", "options": {},
          "time_column": "c1", "time_unit": "s"}
COUNTERS = {"bad": 0, "late": 0, "future": 0}
START = 1_700_000_000


@pytest.fixture
def sent(kafka, stack, fresh_name, tmp_path):
    """The source of a file of a hundred lines that are sent, and the results that they should give."""
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{START + at},{'ab'[at % 2]}\n" for at in range(100)))
    topic = kafka.create(fresh_name("t"), 2).name
    stack.produce(topic, [b"before"])
    source = FileSource(stack.config.kafka_address, {}, path, {**OPTIONS, "topic": topic})
    source.prepare()
    assert "FROM LATEST" in source.query_sql(STREAM)
    source.start()
    deadline = time.monotonic() + 60
    while not source.done():
        assert time.monotonic() < deadline
    table = source.count.groups()
    yield source, table.append_column("partial", pa.array([False] * len(table)))
    source.stop()


def test_each_line_must_be_in_the_results(sent):
    source, results = sent
    assert source.left({"positions": {"0": 51, "1": 30}}) == 20
    assert source.left({"positions": {"0": 51, "1": 50}}) == 0
    exact = source.judge({**COUNTERS, "tuples": 100}, results)
    assert (exact.difference, exact.doubt, exact.tuples) == ("", "", 100)
    assert "differ" in source.judge({**COUNTERS, "tuples": 100}, results.slice(1)).difference
    assert source.judge({**COUNTERS, "tuples": 101}, results).difference == "100 tuples were sent, 101 arrived"
    for tuples, word in ((100, ""), (99, "arrived")):
        assert word in source.judge({**COUNTERS, "tuples": tuples}, None).difference
    assert source.judge({**COUNTERS, "tuples": 100}, None).difference == ""


def test_what_others_send_is_neither_waited_for_nor_called_wrong(sent, stack):
    source, results = sent
    assert source.left({"positions": {"0": 51, "1": 50}}) == 0
    stack.produce(source.topic, [b"1700000000,c"] * 3)
    assert source.left({"positions": {"0": 51, "1": 50}}) == 0
    verdict = source.judge({**COUNTERS, "tuples": 103}, results)
    assert (verdict.difference, verdict.groups) == ("", 0)
    assert verdict.doubt == "3 messages in the topic are of others; nothing was compared"


def test_a_topic_is_read_up_to_where_it_ended_at_first(kafka, stack, fresh_name):
    topic = kafka.create(fresh_name("t"), 2).name
    for partition in range(2):
        lines = [b"%d,%c" % (START + at, b"ab"[at % 2]) for at in range(partition, 1_000, 2)]
        stack.produce(topic, lines, partition)
    source = TopicSource(stack.config.kafka_address, {}, {**OPTIONS, "topic": topic})
    source.prepare()
    query = source.query_sql(STREAM)
    assert "WINDOWING 60 s WATERMARK" in query, "by the first and the last messages"
    assert "FROM EARLIEST" in query
    assert (source.sent, source.done()) == (1_000, True)
    assert source.left({"positions": {"0": 480, "1": 500}}) == 20
    stack.produce(topic, [b"more"])
    assert source.left({"positions": {"0": 500, "1": 500}}) == 0
    source.stop()
