"""What the leader sees of the streams' topics: new partitions, idle partitions, topics made anew; and how far each
stream is, told to Kafka as a consumer group's offsets for the sake of lag tools.
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
OFFSETS_S = 2.0  # between comparisons of what is committed with the logs: each asks Redis for all positions
MOVED_S, MOVING_S, QUIET_S = 2.0, 0.25, 1.0  # looks at a topic that moved so lately, or not
IDLE_MARGIN_S = 0.002  # a partition is looked at again so long after it becomes idle, and not just before
MISSING_S = 10.0  # so long a broker that has just started may not know a topic
AWAY_S, AWAY_MAX_S = 0.5, 5.0  # a stream whose topic does not answer rests so long, so that others need not wait for it
TELL_ANEW_S = 180.0  # the offsets of a group that stands still: Kafka forgets them after a week, and may not have heard
EPOCHS_MAX = 16  # of a log's earlier epochs are told: each costs a request, once
CHECKS_BITS = 48  # so many checks fit under one leader's epoch


@dataclass
class Seen:
    """One stream's topic: the number of the last check, since when each high watermark has stood still, the epochs of each
    log, and what Kafka was told as the group's offsets. `away` is a rest while it does not answer, `compares` and `tells`
    are when that is done next."""

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
    """Looks at the topics of all streams; used by the leader's thread alone."""

    def __init__(self, connections: Connections, runtime: Runtime = SYSTEM) -> None:
        self.exchange, self.wire, self.open_group = connections.exchange, connections.wire, connections.open_group
        self.runtime, self.clock = runtime, runtime.clock
        self.seen: dict[int, Seen] = {}
        self.groups: dict[int, Consumer] = {}
        self.silent_since: float | None = None

    def silent_s(self) -> float:
        """For how long no topic of any stream has been answered for, though some were asked for."""
        return 0.0 if self.silent_since is None else self.clock.monotonic_s() - self.silent_since

    def forget_silence(self) -> None:
        """Begin anew: another one leads, and we may again."""
        self.silent_since = None

    def look(self, view: StreamView, candidate: Candidate, zookeeper: ZooKeeper) -> None:
        """One check of the stream's topic; none while one that did not answer (KafkaUnreachable) rests."""
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
        """One numbered check (rule 23): its number is published before the brokers are asked, and published as done only
        once whatever is new stands in the query set. No broker is believed alone: one that leads no more may not know."""
        stream = view.stream
        assert candidate.epoch is not None, "only who leads looks"
        # Above all numbers of every leader before; the clocks of two hosts would not promise that.
        seen.begun = max(seen.begun, candidate.epoch << CHECKS_BITS) + 1
        led = self.exchange.lead(stream.id, generation=view.generation, epoch=candidate.epoch)
        led.publish_facts({"begun": seen.begun})
        missing_since, seen.missing_since = seen.missing_since, None
        try:
            found = self.wire.newest_ends(stream.topic, stream.topic_id)
            if found is None:
                self.wire.topic(stream.topic, stream.topic_id)  # says whether it is gone, or another one by now
                return
        except UnknownTopic:
            seen.missing_since = missing_since or self.clock.monotonic_s()
            self._miss(view, seen.missing_since, zookeeper)
            return
        except TopicRecreated as error:
            stop_queries(zookeeper, stream, view.queries.running(), "TOPIC_RECREATED",
                         f"{error.title}: {error.detail}; {ANEW}")
            return
        # A query may know less than the query set: its start was looked up before a partition was added, and made after.
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
        """Forget all other streams: they were dropped. Closing waits for a Kafka that is away, and nobody waits for that."""
        for stream_id in self.seen.keys() - stream_ids:
            del self.seen[stream_id]
            if group := self.groups.pop(stream_id, None):
                self.runtime.start(group.close, "close group")

    def due_in_s(self, view: StreamView) -> float:
        """After how long the topic is to be looked at if nobody asks for it: soon while it moves, when a partition
        becomes idle for a query, and else rarely."""
        now, running = self.clock.monotonic_s(), view.queries.running().values()
        ages = [now - since for _, since in self.seen[view.stream.id].quiet.values()]
        if not running or not ages:
            return QUIET_S
        idles = {query.plan.idle_ms / 1000 for query in running if query.plan.idle_ms is not None}
        to_idle = [idle + IDLE_MARGIN_S - age for idle in idles for age in ages if idle + IDLE_MARGIN_S > age]
        return min([MOVING_S if min(ages) < MOVED_S else QUIET_S, *to_idle])

    def _miss(self, view: StreamView, since: float, zookeeper: ZooKeeper) -> None:
        """The broker has no such topic. One that has just started may say so too, so it is given some time, and anew after
        each time that it has not answered; then no other broker may know it either."""
        stream = view.stream
        if self.clock.monotonic_s() - since > MISSING_S and self.wire.newest(stream.topic, stream.topic_id) is None:
            stop_queries(zookeeper, view.stream, view.queries.running(), "DATA_LOSS",
                         f"topic {view.stream.topic} was deleted: what had not been read of it is lost; closed windows stay"
                         f" readable; {ANEW}")

    def _add_partitions(self, view: StreamView, candidate: Candidate, zookeeper: ZooKeeper, new: list[int]) -> None:
        """Enter partitions that were added later: every query starts there at the first record (rule 18)."""
        starts = self.wire.start_offsets(view.stream.topic, new)
        queries = QuerySet.load(view.queries.dump())  # the view is not ours to change
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
        """The epochs of all logs. Earlier ones are asked for only where the leader epoch is another than last time: while
        a leader leads, they do not change."""
        new = {p: epoch for p, (_, epoch) in topic.partitions.items()
               if p not in seen.logs or seen.logs[p].current != epoch}
        ends: dict[int, list[tuple[int, int]]] = {p: [] for p in new}
        asked = {p: epoch - 1 for p, epoch in new.items() if epoch > 0}
        for _ in range(EPOCHS_MAX):
            if not asked:
                break
            found = self.wire.epoch_ends(topic.name, asked)
            # Two epochs with one end: the second one is before all that the log knows, and there is none before it.
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
        """Stop queries that have counted past the end of a log: one that was set back whole, its epochs too, which owners
        cannot notice. A high watermark may lag behind for a moment after the leader has changed: only the end of the
        leader's own log tells, and only if no broker knows a later leader: one that leads no more may not have heard of it,
        and another one tells of an earlier epoch where the next one began."""
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
        """Commit the least committed positions of the running queries as offsets of group mars-<stream>. It is for
        people's tools alone: Mars never reads it, and does not wait for it."""
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
                pass  # what Kafka answered to earlier ones is kept until it is taken, for as long as we lead
            group.commit(offsets=[TopicPartition(view.stream.topic, p, o) for p, o in least.items()], asynchronous=True)
        except KafkaException as error:
            log.info("Kafka did not take the offsets: %s", error)
            return
        # Whether Kafka has heard it is never known here: it is told anew though nothing moves.
        seen.told = least
        seen.tells.begin()
