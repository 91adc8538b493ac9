"""Both readers on a real Kafka: the same messages, whatever lies in the log."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic
from kafka.protocol.admin.client_quotas import AlterClientQuotasRequest

from mapper.fetch import Range, Reader, open_reader
from mars.adapters.kafka.channel import CLIENT_ID
from mars.adapters.kafka.errors import KafkaUnreachable, OffsetOutOfRange, TopicRecreated, UnknownTopic
from mars.adapters.kafka.wire import Wire
from tests.mapper.confluent_reader import ConfluentReader

pytestmark = pytest.mark.services
LIMIT = 1 << 20


@dataclass
class Topic:
    """A topic of one partition, and both readers on it."""

    address: str
    name: str
    raw: Reader
    confluent: ConfluentReader

    def producer(self, **config) -> Producer:
        return Producer({"bootstrap.servers": self.address, "linger.ms": 5, **config})

    def send(self, producer: Producer, *items: bytes | None, **options) -> None:
        for item in items:
            producer.produce(self.name, item, partition=0, **options)
        assert producer.flush(20) == 0

    def both(self, start: int, end: int, limit: int = LIMIT) -> list[tuple[int, int, bytes]]:
        """What both readers give of a range: (offset, time, value) each."""
        raw, confluent = (told(reader.read(0, start, end, limit)) for reader in (self.raw, self.confluent))
        assert raw == confluent
        return raw

    def end(self) -> int:
        ends = self.raw.last_stable_offsets()
        assert ends == self.confluent.last_stable_offsets()
        return ends[0]


def told(range_: Range) -> list[tuple[int, int, bytes]]:
    m = range_.messages
    return [(int(o), int(t), m.buffer[s:s + n].tobytes())
            for o, t, s, n in zip(m.offset, m.time_ms, m.start, m.length, strict=True)]


@pytest.fixture
def make_topic(stack, fresh_name):
    """Makes topics with settings of their own."""
    readers, address = [], stack.config.kafka_address
    admin = AdminClient({"bootstrap.servers": address})  # one that is dropped fails what it was asked

    def make(**config) -> Topic:
        name = fresh_name("read")
        new = NewTopic(name, 1, 1, config={key.replace("_", "."): value for key, value in config.items()})
        admin.create_topics([new])[name].result(20)
        wire = Wire(address)
        topic_id = wire.topic(name).topic_id
        wire.close()
        both = [opened(address, {}, name, topic_id) for opened in (open_reader, ConfluentReader)]
        readers.extend(both)
        return Topic(address, name, *both)
    yield make
    for reader in readers:
        reader.close()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(make_topic, codec):
    topic = make_topic()
    items = [b"%d,%s" % (i, b"x" * (i % 50)) for i in range(3000)]
    topic.send(topic.producer(**{"compression.type": codec}), *items, headers=[("h", b"v")], key=b"k")
    assert [value for _, _, value in topic.both(0, 3000)] == items
    assert [value for _, _, value in topic.both(1234, 1240)] == items[1234:1240]


@pytest.fixture
def quota(stack):
    """Lets clients of a name read so many bytes a second; without a limit again afterwards."""
    wire = Wire(stack.config.kafka_address)

    def alter(bytes_: float, remove: bool) -> None:
        entry = AlterClientQuotasRequest.EntryData
        asked = AlterClientQuotasRequest(entries=[entry(
            entity=[entry.EntityData(entity_type="client-id", entity_name=CLIENT_ID)],
            ops=[entry.OpData(key="consumer_byte_rate", value=bytes_, remove=remove)])], validate_only=False)
        answered, = wire._send([(None, asked)])
        assert [found.error_code for found in answered.entries] == [0]
    yield lambda bytes_: alter(bytes_, False)
    alter(0.0, True)
    wire.close()


def test_a_quota_makes_a_reader_slow_and_nothing_else(make_topic, quota):
    """A broker answers without any partition then."""
    topic, fetched = make_topic(), []
    topic.send(topic.producer(), *[b"%06d" % i * 1000 for i in range(200)])
    fetch = topic.raw.wire.fetch
    topic.raw.wire.fetch = lambda *arguments: fetched.append(fetch(*arguments)) or fetched[-1]
    quota(1e5)
    deadline = time.monotonic() + 60
    while [] not in fetched and time.monotonic() < deadline:
        messages = topic.raw.read(0, 0, 200, LIMIT).messages
        assert messages.offset.tolist() == list(range(200))
        assert int(messages.length.sum()) == 1_200_000
    assert [] in fetched, "the broker never throttled"


def test_null_and_empty_values(make_topic):
    topic = make_topic()
    topic.send(topic.producer(), b"a", None, b"", b"b", None)
    assert [(o, v) for o, _, v in topic.both(0, 5)] == [(0, b"a"), (2, b""), (3, b"b")]


def test_transactions_committed_aborted_and_mixed(make_topic):
    topic, rng = make_topic(), random.Random(7)
    producers = [topic.producer(**{"transactional.id": f"{topic.name}-{i}"}) for i in range(3)]
    for producer in producers:
        producer.init_transactions()
    expected = []
    for turn in range(12):
        started = rng.sample(producers, 2)
        for producer in started:
            producer.begin_transaction()
        items = {id(producer): [b"%d-%d" % (turn, rng.randint(0, 99)) for _ in range(5)] for producer in started}
        for producer in started:
            topic.send(producer, *items[id(producer)])
        topic.send(topic.producer(), b"plain %d" % turn)
        for producer in started:
            if rng.random() < 0.5:
                producer.commit_transaction()
                expected += items[id(producer)]
            else:
                producer.abort_transaction()
        expected.append(b"plain %d" % turn)
    end = topic.end()
    whole = topic.both(0, end)
    assert sorted(value for _, _, value in whole) == sorted(expected)
    for start in range(end):  # from each offset on, control records too
        stop = rng.randint(start, end)
        found = told(topic.raw.read(0, start, stop, rng.choice([100, LIMIT])))
        assert found == [item for item in whole if start <= item[0] < stop]
    for start in (3, end // 2, end - 1):
        topic.both(start, end)


def test_an_open_transaction_holds_the_end_back(make_topic):
    topic = make_topic()
    topic.send(topic.producer(), b"before")
    producer = topic.producer(**{"transactional.id": topic.name})
    producer.init_transactions()
    producer.begin_transaction()
    topic.send(producer, b"open")
    topic.send(topic.producer(), b"after")
    assert topic.end() == 1
    producer.commit_transaction()
    # The commit is answered before its marker is in the log.
    deadline = time.monotonic() + 20
    while topic.raw.last_stable_offsets() != {0: 4} and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [value for _, _, value in topic.both(0, topic.end())] == [b"before", b"open", b"after"]


def test_a_compacted_topic_has_gaps(make_topic):
    topic = make_topic(cleanup_policy="compact", segment_bytes="1048576", min_cleanable_dirty_ratio="0.001",
                       max_compaction_lag_ms="100", segment_ms="100")
    producer = topic.producer()
    for i in range(30):
        topic.send(producer, *[b"%d-%d" % (i, j) for j in range(10)], key=b"k%d" % (i % 3))
    deadline = time.monotonic() + 60
    while len(told(topic.raw.read(0, 0, 300, LIMIT))) == 300 and time.monotonic() < deadline:
        time.sleep(0.5)
        topic.send(producer, b"rolls the segment", key=b"last")
    _stop_compaction(topic)
    end = topic.end()
    all_of_it = topic.both(0, end)
    assert len(all_of_it) < 300
    for start in range(0, end, 7):
        found = told(topic.raw.read(0, start, min(start + 50, end), LIMIT))
        assert found == [item for item in all_of_it if start <= item[0] < start + 50]


def _stop_compaction(topic: Topic) -> None:
    """From now on the log stays as it is."""
    entry = ConfigEntry("cleanup.policy", "delete", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic.name, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": topic.address})
    admin.incremental_alter_configs([resource])[resource].result(20)
    before = None
    while (now := told(topic.raw.read(0, 0, topic.end(), LIMIT))) != before:
        before = now
        time.sleep(1)


def test_a_batch_larger_than_the_limit_comes_whole(make_topic):
    topic = make_topic()
    topic.send(topic.producer(**{"message.max.bytes": 10_000_000}), b"a" * 900_000, b"b", b"c" * 900_000)
    assert [len(value) for _, _, value in topic.both(0, 3, limit=1000)] == [900_000, 1, 900_000]


def test_small_limits_cut_answers_anywhere(make_topic):
    topic, rng = make_topic(), random.Random(1)
    producer = topic.producer()
    for _ in range(40):
        topic.send(producer, *[b"z" * rng.randint(0, 200) for _ in range(rng.randint(1, 20))])
    end, at = topic.end(), 0
    whole = topic.both(0, end)
    assert len(whole) == end
    while at < end:
        stop = min(end, at + rng.randint(1, 60))
        assert told(topic.raw.read(0, at, stop, rng.randint(1, 3000))) == whole[at:stop]
        at = stop


def test_deleted_records_are_named_with_what_is_left(make_topic):
    topic = make_topic()
    topic.send(topic.producer(), *[b"x"] * 10)
    admin = AdminClient({"bootstrap.servers": topic.address})
    admin.delete_records([TopicPartition(topic.name, 0, 6)])[TopicPartition(topic.name, 0)].result(20)
    for reader in (topic.raw, topic.confluent):
        with pytest.raises(OffsetOutOfRange) as caught:
            reader.read(0, 2, 8, LIMIT)
        assert (caught.value.log_start, caught.value.end) == (6, 10)
    assert [o for o, _, _ in topic.both(6, 10)] == [6, 7, 8, 9]
    wire = topic.raw.wire
    assert [wire.reads_itself(topic.name, 0, offset) for offset in (0, 5, 6, 10)] == [False, False, True, True]


def test_a_broker_that_does_not_know_where_its_own_log_begins_has_no_remote_storage(make_topic, monkeypatch):
    topic = make_topic()
    monkeypatch.setattr("mars.adapters.kafka.wire.LOCAL_MIN", 99)
    assert topic.raw.wire.reads_itself(topic.name, 0, 0)


def test_a_topic_made_anew_is_refused_by_name(make_topic):
    topic = make_topic()
    topic.send(topic.producer(), b"x")
    assert len(topic.both(0, 1)) == 1
    admin = AdminClient({"bootstrap.servers": topic.address})
    admin.delete_topics([topic.name])[topic.name].result(20)
    with pytest.raises(UnknownTopic):
        topic.raw.partitions()
    deadline = time.monotonic() + 20
    while True:
        try:
            admin.create_topics([NewTopic(topic.name, 1, 1)])[topic.name].result(20)
            break
        except Exception:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    topic.send(topic.producer(), b"y")
    with pytest.raises(TopicRecreated):
        topic.raw.read(0, 0, 1, LIMIT)
    with pytest.raises(TopicRecreated):
        topic.confluent.partitions()


def test_offsets_by_time(make_topic):
    topic = make_topic()
    producer = topic.producer()
    for at in (1_700_000_000_000, 1_700_000_001_000, 1_700_000_002_000):
        topic.send(producer, b"x", timestamp=at)
    wire = Wire(topic.address)
    assert wire.offsets_for_times(topic.name, {0: 1_700_000_000_500}) == {0: 1}
    assert wire.offsets_for_times(topic.name, {0: 1_800_000_000_000}) == {0: None}
    assert wire.start_offsets(topic.name, [0]) == {0: 0}
    wire.close()


def test_faults_have_names(stack, fresh_name):
    wire = Wire(stack.config.kafka_address)
    with pytest.raises(UnknownTopic):
        wire.topic(fresh_name("none"))
    wire.close()
    with pytest.raises(KafkaUnreachable):
        Wire("127.0.0.1:1", retry_s=0.5).topic("t")
