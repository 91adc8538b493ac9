"""What is asked of brokers, against some that keep the requests as they would be sent."""

from __future__ import annotations

import uuid

import pytest
from kafka.protocol.consumer import FetchRequest, FetchResponse

from mapper.fetch import AWAITED_BYTES, AWAITED_BYTES_MAX, RawReader
from mars.adapters.kafka_channel import FETCH_MAX, RESPONSE_MAX
from mars.adapters.kafka_errors import KafkaUnreachable
from mars.adapters.kafka_wire import TopicInfo, Want, Wire

ID = "00000000-0000-0000-0000-000000000001"


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
def reader() -> RawReader:
    """Of a topic of 5,000 partitions with two leaders."""
    wire = Wire("nobody:1")
    wire._brokers, wire._topics["t"] = Brokers(), TopicInfo("t", ID, {p: (p % 2, 0) for p in range(5_000)})
    return RawReader(wire, "t", ID)


@pytest.mark.parametrize("partitions", [1, 30, 1_024, 2_048, 5_000])
def test_a_batch_of_each_of_many_partitions_is_no_more_than_an_answer_may_be(reader, partitions):
    reader._size.learn(bytes(1 << 20), 1)
    ends = dict.fromkeys(range(partitions), 7)
    assert reader.await_tuples(ends, {}, 10, offsets=5_000) == ends
    asked = reader.wire._brokers.asked
    wanted = partitions * AWAITED_BYTES_MAX
    assert AWAITED_BYTES < min(wanted, RESPONSE_MAX // 2) == asked[0].min_bytes
    assert sum(request.max_bytes for request in asked) == min(wanted, len(asked) * RESPONSE_MAX // 2)


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
