"""Kafka's wire protocol as bytes: record batches as the broker sends them. The broker checks topic id and epochs.

kafka-python handles connections, TLS, SASL, API versions and the messages themselves. This adapter uses Fetch 13 and
later, returns the record batches untouched, and turns failures into named errors. It never resets an offset.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kafka import errors as kafka_errors
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest

from mars.adapters.kafka.channel import FETCH_MAX, FETCH_MIN, RESPONSE_MAX
from mars.adapters.kafka.cluster import Cluster, TopicInfo
from mars.adapters.kafka.errors import (
    CORRUPT_MESSAGE,
    OFFSET_OUT_OF_RANGE,
    CorruptLog,
    KafkaUnreachable,
    LogTruncated,
    OffsetOutOfRange,
)

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
LATEST, EARLIEST, EARLIEST_LOCAL = -1, -2, -4
ASKED_MAX = RESPONSE_MAX // 2  # bytes requested from a broker at once: many partitions want more than an answer may have
LOCAL_MIN = 8  # the version of ListOffsets that knows EARLIEST_LOCAL


@dataclass(frozen=True)
class Want:
    """What to fetch from a partition: from `offset` on, after a record batch of `last_epoch` (-1: unknown), at most
    `max_bytes` (a larger first batch comes whole)."""

    offset: int
    last_epoch: int = -1
    max_bytes: int = 8 << 20


@dataclass(frozen=True)
class FetchedPartition:
    """One partition's part of a Fetch response without an error. `records` may end inside a batch; `aborted` has
    (producer id, first offset); `throttled`: the broker holds back, so empty `records` mean nothing."""

    partition: int
    last_stable_offset: int
    aborted: list[tuple[int, int]]
    records: bytes | memoryview
    throttled: bool


class Wire(Cluster):
    """Requests to the leaders of one Kafka cluster."""

    def newest_ends(self, name: str, topic_id: str) -> tuple[TopicInfo, dict[int, int]] | None:
        """The topic as `newest` gives it, and each partition's high watermark from the leader named there; None if no
        broker knows the topic.

        A leader that was deposed and has not heard of it still answers, and its high watermark stands still. Its
        successor knows that it leads before it takes a record, and this call asks the successor. So if a partition's end
        is reported unchanged, no leader had taken a record when this call began. KafkaUnreachable if a leader is deposed
        meanwhile."""
        return self._retry(lambda: self._newest_ends_once(name, topic_id))

    def end_offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """Each partition's last stable offset: read-committed readers see everything before it, and no more."""
        return {p: offset for p, (offset, _) in self._list_offsets(topic, dict.fromkeys(partitions, LATEST)).items()}

    def start_offsets(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """Each partition's first offset that Kafka still holds."""
        return {p: offset for p, (offset, _) in self._list_offsets(topic, dict.fromkeys(partitions, EARLIEST)).items()}

    def offsets_for_times(self, topic: str, times_ms: dict[int, int]) -> dict[int, int | None]:
        """Each partition's first offset whose Kafka timestamp is at or after the time; None if there is none yet."""
        found = self._list_offsets(topic, times_ms)
        return {p: offset if offset >= 0 else None for p, (offset, _) in found.items()}

    def epoch_ends(self, topic: str, epochs: dict[int, int]) -> dict[int, tuple[int, int]]:
        """For each partition: the greatest leader epoch, up to the given one, of which its log has records, and the
        offset where they end. For the leader's own epoch that is the log's end, which no replica has to confirm. For an
        epoch before all that it knows, it is that epoch and the start of the first epoch that it knows. (-1, -1) if it
        knows none."""
        return self._retry(lambda: self._epoch_ends_once(topic, epochs)) if epochs else {}

    def fetch(self, topic: str, topic_id: str, wants: dict[int, Want], max_wait_ms: int = 500,
              min_bytes: int = 1) -> list[FetchedPartition]:
        """Record batches of these partitions, as far as they come in one answer.

        Waits up to max_wait_ms for min_bytes. A leader sends about ASKED_MAX at most, whatever is wanted. A broker that
        throttles leaves out partitions. Raises TopicRecreated, UnknownTopic, LogTruncated, OffsetOutOfRange, CorruptLog,
        KafkaUnreachable, KafkaRefused.
        """
        return self._retry(lambda: self._fetch_once(topic, topic_id, wants, max_wait_ms, min_bytes))

    def reads_itself(self, topic: str, partition: int, offset: int) -> bool:
        """Does the leader that was asked last hold `offset` in its own log, not only in remote storage? The start of its
        log only rises, so a yes also holds for its earlier answers. False also if it no longer leads, or does not
        answer."""
        try:
            found = self._list_offsets_once(topic, {partition: EARLIEST_LOCAL}, READ_COMMITTED, LOCAL_MIN)
        except kafka_errors.IncompatibleBrokerVersion:
            return True  # a broker that does not know the request has no remote storage
        except (KafkaUnreachable, kafka_errors.KafkaError):
            return False
        return found[partition][0] <= offset

    # --- one attempt each -------------------------------------------------------------------------------------

    def _fetch_once(self, topic: str, topic_id: str, wants: dict[int, Want], max_wait_ms: int,
                    min_bytes: int) -> list[FetchedPartition]:
        Partition = FetchRequest.FetchTopic.FetchPartition
        fetched, info = [], self._known(topic, topic_id)
        for response in self._ask_leaders(
                info, wants, lambda partition, epoch, want: Partition(
                    partition=partition, current_leader_epoch=epoch, fetch_offset=want.offset,
                    last_fetched_epoch=want.last_epoch, log_start_offset=-1, partition_max_bytes=want.max_bytes),
                lambda partitions: _fetch_request(topic_id, partitions, max_wait_ms, min_bytes)):
            self._check(topic, response.error_code, -1)
            for data in (p for t in response.responses for p in t.partitions):
                self._check_partition(info, wants[data.partition_index], data)
                aborted = [(a.producer_id, a.first_offset) for a in data.aborted_transactions or ()]
                fetched.append(FetchedPartition(data.partition_index, data.last_stable_offset, aborted, data.records or b"",
                                                response.throttle_time_ms > 0))
        return fetched

    def _check_partition(self, info: TopicInfo, want: Want, data: Any) -> None:
        """Raises the error that the broker reports for one partition of a Fetch response."""
        topic, partition = info.name, data.partition_index
        if data.error_code == OFFSET_OUT_OF_RANGE:
            self._check_leader(info, partition)
            start = self.start_offsets(topic, [partition])[partition]
            raise OffsetOutOfRange(topic, partition, want.offset, start, self.end_offsets(topic, [partition])[partition])
        if data.error_code == CORRUPT_MESSAGE:
            raise CorruptLog(topic, partition, want.offset)
        self._check(topic, data.error_code, partition)
        if data.preferred_read_replica >= 0:
            # Such an answer has no error and no records, whatever is there. It would pass for an empty range.
            raise KafkaUnreachable(topic, partition, f"the leader names replica {data.preferred_read_replica} to read from, "
                                                     "and Mars reads from leaders: see the broker's replica.selector.class")
        diverging = data.diverging_epoch
        if diverging is not None and diverging.end_offset >= 0:
            self._check_leader(info, partition)
            raise LogTruncated(topic, partition, want.offset, diverging.epoch, diverging.end_offset)

    def _newest_ends_once(self, name: str, topic_id: str) -> tuple[TopicInfo, dict[int, int]] | None:
        info = self._newest_once(name, topic_id)
        if info is None:
            return None
        self._topics[name] = info
        found = self._list_offsets_once(name, dict.fromkeys(info.partitions, LATEST), READ_UNCOMMITTED)
        return info, {p: offset for p, (offset, _) in found.items()}

    def _list_offsets(self, topic: str, times: dict[int, int]) -> dict[int, tuple[int, int]]:
        """(offset, leader epoch) per partition for LATEST, EARLIEST or a time in ms."""
        return self._retry(lambda: self._list_offsets_once(topic, times, READ_COMMITTED)) if times else {}

    def _list_offsets_once(self, topic: str, times: dict[int, int], isolation: int,
                           min_version: int = 4) -> dict[int, tuple[int, int]]:
        Topic = ListOffsetsRequest.ListOffsetsTopic
        found = {}
        for response in self._ask_leaders(
                self._known(topic), times, lambda partition, epoch, time_ms: Topic.ListOffsetsPartition(
                    partition_index=partition, current_leader_epoch=epoch, timestamp=time_ms),
                lambda partitions: ListOffsetsRequest(
                    replica_id=-1, isolation_level=isolation, topics=[Topic(name=topic, partitions=partitions)],
                    timeout_ms=int(self.timeout_s * 1000), min_version=min_version)):
            for data in (p for t in response.topics for p in t.partitions):
                self._check(topic, data.error_code, data.partition_index)
                found[data.partition_index] = (data.offset, data.leader_epoch)
        return found

    def _epoch_ends_once(self, topic: str, epochs: dict[int, int]) -> dict[int, tuple[int, int]]:
        Topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
        found = {}
        for response in self._ask_leaders(
                self._known(topic), epochs, lambda partition, current, epoch: Topic.OffsetForLeaderPartition(
                    partition=partition, current_leader_epoch=current, leader_epoch=epoch),
                lambda partitions: OffsetForLeaderEpochRequest(
                    replica_id=-1, topics=[Topic(topic=topic, partitions=partitions)], min_version=2)):
            for data in (p for t in response.topics for p in t.partitions):
                self._check(topic, data.error_code, data.partition)
                found[data.partition] = (data.leader_epoch, data.end_offset)
        return found


def _fetch_request(topic_id: str, partitions: list, max_wait_ms: int, min_bytes: int) -> FetchRequest:
    """A sessionless Fetch of these partitions, which name leader epoch and last fetched epoch, by the topic's id."""
    return FetchRequest(
        max_wait_ms=max_wait_ms, min_bytes=min(min_bytes, ASKED_MAX),
        max_bytes=min(sum(p.partition_max_bytes for p in partitions), ASKED_MAX),
        isolation_level=READ_COMMITTED, session_id=0, session_epoch=-1, forgotten_topics_data=[], rack_id="",
        topics=[FetchRequest.FetchTopic(topic="", topic_id=uuid.UUID(topic_id), partitions=partitions)],
        min_version=FETCH_MIN, max_version=FETCH_MAX)
