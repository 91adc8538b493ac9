"""What is asked of brokers, against some that keep the requests as they would be sent."""

from __future__ import annotations

import uuid

import pytest
from kafka import errors
from kafka.protocol.consumer import FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from mapper.fetch import AWAITED_BYTES, AWAITED_BYTES_MAX, Reader
from mars.adapters.kafka.channel import FETCH_MAX, RESPONSE_MAX
from mars.adapters.kafka.cluster import TopicInfo
from mars.adapters.kafka.errors import KafkaUnreachable, LogTruncated, OffsetOutOfRange, TopicRecreated
from mars.adapters.kafka.wire import Want, Wire

ID, ANOTHER = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
OUT_OF_RANGE, UNKNOWN = 1, 3
DIVERGING = FetchResponse.FetchableTopicResponse.PartitionData.EpochEndOffset(epoch=5, end_offset=70)


class Brokers:
    """Answers with nothing, as a broker that throttles does."""

    def __init__(self) -> None:
        self.asked: list[FetchRequest] = []

    def close(self) -> None:
        pass

    def ask(self, requests: list[tuple[int, FetchRequest]]) -> list:
        self.asked += [FetchRequest.decode(request.encode(version=FETCH_MAX), version=FETCH_MAX) for _, request in requests]
        return []


@pytest.fixture
def reader() -> Reader:
    """Of a topic of 5,000 partitions with two leaders."""
    wire = Wire("nobody:1")
    wire._brokers, wire._topics["t"] = Brokers(), TopicInfo("t", ID, {p: (p % 2, 0) for p in range(5_000)})
    return Reader(wire, "t", ID)


@pytest.mark.parametrize("partitions", [1, 30, 1_024, 2_048, 5_000])
def test_a_batch_of_each_of_many_partitions_is_no_more_than_an_answer_may_be(reader, partitions):
    reader._size.learn(bytes(1 << 20), 1)
    ends = dict.fromkeys(range(partitions), 7)
    assert reader.await_tuples(ends, {}, 10, offsets=5_000) == ends
    asked = reader.wire._brokers.asked
    wanted = partitions * AWAITED_BYTES_MAX
    assert AWAITED_BYTES < min(wanted, RESPONSE_MAX // 2) == asked[0].min_bytes
    assert sum(request.max_bytes for request in asked) == min(wanted, len(asked) * RESPONSE_MAX // 2)


class Cluster:
    """Brokers that may know different things of topic t: node -> (topic id or None, leader, leader epoch). Who is asked for
    any broker's answer is broker 1, and each names all of them. One that leads by its own account answers a fetch with
    `refusal` as long as another one knows more."""

    def __init__(self, refusal: dict | None = None, **knows: tuple[str | None, int, int]) -> None:
        self.knows = {int(node[1:]): known for node, known in knows.items()}
        self.refusal, self.silent = refusal, set()
        self.ends: dict[int, int] = {}  # node -> where it sees the end
        self.asked: list[int | None] = []

    def ask(self, requests: list[tuple[int | None, object]]) -> list:
        self.asked += [node for node, _ in requests]
        return [self._answer(1 if node is None else node, request) for node, request in requests]

    def close(self) -> None:
        """Nothing to end."""

    def _answer(self, node: int, request: object) -> object:
        if node in self.silent:
            raise errors.KafkaConnectionError("no answer")
        if isinstance(request, MetadataRequest):
            return self._metadata(*self.knows[node])
        if isinstance(request, ListOffsetsRequest):
            part = ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse(
                partition_index=0, offset=self.ends.get(node, 50))
            return ListOffsetsResponse(topics=[ListOffsetsResponse.ListOffsetsTopicResponse(name="t", partitions=[part])])
        is_behind = node == 1 and self.refusal is not None
        part = FetchResponse.FetchableTopicResponse.PartitionData(
            partition_index=0, high_watermark=100, last_stable_offset=100, log_start_offset=0,
            **(self.refusal if is_behind else {"error_code": 0}))
        return FetchResponse(error_code=0, responses=[FetchResponse.FetchableTopicResponse(partitions=[part])])

    def _metadata(self, topic_id: str | None, leader: int, epoch: int) -> MetadataResponse:
        Topic, Broker = MetadataResponse.MetadataResponseTopic, MetadataResponse.MetadataResponseBroker
        part = Topic.MetadataResponsePartition(partition_index=0, leader_id=leader, leader_epoch=epoch)
        found = (Topic(error_code=UNKNOWN, name="t", partitions=[]) if topic_id is None else
                 Topic(error_code=0, name="t", topic_id=uuid.UUID(topic_id), partitions=[part]))
        return MetadataResponse(brokers=[Broker(node_id=node) for node in self.knows], topics=[found])


def wire_of(cluster: Cluster) -> Wire:
    """A client of these brokers that does not wait for long."""
    wire = Wire("nobody:1", retry_s=0.1)
    wire._connected = lambda: cluster
    return wire


@pytest.mark.parametrize("known", [ANOTHER, None])
def test_a_topic_is_the_one_that_was_read_as_long_as_any_broker_knows_it(known):
    """A broker that lags behind, or was cut off, tells of a topic that was deleted before this one was made."""
    wire = wire_of(Cluster(_1=(ANOTHER, 1, 7), _2=(known, 1, 7), _3=(ID, 3, 0)))
    assert wire.topic("t", ID) == TopicInfo("t", ID, {0: (3, 0)})
    with pytest.raises(TopicRecreated):
        wire_of(Cluster(_1=(ANOTHER, 1, 7), _2=(known, 1, 7))).topic("t", ID)


def test_nothing_is_sure_while_a_broker_does_not_answer():
    cluster = Cluster(_1=(ANOTHER, 1, 7), _2=(ANOTHER, 1, 7))
    cluster.silent.add(2)
    with pytest.raises(KafkaUnreachable):
        wire_of(cluster).topic("t", ID)
    with pytest.raises(KafkaUnreachable):
        wire_of(cluster).newest("t", ID)


@pytest.mark.parametrize(("knows", "newest"), [
    ({"_1": (ID, 1, 5), "_2": (ID, 2, 6)}, {0: (2, 6)}),
    ({"_1": (ANOTHER, 1, 9), "_2": (ID, 2, 6)}, {0: (2, 6)}),
    ({"_1": (None, 0, 0), "_2": (ANOTHER, 1, 9)}, None),
])
def test_the_newest_leader_is_that_of_the_broker_that_knows_most(knows, newest):
    found = wire_of(Cluster(**knows)).newest("t", ID)
    assert (found and found.partitions) == newest


def test_ends_are_those_of_the_newest_leader():
    """The one before may not know that it was deposed: its end stands still while the next one takes records."""
    cluster = Cluster(_1=(ID, 1, 5), _2=(ID, 2, 6))
    cluster.ends = {1: 50, 2: 80}
    wire = wire_of(cluster)
    assert wire.newest_ends("t", ID) == (TopicInfo("t", ID, {0: (2, 6)}), {0: 80})
    assert wire_of(Cluster(_1=(ANOTHER, 1, 5), _2=(None, 2, 6))).newest_ends("t", ID) is None
    cluster.silent.add(2)
    with pytest.raises(KafkaUnreachable):
        wire.newest_ends("t", ID)


def test_where_one_broker_is_enough_a_retry_asks_one_again():
    """Mappers only read on: a broker that is away and leads nothing must not stop them."""
    cluster = Cluster(_1=(ID, 1, 5), _2=(ID, 2, 6))
    cluster.silent.add(2)
    assert wire_of(cluster).end_offsets("t", [0]) == {0: 50}
    everyone = wire_of(cluster)
    everyone.asks_all = True
    with pytest.raises(KafkaUnreachable):
        everyone.end_offsets("t", [0])


def test_two_topics_of_one_name_cannot_be_told_apart_without_an_id():
    wire = wire_of(Cluster(_1=(ANOTHER, 1, 7), _2=(ID, 2, 0)))
    wire.asks_all = True
    with pytest.raises(KafkaUnreachable, match="different topics of this name"):
        wire.topic("t")
    assert wire.newest("t", ID) == TopicInfo("t", ID, {0: (2, 0)})


def test_each_broker_is_asked_once_where_they_are_known():
    cluster = Cluster(_1=(ID, 1, 5))
    wire = wire_of(cluster)
    for _ in range(2):
        cluster.asked.clear()
        wire.newest_ends("t", ID)
    assert cluster.asked == [1, 1], "one for what it knows, one for its end"


@pytest.mark.parametrize(("refusal", "raised"), [
    ({"error_code": OUT_OF_RANGE}, OffsetOutOfRange),
    ({"error_code": 0, "diverging_epoch": DIVERGING}, LogTruncated),
])
def test_a_log_is_cut_or_gone_only_by_the_word_of_its_latest_leader(refusal, raised):
    """A broker that is cut off goes on with what it led, and its log ends before what the next leader has taken."""
    wants = {0: Want(100, last_epoch=6)}
    fetched, = wire_of(Cluster(refusal, _1=(ID, 1, 5), _2=(ID, 2, 6))).fetch("t", ID, wants)
    assert fetched.last_stable_offset == 100
    with pytest.raises(raised):
        wire_of(Cluster(refusal, _1=(ID, 1, 6), _2=(ID, 1, 6))).fetch("t", ID, wants)


def test_a_leader_that_names_another_replica_to_read_from_has_not_answered(reader):
    """Its answer has no error and no records, and passed for an empty range."""
    Topic = FetchResponse.FetchableTopicResponse
    data = Topic.PartitionData(
        partition_index=0, error_code=0, high_watermark=9, last_stable_offset=9, log_start_offset=0,
        aborted_transactions=[], preferred_read_replica=2, records=None)
    reader.wire._brokers.ask = lambda requests: [FetchResponse(
        throttle_time_ms=0, error_code=0, session_id=0, responses=[Topic(topic_id=uuid.UUID(ID), partitions=[data])])]
    reader.wire.retry_s = 0.0
    with pytest.raises(KafkaUnreachable, match="names replica 2 to read from"):
        reader.wire.fetch("t", ID, {0: Want(3)})
