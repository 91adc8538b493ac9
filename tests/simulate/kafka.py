"""A topic of the simulation: partitions of records with unique ids, transactions, and the readers that the code gets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from mapper.batch import Messages
from mapper.fetch import Range, RangeTooLarge
from mars.adapters.kafka.cluster import TopicInfo
from mars.adapters.kafka.errors import KafkaUnreachable, LogTruncated, OffsetOutOfRange, TopicRecreated
from tests.simulate.cells import cell
from tests.simulate.faults import Network
from tests.simulate.log import Log
from tests.simulate.scheduler import Scheduler, Source

FUTURE_LIMIT_MS, OWN_LIMIT_MS = 200, 350  # the setting, and what some queries have instead
BEHIND_MS = (400, 1_800)  # how far behind what is written now some records are
TOO_LARGE = 0.01  # so often a range holds more bytes than was to be expected


@dataclass(frozen=True)
class Moved:
    """The logs have moved at this moment: how long each is since then, and whether no transaction is open."""

    at_s: float
    ends: tuple[int, ...]
    is_stable: bool


class Topic(Source):
    """All partitions; whoever waits for tuples waits for this."""

    def __init__(self, scheduler: Scheduler, network: Network, partitions: int) -> None:
        super().__init__(scheduler)
        self.network, self.id = network, "topic"
        self.logs = [Log() for _ in range(partitions)]
        self.ids = 0
        self.written: dict[int, int] = {}  # id -> Kafka timestamp of the record, in ms
        self.ahead: dict[int | None, set[int]] = {None: set(), OWN_LIMIT_MS: set()}  # ids of future tuples, by limit
        self.unreadable: set[int] = set()
        self.disordered = False  # tuples ahead of time make others of their partition late
        self.idle_by_stable = False
        self.deposed: dict[int, int] = {}  # where a leader that leads no more and does not know it sees the end
        self.one_is_asked = False
        self.throttled_is_end = False
        self.unheard: set[str] = set()  # nodes that Kafka does not hear
        self.moves: list[Moved] = []

    def append(self, partition: int, time: int) -> None:
        """One record, visible at once unless a transaction is open before it."""
        log = self.logs[partition]
        self._number(time)
        closed = log.stable == len(log.records)
        log.records.append((self.ids, time))
        log.cells.append(cell(self.ids, time))
        log.stable += closed
        self._moved()

    def hold(self, partition: int, times: list[int]) -> Callable[[bool], None]:
        """Records of a transaction that is left open; call the result with True to commit it, False to abort it."""
        log = self.logs[partition]
        first = len(log.records)
        for time in times:
            self._number(time)
            log.records.append((self.ids, time))
            log.cells.append(cell(self.ids, time))
        self._moved()

        def end(commits: bool) -> None:
            if not commits:
                log.records[first:first + len(times)] = [None] * len(times)
                log.cells[first:first + len(times)] = [0] * len(times)
            log.records.append(None)
            log.cells.append(0)
            log.stable = len(log.records)
            self._moved()

        return end

    def _moved(self) -> None:
        """Something was written, or can be read now."""
        self.moves.append(Moved(self.scheduler.now, tuple(len(log.records) for log in self.logs),
                                all(log.stable == len(log.records) for log in self.logs)))
        self.notify()

    def _number(self, time: int) -> None:
        """The next id, of a record that is written now."""
        self.ids += 1
        self.written[self.ids] = int(self.scheduler.now * 1000)
        for limit, ahead in self.ahead.items():
            if time > self.written[self.ids] + (limit or FUTURE_LIMIT_MS):
                ahead.add(self.ids)

    def asked(self) -> None:
        """A call of some node: KafkaUnreachable if it is lost."""
        self.scheduler.step()
        if self.scheduler.current.node in self.unheard or self.network.fate("kafka"):
            raise KafkaUnreachable("topic", -1, "a lost call")

    def make_anew(self) -> None:
        """The name stands for another topic, of which nothing is read; `logs` stay what was."""
        self.id += "'"

    @property
    def is_anew(self) -> bool:
        """Is it not the one that the stream was made of?"""
        return self.id != "topic"

    def place(self, id_: int) -> tuple[int, int, int]:
        """Partition, offset and event time of a record."""
        return next((p, offset, record[1]) for p, log in enumerate(self.logs)
                    for offset, record in enumerate(log.records) if record and record[0] == id_)


class Records(Messages):
    """Messages of the simulation: `records` of (offset, id, time, Kafka timestamp)."""

    def __init__(self, records: list[tuple[int, int, int, int]]) -> None:
        self.records = records
        self.length = self  # of which the sum is asked for

    def __len__(self) -> int:
        return len(self.records)

    def sum(self) -> int:
        """All bytes: one for each message."""
        return len(self.records)


class Reader:
    """Stands for what mapper.fetch.open_reader gives. A topic that was made anew is not read at all."""

    def __init__(self, topic: Topic, topic_id: str) -> None:
        self.topic, self.topic_id = topic, topic_id

    def _ask(self) -> None:
        self.topic.asked()
        if self.topic.id != self.topic_id:
            raise TopicRecreated("topic", self.topic_id, self.topic.id)

    def partitions(self) -> list[int]:
        return list(range(len(self.topic.logs)))

    def last_stable_offsets(self) -> dict[int, int]:
        self._ask()
        return {p: log.stable for p, log in enumerate(self.topic.logs)}

    def await_tuples(self, ends: dict[int, int], epochs: dict[int, int], wait_ms: int, offsets: int = 1) -> dict[int, int]:
        logs, scheduler = self.topic.logs, self.topic.scheduler
        until = scheduler.now + wait_ms / 1000
        while scheduler.now < until and all(logs[p].stable < end + offsets for p, end in ends.items()):
            scheduler.sleep(until - scheduler.now, self.topic)
        found = self.last_stable_offsets()
        return {p: found[p] for p in ends}

    def read(self, partition: int, start: int, end: int, limit_bytes: int, last_epoch: int = -1,
             should_stop: Callable[[], bool] = bool, range_bytes_max: float = math.inf) -> Range | None:
        log = self.topic.logs[partition]
        self._check(log, partition, start, last_epoch)
        if end > log.stable:
            assert log.longest >= end, "a claim past the last stable offset"
            self.topic.scheduler.sleep(0.2, self.topic)  # perhaps it is as long again
            self._check(log, partition, start, last_epoch)
        if end > log.stable:
            raise KafkaUnreachable("topic", partition, "the log is shorter than it was")
        if self.topic.scheduler.die() < TOO_LARGE and start + 1 < end and range_bytes_max < math.inf:
            raise RangeTooLarge(1, 1)
        if self.topic.throttled_is_end and self.topic.scheduler.die() < 0.2:
            end = start + (end - start) // 2
        log.read_to = max(log.read_to, end)
        records = [(offset, *record, self.topic.written[record[0]])
                   for offset, record in enumerate(log.records[start:end], start) if record]
        epoch = log.epoch_before(end)
        return Range(partition, start, end, Records(records), epoch, (epoch, end))

    def _check(self, log: Log, partition: int, start: int, last_epoch: int) -> None:
        """As the broker does it: is the offset there, and the log the one that was read up to it?"""
        self._ask()
        if not log.first <= start <= len(log.records):
            log.refused |= start > len(log.records)
            raise OffsetOutOfRange("topic", partition, start, log.first, len(log.records))
        epoch, end = log.end_of(last_epoch) if last_epoch >= 0 else (last_epoch, start)
        if epoch < last_epoch or end < start:
            raise LogTruncated("topic", partition, start, epoch, end)

    def close(self) -> None:
        """Nothing to end."""


class Wire:
    """Stands for mars.adapters.kafka.wire.Wire, as the leader uses it."""

    def __init__(self, log: Topic) -> None:
        self.log = log

    def _ask(self) -> None:
        self.log.asked()

    def topic(self, name: str, topic_id: str) -> TopicInfo:
        self._ask()
        if self.log.id != topic_id:
            raise TopicRecreated(name, topic_id, self.log.id)
        return TopicInfo(name, self.log.id, {p: (1, log.epoch) for p, log in enumerate(self.log.logs)})

    def epoch_ends(self, topic: str, epochs: dict[int, int]) -> dict[int, tuple[int, int]]:
        self._ask()
        return {p: self.log.logs[p].end_of(epoch) for p, epoch in epochs.items()}

    def newest_ends(self, name: str, topic_id: str) -> tuple[TopicInfo, dict[int, int]]:
        info, logs = self.topic(name, topic_id), self.log.logs
        self._ask()
        ends = {p: logs[p].stable if self.log.idle_by_stable else len(logs[p].records) for p in info.partitions}
        return info, ends | {p: self.log.deposed[p] for p in ends.keys() & self.log.deposed.keys() if self.log.one_is_asked}

    def newest(self, name: str, topic_id: str) -> TopicInfo:
        return self.topic(name, topic_id)

    def start_offsets(self, topic: str, partitions: list[int]) -> dict[int, int]:
        self._ask()
        return {p: self.log.logs[p].first for p in partitions}


class Ends:
    """Stands for api.statements.offsets.EndOffsets, as why an answer is empty is told from it."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic

    def read(self, stream: object, partitions: dict[int, int]) -> dict[int, int]:
        return {p: self.topic.logs[p].stable for p in partitions}


class Group:
    """Stands for the consumer that tells Kafka how far a stream is; nobody reads it."""

    def __init__(self, stream: object) -> None:
        pass

    def poll(self, timeout: float) -> None:
        """Nothing was answered."""

    def commit(self, **_: object) -> None:
        """Not kept."""

    def close(self) -> None:
        """Nothing to end."""
