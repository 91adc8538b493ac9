"""Watches the streams' topics for the leader: new partitions, idle partitions, topics that were created again. It also
reports each stream's progress to Kafka as a consumer group's offsets, for lag tools.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaException, TopicPartition

from mars.adapters.kafka.cluster import TopicInfo
from mars.adapters.kafka.errors import KafkaUnreachable, TopicRecreated, UnknownTopic
from mars.adapters.view import StreamView, stop_queries
from mars.adapters.zookeeper import ZooKeeper
from mars.model import names
from mars.model.log_epochs import Epochs, truncated
from mars.model.registry import ANEW, QuerySet
from mars.runtime.periods import Backoff, Every
from mars.runtime.system import SYSTEM, Clock, Runtime
from reducer.connections import Connections
from reducer.leading.elect import Candidate

log = logging.getLogger("mars.leader")
OFFSETS_S = 2.0  # between comparisons of the commits with the logs: each asks Redis for all positions
MOVED_S, MOVING_S, QUIET_S = 2.0, 0.25, 1.0  # pauses between looks at a topic that has moved lately, and at one that has not
IDLE_MARGIN_S = 0.002  # a partition is looked at again this long after it becomes idle, not just before
MISSING_S = 10.0  # how long a broker that has just started may not know a topic
AWAY_S, AWAY_MAX_S = 0.5, 5.0  # how long a stream rests whose topic does not answer, so that others need not wait for it
TELL_ANEW_S = 180.0  # how often unchanged offsets are reported again: Kafka forgets a group after a week
EPOCHS_MAX = 16  # of a log's earlier epochs are published: each costs a request, once
CHECKS_BITS = 48  # the number of checks that fit under one leader's epoch


@dataclass
class Seen:
    """What is known of one stream's topic: the number of the last check, the time since which each high watermark has
    stood still, the epochs of each log, and the group's offsets as last reported to Kafka. `away` is the rest while it
    does not answer; `compares` and `tells` say when these are due."""

    clock: Clock = SYSTEM.clock
    begun: int = 0
    quiet: dict[int, tuple[int, float]] = field(default_factory=dict)
    missing_since: float | None = None
    told: dict[int, int] = field(default_factory=dict)
    logs: dict[int, Epochs] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.away = Backoff(AWAY_S, AWAY_MAX_S, self.clock)
        self.compares, self.tells = Every(OFFSETS_S, self.clock), Every(TELL_ANEW_S, self.clock)


class TopicWatch:
    """Looks at the topics of all streams; only the leader's thread uses it."""

    def __init__(self, connections: Connections, runtime: Runtime = SYSTEM) -> None:
        self.exchange, self.wire, self.open_group = connections.exchange, connections.wire, connections.open_group
        self.runtime, self.clock = runtime, runtime.clock
        self.seen: dict[int, Seen] = {}
        self.groups: dict[int, Consumer] = {}
        self.silent_since: float | None = None

    def silent_s(self) -> float:
        """How long there has been no answer about any topic, although some were asked about."""
        return 0.0 if self.silent_since is None else self.clock.monotonic_s() - self.silent_since

    def forget_silence(self) -> None:
        """Start again from zero: another reducer led, and now this one may lead again."""
        self.silent_since = None

    def look(self, view: StreamView, candidate: Candidate, zookeeper: ZooKeeper) -> None:
        """One check of the stream's topic; none while a topic rests that did not answer (KafkaUnreachable)."""
        seen = self.seen.setdefault(view.stream.id, Seen(self.clock))
        if not seen.away.is_due():
            return
        try:
            self._check(view, seen, candidate, zookeeper)
            seen.away.reset()
            self.silent_since = None
        except KafkaUnreachable:
            seen.away.begin()
            self.silent_since = self.silent_since or self.clock.monotonic_s()
            raise

    def _check(self, view: StreamView, seen: Seen, candidate: Candidate, zookeeper: ZooKeeper) -> None:
        """One numbered check (rule 23). Its number is published before the brokers are asked, and published as done only
        once everything new is in the query set. No broker is trusted alone, because one that no longer leads may not know
        it."""
        stream = view.stream
        assert candidate.epoch is not None, "only who leads looks"
        # This is above all numbers of every earlier leader; clocks of two hosts could not guarantee that.
        seen.begun = max(seen.begun, candidate.epoch << CHECKS_BITS) + 1
        led = self.exchange.lead(stream.id, generation=view.generation, epoch=candidate.epoch)
        led.publish_facts({"begun": seen.begun})
        missing_since, seen.missing_since = seen.missing_since, None
        try:
            found = self.wire.newest_ends(stream.topic, stream.topic_id)
            if found is None:
                self.wire.topic(stream.topic, stream.topic_id)  # says whether the topic is gone, or another one by now
                return
        except UnknownTopic:
            seen.missing_since = missing_since or self.clock.monotonic_s()
            self._miss(view, seen.missing_since, zookeeper)
            return
        except TopicRecreated as error:
            stop_queries(zookeeper, stream, view.queries.running(), "TOPIC_RECREATED",
                         f"{error.title}: {error.detail}; {ANEW}")
            return
        # A query may know less than the query set: its start was looked up before a partition was added, and the query
        # was made afterwards.
        topic, highs = found
        known = set(view.queries.partitions).intersection(*(query.start for query in view.queries.queries.values()))
        if new := [p for p in topic.partitions if p not in known]:
            self._add_partitions(view, candidate, zookeeper, new)
            return
        led.publish_facts({"done": seen.begun, **self._idle(seen, highs), **self._logs(seen, topic)})
        if seen.compares.is_due():
            seen.compares.begin()
            positions = self._positions(view)
            self._compare(view, zookeeper, topic, highs, positions)
            self._tell_kafka(view, seen, positions)

    def keep(self, stream_ids: Collection[int]) -> None:
        """Forget all other streams: they were dropped. Consumers are closed in a thread of their own, because closing
        waits for a Kafka that is away."""
        for stream_id in self.seen.keys() - stream_ids:
            del self.seen[stream_id]
            if group := self.groups.pop(stream_id, None):
                self.runtime.start(group.close, "close group")

    def due_in_s(self, view: StreamView) -> float:
        """The seconds until the topic is to be looked at if nobody asks: few while it moves, until a partition has been
        silent for as long as a query's IDLE or TIMEOUT, and many otherwise."""
        now, running = self.clock.monotonic_s(), view.queries.running().values()
        ages = [now - since for _, since in self.seen[view.stream.id].quiet.values()]
        if not running or not ages:
            return QUIET_S
        kept = [query.plan.aggregation for query in running]
        idles = {ms / 1000 for one in kept for ms in (one.idle_ms, one.timeout_ms) if ms is not None}
        to_idle = [idle + IDLE_MARGIN_S - age for idle in idles for age in ages if idle + IDLE_MARGIN_S > age]
        return min([MOVING_S if min(ages) < MOVED_S else QUIET_S, *to_idle])

    def _miss(self, view: StreamView, since: float, zookeeper: ZooKeeper) -> None:
        """Called when the broker has no such topic. A broker that has just started may say so too, so it gets some time,
        counted again after each time that it did not answer. After that, no other broker may know the topic either."""
        stream = view.stream
        if self.clock.monotonic_s() - since > MISSING_S and self.wire.newest(stream.topic, stream.topic_id) is None:
            stop_queries(zookeeper, view.stream, view.queries.running(), "DATA_LOSS",
                         f"topic {view.stream.topic} was deleted: what had not been read of it is lost; closed windows stay"
                         f" readable; {ANEW}")

    def _add_partitions(self, view: StreamView, candidate: Candidate, zookeeper: ZooKeeper, new: list[int]) -> None:
        """Enter partitions that were added later: every query starts there at the first record (rule 18)."""
        starts = self.wire.start_offsets(view.stream.topic, new)
        queries = QuerySet.load(view.queries.dump())  # the view is shared and must not be changed
        queries.partitions = tuple(sorted({*queries.partitions, *new}))
        for query in queries.queries.values():
            query.start |= {p: o for p, o in starts.items() if p not in query.start}
        zookeeper.transact(candidate.guard(),
                           ("set", names.queries(view.stream.id), queries.dump(), view.queries_version))

    def _idle(self, seen: Seen, highs: dict[int, int]) -> dict[str, str]:
        now = self.clock.monotonic_s()
        for partition, high in highs.items():
            if seen.quiet.get(partition, (None, 0))[0] != high:
                seen.quiet[partition] = (high, now)
        return {f"idle:{p}": f"{high}:{int((now - since) * 1000)}" for p, (high, since) in seen.quiet.items()}

    def _logs(self, seen: Seen, topic: TopicInfo) -> dict[str, str]:
        """The epochs of all logs. Earlier epochs are requested only if the leader epoch differs from last time: while a
        leader leads, they do not change."""
        new = {p: epoch for p, (_, epoch) in topic.partitions.items()
               if p not in seen.logs or seen.logs[p].current != epoch}
        ends: dict[int, list[tuple[int, int]]] = {p: [] for p in new}
        asked = {p: epoch - 1 for p, epoch in new.items() if epoch > 0}
        for _ in range(EPOCHS_MAX):
            if not asked:
                break
            found = self.wire.epoch_ends(topic.name, asked)
            # Two epochs with one end mean that the second one is before all that the log knows, so there is none before
            # it.
            known = {p: pair for p, pair in found.items() if pair[0] >= 0 and pair[1] not in (end for _, end in ends[p])}
            for partition, pair in known.items():
                ends[partition].append(pair)
            asked = {p: epoch - 1 for p, (epoch, _) in known.items() if epoch > 0}
        seen.logs |= {p: Epochs(epoch, tuple(reversed(ends[p]))) for p, epoch in new.items()}
        return {f"log:{p}": epochs.dump() for p, epochs in seen.logs.items()}

    def _positions(self, view: StreamView) -> dict[tuple[int, str], int]:
        """(partition, query) -> the least committed position, of the running queries."""
        found, running = self.exchange.least_positions(view.stream.id, view.stream.key_parts), view.queries.running()
        return {place: offset for place, offset in found.items() if place[1] in running}

    def _compare(self, view: StreamView, zookeeper: ZooKeeper, topic: TopicInfo, highs: dict[int, int],
                 positions: dict[tuple[int, str], int]) -> None:
        """Stop queries that have counted past the end of a log. This finds a whole log that was set back together with
        its epochs, which owners cannot notice. A high watermark may lag for a moment after the leader has changed, so
        only the end of the leader's own log decides. And it decides only if no broker knows a later leader: a deposed
        leader may not have heard that it was deposed, and for an earlier epoch another broker gives the start of the next
        one."""
        beyond = {p for (p, _), offset in positions.items() if offset > highs.get(p, offset)}
        if not beyond:
            return
        epochs = {p: topic.partitions[p][1] for p in beyond}
        found = self.wire.epoch_ends(topic.name, epochs)
        ends = {p: end for p, (epoch, end) in found.items() if epoch == epochs[p]}
        cut = [(p, query, offset) for (p, query), offset in positions.items() if p in ends and ends[p] < offset]
        newest = self.wire.newest(topic.name, topic.topic_id) if cut else None
        for partition, query, offset in cut:
            if newest and partition in newest.partitions and newest.partitions[partition][1] == epochs[partition]:
                reason = truncated(partition, ends[partition], offset)
                log.error("stream %s: %s", view.stream.name, reason)
                stop_queries(zookeeper, view.stream, [query], "LOG_TRUNCATED", reason)

    def _tell_kafka(self, view: StreamView, seen: Seen, positions: dict[tuple[int, str], int]) -> None:
        """Commit the least committed positions of the running queries as offsets of group mars-<stream>. These are only
        for Kafka's tools: Mars never reads them, and does not wait for them."""
        least: dict[int, int] = {}
        for (partition, _), offset in positions.items():
            least[partition] = min(offset, least.get(partition, offset))
        if not least or (least == seen.told and not seen.tells.is_due()):
            return
        try:
            group = self.groups.get(view.stream.id)
            if group is None:
                group = self.groups[view.stream.id] = self.open_group(view.stream)
            while group.poll(0):
                pass  # the library keeps Kafka's answers to earlier commits until they are taken
            group.commit(offsets=[TopicPartition(view.stream.topic, p, o) for p, o in least.items()], asynchronous=True)
        except KafkaException as error:
            log.info("Kafka did not take the offsets: %s", error)
            return
        # It is never known here whether Kafka has heard them, so they are reported again even if nothing moves.
        seen.told = least
        seen.tells.begin()
