"""Kafka's wire as bytes: record batches as the broker sends them, checked by the broker against topic id and epochs.

Connections, TLS, SASL, API versions and the messages themselves are kafka-python's; this adapter asks Fetch 13 and
later, gives the record batches untouched, and turns what can go wrong into errors with names. Nothing is ever reset.
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from kafka import errors as kafka_errors
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from mars.adapters.kafka_brokers import Brokers
from mars.adapters.kafka_channel import FETCH_MAX, FETCH_MIN, RESPONSE_MAX
from mars.adapters.kafka_errors import (
    CORRUPT_MESSAGE,
    FENCED_OR_MOVED,
    OFFSET_OUT_OF_RANGE,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_NAME,
    CorruptLog,
    KafkaRefused,
    KafkaUnreachable,
    LogTruncated,
    OffsetOutOfRange,
    TopicRecreated,
    UnknownTopic,
)
from mars.adapters.kafka_security import Security

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
LATEST, EARLIEST, EARLIEST_LOCAL = -1, -2, -4
ASKED_MAX = RESPONSE_MAX // 2  # bytes asked of a broker at once: many partitions want more than an answer may have
LOCAL_MIN = 8  # the version of ListOffsets that knows EARLIEST_LOCAL
T = TypeVar("T")


@dataclass(frozen=True)
class TopicInfo:
    """`topic_id` is the broker's UUID as text; `partitions` has (leader's node id, leader epoch) of each."""

    name: str
    topic_id: str
    partitions: dict[int, tuple[int, int]]


@dataclass(frozen=True)
class Want:
    """What to fetch of a partition: from `offset` on, after a record batch of `last_epoch` (-1: unknown), at most
    `max_bytes` (a first batch that is larger comes whole)."""

    offset: int
    last_epoch: int = -1
    max_bytes: int = 8 << 20


@dataclass(frozen=True)
class FetchedPartition:
    """One partition's part of a Fetch response without an error. `records` may end inside a batch; `aborted` has
    (producer id, first offset); `throttled`: the broker holds back, so that empty `records` mean nothing."""

    partition: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: list[tuple[int, int]]
    records: bytes | memoryview
    throttled: bool


class Wire:
    """A client of one Kafka cluster.

    To be made in the process that uses it (it does not survive a fork) and called by one thread at a time. Every
    call retries what may pass (a broker away, a moved leader) with back-off for `retry_s` and then raises
    KafkaUnreachable, which is a KafkaDistrust if certificates, password or protocol are the cause; the next call starts
    afresh. A broker that says nothing for `timeout_s` counts as away; to find one of several addresses may take as long.
    """

    def __init__(self, bootstrap: str, security: Security | None = None, timeout_s: float = 10.0,
                 retry_s: float = 10.0) -> None:
        self.bootstrap = bootstrap
        self.security = security or {}
        self.timeout_s = timeout_s
        self.retry_s = retry_s
        self._brokers: Brokers | None = None
        self._topics: dict[str, TopicInfo] = {}

    def close(self) -> None:
        """Ends all connections; the next call makes new ones."""
        if self._brokers is not None:
            self._brokers.close()
        self._brokers = None
        self._topics.clear()

    def connect(self) -> None:
        """Returns once a broker has told of the cluster."""
        self._retry(self._connected)

    def topic(self, name: str, topic_id: str | None = None) -> TopicInfo:
        """The topic's id, partitions and leaders as one broker knows them now. Raises UnknownTopic, and TopicRecreated if
        `topic_id` is given and no broker knows it any more."""
        self._topics.pop(name, None)
        return self._retry(lambda: self._known(name, topic_id))

    def newest(self, name: str, topic_id: str) -> TopicInfo | None:
        """The topic of this id, of each partition the latest leader that any broker knows; None if no broker knows it. One
        that is cut off from its controller answers, with what was, so each broker that one of them names must answer:
        else KafkaUnreachable."""
        return self._retry(lambda: self._newest_once(name, topic_id))

    def end_offsets(self, topic: str, partitions: list[int]) -> dict[int, int]:
        """Each partition's last stable offset: read-committed readers see all that lies before it, and no more."""
        return {p: offset for p, (offset, _) in self._list_offsets(topic, dict.fromkeys(partitions, LATEST)).items()}

    def high_watermarks(self, topic: str, partitions: list[int]) -> dict[int, int]:
        """The end of each partition, open transactions included."""
        found = self._list_offsets(topic, dict.fromkeys(partitions, LATEST), READ_UNCOMMITTED)
        return {p: offset for p, (offset, _) in found.items()}

    def start_offsets(self, topic: str, partitions: list[int]) -> dict[int, int]:
        """Each partition's first offset that Kafka still holds."""
        return {p: offset for p, (offset, _) in self._list_offsets(topic, dict.fromkeys(partitions, EARLIEST)).items()}

    def offsets_for_times(self, topic: str, times_ms: dict[int, int]) -> dict[int, int | None]:
        """Each partition's first offset whose Kafka timestamp is at or after the time; None if there is none yet."""
        found = self._list_offsets(topic, times_ms)
        return {p: offset if offset >= 0 else None for p, (offset, _) in found.items()}

    def epoch_ends(self, topic: str, epochs: dict[int, int]) -> dict[int, tuple[int, int]]:
        """Of each partition the greatest leader epoch up to the given one of which its log has records, and the offset where
        these end: of the leader's own epoch the log's end, which no replica has to confirm. Of an epoch before all that
        it knows: that epoch, and where the first one begins that it knows. (-1, -1) if it knows none."""
        return self._retry(lambda: self._epoch_ends_once(topic, epochs)) if epochs else {}

    def fetch(self, topic: str, topic_id: str, wants: dict[int, Want], max_wait_ms: int = 500,
              min_bytes: int = 1) -> list[FetchedPartition]:
        """Record batches of these partitions, as far as they come in one answer.

        Waits up to max_wait_ms for min_bytes; of a leader comes about ASKED_MAX at most, whatever is wanted. A broker that
        throttles leaves partitions out. Raises TopicRecreated, UnknownTopic, LogTruncated, OffsetOutOfRange, CorruptLog,
        KafkaUnreachable, KafkaRefused.
        """
        return self._retry(lambda: self._fetch_once(topic, topic_id, wants, max_wait_ms, min_bytes))

    def reads_itself(self, topic: str, partition: int, offset: int) -> bool:
        """Does the leader that was asked last hold `offset` in its own log, and not in remote storage alone? Where its log
        begins only rises, so a yes holds for its earlier answers too. False also if it leads no more, or does not answer."""
        try:
            found = self._list_offsets_once(topic, {partition: EARLIEST_LOCAL}, READ_COMMITTED, LOCAL_MIN)
        except kafka_errors.IncompatibleBrokerVersion:
            return True  # it does not know the question, and so no remote storage
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
                fetched.append(FetchedPartition(
                    data.partition_index, data.high_watermark, data.last_stable_offset, data.log_start_offset, aborted,
                    data.records or b"", response.throttle_time_ms > 0))
        return fetched

    def _check_partition(self, info: TopicInfo, want: Want, data) -> None:
        """Raises what the broker says about one partition of a Fetch response."""
        topic, partition = info.name, data.partition_index
        if data.error_code == OFFSET_OUT_OF_RANGE:
            self._check_leader(info, partition)
            start = self.start_offsets(topic, [partition])[partition]
            raise OffsetOutOfRange(topic, partition, want.offset, start, self.end_offsets(topic, [partition])[partition])
        if data.error_code == CORRUPT_MESSAGE:
            raise CorruptLog(topic, partition, want.offset)
        self._check(topic, data.error_code, partition)
        if data.preferred_read_replica >= 0:
            # Without an error and without records, whatever lies there: it passed for an empty range.
            raise KafkaUnreachable(topic, partition, f"the leader names replica {data.preferred_read_replica} to read from, "
                                                     "and Mars reads from leaders: see the broker's replica.selector.class")
        diverging = data.diverging_epoch
        if diverging is not None and diverging.end_offset >= 0:
            self._check_leader(info, partition)
            raise LogTruncated(topic, partition, want.offset, diverging.epoch, diverging.end_offset)

    def _check_leader(self, info: TopicInfo, partition: int) -> None:
        """Raises KafkaUnreachable if the partition has got another leader than the one that was asked, whose log may be a
        shorter one; the next attempt asks the new one."""
        newest = self._newest_once(info.name, info.topic_id)
        if newest is not None and newest.partitions.get(partition, (-1, -1))[1] <= info.partitions[partition][1]:
            return
        self._topics.pop(info.name, None)
        if newest is not None:
            self._topics[info.name] = newest
        raise KafkaUnreachable(info.name, partition, "it is led by another broker than the one that was asked")

    def _check(self, topic: str, code: int, partition: int) -> None:
        """Nothing for code 0; forgets what may be stale and raises a retriable error, or one that is final."""
        if code == 0:
            return
        error = kafka_errors.for_code(code)
        if code in FENCED_OR_MOVED or code in UNKNOWN_TOPIC_ID or code in UNKNOWN_TOPIC_NAME or error.retriable:
            self._topics.pop(topic, None)
            raise KafkaUnreachable(topic, partition, error.__name__)
        raise KafkaRefused(topic, partition, error.__name__)

    def _known(self, topic: str, topic_id: str | None = None) -> TopicInfo:
        """What is known of the topic, asked if nothing is; raises TopicRecreated if its id is another at every broker."""
        info = self._topics.get(topic) or self._refresh(topic)
        if topic_id is None or info.topic_id == topic_id:
            return info
        self._topics.pop(topic)
        newest = self._newest_once(topic, topic_id)
        if newest is None:
            raise TopicRecreated(topic, topic_id, info.topic_id)
        self._topics[topic] = newest
        return newest

    def _leader(self, info: TopicInfo, partition: int) -> tuple[int, int]:
        """(leader, leader epoch) of a partition."""
        if partition not in info.partitions:
            self._topics.pop(info.name, None)
            raise UnknownTopic(f"{info.name}, partition {partition}")
        leader, epoch = info.partitions[partition]
        if leader < 0:
            self._topics.pop(info.name, None)
            raise KafkaUnreachable(info.name, partition, "has no leader")
        return leader, epoch

    def _refresh(self, name: str) -> TopicInfo:
        """Asks the cluster for this topic."""
        found = self._told(name, self._send([(None, _metadata_request(name))])[0])
        if found is None:
            raise UnknownTopic(name)
        self._topics[name] = found
        return found

    def _newest_once(self, name: str, topic_id: str) -> TopicInfo | None:
        answers, named = {}, {None}
        while left := named - answers.keys():
            answers |= zip(left, self._send([(node, _metadata_request(name)) for node in left]), strict=True)
            named |= {broker.node_id for response in answers.values() for broker in response.brokers}
        told = [info for response in answers.values() if (info := self._told(name, response))]
        mine = [info.partitions for info in told if info.topic_id == topic_id]
        latest = {p: max((of[p] for of in mine if p in of), key=lambda leader: leader[1]) for p in sorted({*chain(*mine)})}
        return TopicInfo(name, topic_id, latest) if mine else None

    def _told(self, name: str, response: MetadataResponse) -> TopicInfo | None:
        """The topic as a broker tells of it, None if it knows none."""
        found = response.topics[0]
        if found.error_code in UNKNOWN_TOPIC_NAME:
            return None
        self._check(name, found.error_code, -1)
        partitions = {p.partition_index: (p.leader_id, p.leader_epoch) for p in found.partitions}
        return TopicInfo(name, str(found.topic_id), dict(sorted(partitions.items())))

    def _list_offsets(self, topic: str, times: dict[int, int],
                      isolation: int = READ_COMMITTED) -> dict[int, tuple[int, int]]:
        """(offset, leader epoch) per partition for LATEST, EARLIEST or a time in ms."""
        return self._retry(lambda: self._list_offsets_once(topic, times, isolation)) if times else {}

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

    # --- connections ------------------------------------------------------------------------------------------

    def _ask_leaders(self, info: TopicInfo, asked: dict[int, T], part: Callable[[int, int, T], object],
                     request: Callable[[list], object]) -> list:
        """The responses of the partitions' leaders: each is sent one request of its parts, which `part` makes of partition,
        leader epoch and what is asked."""
        by_leader = defaultdict(list)
        for partition, what in asked.items():
            leader, epoch = self._leader(info, partition)
            by_leader[leader].append(part(partition, epoch, what))
        return self._send([(leader, request(parts)) for leader, parts in by_leader.items()])

    def _send(self, requests: list) -> list:
        """The responses to (node id, request) pairs that are under way at the same time."""
        return self._connected().ask(requests)

    def _connected(self) -> Brokers:
        if self._brokers is None:
            self._brokers = Brokers(self.bootstrap, self.security, self.timeout_s, self.retry_s)
        return self._brokers

    def _retry(self, attempt: Callable):
        """attempt(), again with back-off while what it raises may pass, at most for retry_s."""
        deadline, pause = time.monotonic() + self.retry_s, 0.02
        while True:
            try:
                return attempt()
            except (KafkaUnreachable, kafka_errors.KafkaError) as error:
                last = error
                if not _may_pass(error):
                    self.close()  # a password that is refused now may be right the next time
                    raise KafkaRefused("", -1, str(error)) from error
            if time.monotonic() + pause >= deadline:
                self.close()
                if isinstance(last, KafkaUnreachable):
                    raise last
                raise KafkaUnreachable(self.bootstrap, -1, str(last) or type(last).__name__) from last
            time.sleep(pause)
            pause = min(pause * 2, 0.5)


def _may_pass(error: Exception) -> bool:
    """True for faults of the network or of a cluster in motion, False for refusals."""
    unknown_node = isinstance(error, kafka_errors.UnknownBrokerIdError)
    return isinstance(error, KafkaUnreachable) or unknown_node or getattr(error, "retriable", False)


def _metadata_request(name: str) -> MetadataRequest:
    """What does a broker know of this topic, and of the other brokers?"""
    wanted = MetadataRequest.MetadataRequestTopic(name=name, topic_id=uuid.UUID(int=0))
    return MetadataRequest(topics=[wanted], allow_auto_topic_creation=False, include_topic_authorized_operations=False,
                           min_version=10, max_version=13)


def _fetch_request(topic_id: str, partitions: list, max_wait_ms: int, min_bytes: int) -> FetchRequest:
    """A sessionless Fetch of these partitions, which name leader epoch and last fetched epoch, by the topic's id."""
    return FetchRequest(
        max_wait_ms=max_wait_ms, min_bytes=min(min_bytes, ASKED_MAX),
        max_bytes=min(sum(p.partition_max_bytes for p in partitions), ASKED_MAX),
        isolation_level=READ_COMMITTED, session_id=0, session_epoch=-1, forgotten_topics_data=[], rack_id="",
        topics=[FetchRequest.FetchTopic(topic="", topic_id=uuid.UUID(topic_id), partitions=partitions)],
        min_version=FETCH_MIN, max_version=FETCH_MAX)
