"""A topic as the demo's source: read whole, however slowly it comes, compared while it grows, and no copy of it left."""

from __future__ import annotations

import threading
import time

import confluent_kafka
import pyarrow as pa
import pytest

from api.demo.topic import TopicSource, lines_of
from mars.adapters.kafka import admin

pytestmark = pytest.mark.services
OPTIONS = {"schema": None, "time_column": None, "unit": None, "select": None}
DOCUMENT = {"columns": [{"name": "c1", "type": "BIGINT"}, {"name": "c2", "type": "STRING"}], "format": "CSV", "options": {},
            "time_column": "c1", "time_unit": "s"}
START = 1_700_000_000
COUNTERS = {"bad": 0, "late": 0, "future": 0}


def lines(start: int, stop: int) -> list[bytes]:
    return [b"%d,%c" % (START + at, b"ab"[at % 2]) for at in range(start, stop)]


@pytest.fixture
def source(kafka, stack, fresh_name, tmp_path):
    """Makes the source of a topic with these messages in its two partitions."""
    made = []

    def make(messages: list[bytes], **options: str) -> TopicSource:
        topic = kafka.create(fresh_name("t"), 2).name
        for partition in range(2):
            stack.produce(topic, messages[partition::2], partition)
        made.append(TopicSource(stack.config.kafka_address, {}, tmp_path, {**OPTIONS, "topic": topic, **options}))
        return made[-1]

    yield make
    for one in made:
        one.stop()
    assert list(tmp_path.iterdir()) == [], "the copies are deleted"


def counted(source: TopicSource) -> pa.Table:
    """What Mars should make of all that the topic held at first."""
    table = source.count.counted(source.lines).table
    return table.append_column("partial", pa.array([False] * len(table)))


def test_a_slow_kafka_is_read_to_the_end(source, monkeypatch):
    class Slow(confluent_kafka.Consumer):
        def consume(self, _count: int, timeout: float) -> list:
            time.sleep(0.5)
            return super().consume(500, timeout)

    monkeypatch.setattr(admin, "Consumer", Slow)
    found = source(lines(0, 6_000))
    found.prepare()
    query = found.query_sql(DOCUMENT)
    assert "SELECT c2, count(*)" in query
    results = counted(found)
    assert sum(results["count"].to_pylist()) == 6_000
    verdict = found.judge(results, {**COUNTERS, "tuples": 6_000})
    assert (verdict.difference, verdict.doubt, verdict.tuples) == ("", "", 6_000)


def test_what_comes_meanwhile_is_no_difference(source, stack):
    found = source(lines(0, 1_000))
    found.prepare()
    found.query_sql(DOCUMENT)
    results = counted(found)
    at_first = {"positions": {"0": 500, "1": 500}}
    assert found.left({"positions": {"0": 480, "1": 500}}) == 20
    stack.produce(found.topic, lines(1_000, 1_010))
    assert found.left(at_first) == 10, "the end of the start is behind by now"
    # So many are in the results; others came after they were read.
    sooner = found._further(found.copied, found.ends).table
    results = pa.concat_tables([results, sooner.append_column("partial", pa.array([True] * len(sooner)))])
    stack.produce(found.topic, lines(1_010, 1_030), 1)
    assert found.left({"positions": {"0": 510, "1": 500}}) == 0
    verdict = found.judge(results, {**COUNTERS, "tuples": 1_010})
    assert (verdict.difference, "2 groups are growing" in verdict.doubt) == ("", True), verdict
    assert "arrived" in found.judge(results, {**COUNTERS, "tuples": 1_009}).difference
    assert "differ" in found.judge(results.slice(1), {**COUNTERS, "tuples": 1_010}).difference


def test_messages_that_kafka_deleted_are_no_difference(source, kafka):
    found = source(lines(0, 100))
    found.prepare()
    found.query_sql(DOCUMENT)
    partition = confluent_kafka.TopicPartition(found.topic, 0, 50)
    kafka._admin.delete_records([partition])[partition].result(30)
    verdict = found.judge(counted(found).slice(1), {**COUNTERS, "tuples": 50})
    assert (verdict.difference, "Kafka has deleted messages" in verdict.doubt) == ("", True), verdict


def test_nothing_is_copied_for_a_select_of_the_users_own(source):
    found = source(lines(0, 10), select="SELECT count(*) FROM t WINDOWING 1 s")
    found.prepare()
    assert found.copies is None


def test_an_open_topic_is_copied_up_to_an_offset(source, stack):
    found = source(lines(0, 100))
    going = threading.Event()

    def write() -> None:
        while not going.is_set():
            stack.produce(found.topic, lines(100, 200))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        found.prepare()
    finally:
        going.set()
        writer.join()
    assert sum(len(file.read_bytes().splitlines()) for file in found.files) == sum(found.ends.values())


@pytest.mark.parametrize(("value", "format_", "expected"), [
    (b"1,a\r\n\n2,b\n \n", "CSV", [b"1,a", b"2,b", b" "]),
    (b'{"a": 1}\n{"a": 2}\n', "JSON", [b'{"a": 1}', b'{"a": 2}']),
    (b'{\n "a": 1\r\n}\n', "JSON", [b'{  "a": 1  } ']),
    (b'{"a": "\n"}', "JSON", [b'{"a": "', b'"}']),
])
def test_lines_of_messages(value, format_, expected):
    assert lines_of(value, format_) == expected
