"""A client of a Kafka cluster: its connections, what it knows of topics and their leaders, and retries of what may pass.
Requests to leaders are in `wire`.
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
from kafka.protocol.admin import CreateTopicsRequest
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from mars.adapters.kafka.brokers import Brokers, find
from mars.adapters.kafka.errors import (
    FENCED_OR_MOVED,
    TOPIC_EXISTS,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_NAME,
    KafkaRefused,
    KafkaUnreachable,
    TopicRecreated,
    UnknownTopic,
)
from mars.adapters.kafka.security import Security
from mars.runtime.periods import Backoff

T = TypeVar("T")
PAUSES_S = (0.02, 0.5)  # the first and the longest pause between tries; a leader moves within a few of the first


@dataclass(frozen=True)
class TopicInfo:
    """`topic_id` is the broker's UUID as text; `partitions` has (leader's node id, leader epoch) for each partition."""

    name: str
    topic_id: str
    partitions: dict[int, tuple[int, int]]


class Cluster:
    """A client of one Kafka cluster.

    To be made in the process that uses it (it does not survive a fork) and called by one thread at a time. Every call
    retries what may pass (a broker away, a moved leader) with back-off for `retry_s`. Then it raises KafkaUnreachable, or
    KafkaDistrust if certificates, password or protocol are the cause. The next call starts afresh. A broker that says
    nothing for `timeout_s` counts as away; finding one of several addresses may take as long.

    A leader that was deposed and has not heard of it still answers, with an end that stands still. With `asks_all`, a
    topic's partitions and leaders are the latest that any broker knows, and every broker must answer. Otherwise they are
    what one broker says, which is enough for whoever only reads on.
    """

    def __init__(self, bootstrap: str, security: Security | None = None, timeout_s: float = 10.0,
                 retry_s: float = 10.0, asks_all: bool = False) -> None:
        self.bootstrap = bootstrap
        self.security = security or {}
        self.timeout_s = timeout_s
        self.retry_s = retry_s
        self.asks_all = asks_all
        self._brokers: Brokers | None = None
        self._topics: dict[str, TopicInfo] = {}
        self._named: set[int] = set()  # the brokers, as one of them named them last

    def close(self) -> None:
        """Ends all connections; the next call makes new ones."""
        if self._brokers is not None:
            self._brokers.close()
        self._brokers = None
        self._topics.clear()

    def connect(self) -> None:
        """Returns once a broker has described the cluster."""
        self._retry(self._connected)

    def topic(self, name: str, topic_id: str | None = None) -> TopicInfo:
        """The topic's id, partitions and leaders as one broker knows them now. Raises UnknownTopic, and TopicRecreated if
        `topic_id` is given and no broker knows it any longer."""
        self._topics.pop(name, None)
        return self._retry(lambda: self._known(name, topic_id))

    def topics(self) -> list[str]:
        """The names of all topics, sorted."""
        return self._retry(lambda: sorted(found.name for found in self._send([(None, _metadata_request())])[0].topics))

    def create(self, name: str, partitions: int, settings: dict[str, str]) -> None:
        """Create the topic, unless it exists, with the cluster's default number of replicas."""
        self._retry(lambda: self._create_once(name, partitions, settings))

    def newest(self, name: str, topic_id: str) -> TopicInfo | None:
        """The topic of this id, with the latest leader of each partition that any broker knows; None if no broker knows
        the topic. A broker that is cut off from its controller still answers with old facts. So each broker that any of
        them names must answer; otherwise it raises KafkaUnreachable."""
        return self._retry(lambda: self._newest_once(name, topic_id))

    def _check_leader(self, info: TopicInfo, partition: int) -> None:
        """Raises KafkaUnreachable if the partition has another leader by now than the one that was asked: the log of the
        old one may be shorter. The next attempt asks the new leader."""
        newest = self._newest_once(info.name, info.topic_id)
        if newest is not None and newest.partitions.get(partition, (-1, -1))[1] <= info.partitions[partition][1]:
            return
        self._topics.pop(info.name, None)
        if newest is not None:
            self._topics[info.name] = newest
        raise KafkaUnreachable(info.name, partition, "it is led by another broker than the one that was asked")

    def _check(self, topic: str, code: int, partition: int) -> None:
        """Does nothing for code 0. Else it forgets what may be stale, and raises an error that is retriable or final."""
        if code == 0:
            return
        error = kafka_errors.for_code(code)
        if code in FENCED_OR_MOVED or code in UNKNOWN_TOPIC_ID or code in UNKNOWN_TOPIC_NAME or error.retriable:
            self._topics.pop(topic, None)
            raise KafkaUnreachable(topic, partition, error.__name__)
        raise KafkaRefused(topic, partition, error.__name__)

    def _known(self, topic: str, topic_id: str | None = None) -> TopicInfo:
        """What is known of the topic; asks if nothing is known. Raises TopicRecreated if every broker has another id for
        it."""
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
        found = self._newest_once(name) if self.asks_all else \
            self._told(name, self._send([(None, _metadata_request(name))])[0])
        if found is None:
            raise UnknownTopic(name)
        self._topics[name] = found
        return found

    def _create_once(self, name: str, partitions: int, settings: dict[str, str]) -> None:
        Topic = CreateTopicsRequest.CreatableTopic
        configs = [Topic.CreatableTopicConfig(name=key, value=value) for key, value in settings.items()]
        request = CreateTopicsRequest(topics=[Topic(name=name, num_partitions=partitions, replication_factor=-1,
                                                    assignments=[], configs=configs)],
                                      timeout_ms=int(self.timeout_s * 1000), validate_only=False, min_version=4)
        controller = self._send([(None, _metadata_request(name))])[0].controller_id
        answer = self._send([(controller, request)])[0].topics[0]
        if answer.error_code != TOPIC_EXISTS:
            self._check(name, answer.error_code, -1)

    def _newest_once(self, name: str, topic_id: str | None = None) -> TopicInfo | None:
        """The topic as `newest` gives it; without an id the only one of this name. KafkaUnreachable if there are two."""
        answers: dict[int | None, MetadataResponse] = {}
        named: set[int | None] = set(self._named) or {None}
        self._named = set()
        while left := named - answers.keys():
            answers |= zip(left, self._send([(node, _metadata_request(name)) for node in left]), strict=True)
            named = named | {broker.node_id for response in answers.values() for broker in response.brokers}
        self._named = {node for node in named if node is not None}  # until then, a failed call starts again with any broker
        told = [info for response in answers.values() if (info := self._told(name, response))]
        if topic_id is None and told:
            topic_id, *others = {info.topic_id for info in told}
            if others:
                raise KafkaUnreachable(name, -1, "the brokers know different topics of this name")
        mine = [info.partitions for info in told if info.topic_id == topic_id]
        latest = {p: max((of[p] for of in mine if p in of), key=lambda leader: leader[1]) for p in sorted({*chain(*mine)})}
        return TopicInfo(name, topic_id, latest) if topic_id and mine else None

    def _told(self, name: str, response: MetadataResponse) -> TopicInfo | None:
        """The topic as a broker describes it; None if it knows none."""
        found = response.topics[0]
        if found.error_code in UNKNOWN_TOPIC_NAME:
            return None
        self._check(name, found.error_code, -1)
        partitions = {p.partition_index: (p.leader_id, p.leader_epoch) for p in found.partitions}
        return TopicInfo(name, str(found.topic_id), dict(sorted(partitions.items())))

    def _ask_leaders(self, info: TopicInfo, asked: dict[int, T], part: Callable[[int, int, T], object],
                     request: Callable[[list], object]) -> list:
        """The responses of the partitions' leaders. Each leader gets one request for its partitions; `part` makes a
        partition's entry from partition, leader epoch and what is asked."""
        by_leader = defaultdict(list)
        for partition, what in asked.items():
            leader, epoch = self._leader(info, partition)
            by_leader[leader].append(part(partition, epoch, what))
        return self._send([(leader, request(parts)) for leader, parts in by_leader.items()])

    def _send(self, requests: list) -> list:
        """The responses to (node id, request) pairs, which are in flight at the same time."""
        return self._connected().ask(requests)

    def _connected(self) -> Brokers:
        if self._brokers is None:
            self._brokers = find(self.bootstrap, self.security, self.timeout_s, self.retry_s)
        return self._brokers

    def _retry(self, attempt: Callable[[], T]) -> T:
        """Calls attempt(), again with back-off while its error may pass, for at most retry_s."""
        deadline_s, backoff = time.monotonic() + self.retry_s, Backoff(*PAUSES_S)
        while True:
            try:
                return attempt()
            except (KafkaUnreachable, kafka_errors.KafkaError) as error:
                last = error
                if not _may_pass(error):
                    self.close()  # a password that is refused now may be accepted the next time
                    raise KafkaRefused("", -1, str(error)) from error
            pause_s = backoff.begin()
            if time.monotonic() + pause_s >= deadline_s:
                self.close()
                if isinstance(last, KafkaUnreachable):
                    raise last
                raise KafkaUnreachable(self.bootstrap, -1, str(last) or type(last).__name__) from last
            time.sleep(pause_s)


def _may_pass(error: Exception) -> bool:
    """True for faults of the network or of a changing cluster, False for refusals."""
    unknown_node = isinstance(error, kafka_errors.UnknownBrokerIdError)
    return isinstance(error, KafkaUnreachable) or unknown_node or getattr(error, "retriable", False)


def _metadata_request(name: str | None = None) -> MetadataRequest:
    """Asks what a broker knows of this topic (None: of all topics), and of the other brokers."""
    wanted = name and [MetadataRequest.MetadataRequestTopic(name=name, topic_id=uuid.UUID(int=0))]
    return MetadataRequest(topics=wanted, allow_auto_topic_creation=False, include_topic_authorized_operations=False,
                           min_version=10, max_version=13)
