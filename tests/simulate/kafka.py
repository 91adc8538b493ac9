"""A topic of the simulation: partitions of records with unique ids, transactions, and the readers that the code gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

from mapper.batch import Messages
from mapper.fetch import Range
from mars.errors import NotReadyError
from tests.simulate.faults import Network
from tests.simulate.scheduler import Scheduler


@dataclass
class Log:
    """A partition: (id, event time) by offset, None for an offset without a visible record, and the last stable offset."""

    records: list[tuple[int, int] | None] = field(default_factory=list)
    stable: int = 0


class Topic:
    """All partitions; `made` has every visible record's (partition, offset, time) by id."""

    def __init__(self, scheduler: Scheduler, network: Network, partitions: int) -> None:
        self.scheduler, self.network = scheduler, network
        self.logs = [Log() for _ in range(partitions)]
        self.ids = 0
        self.ahead: set[int] = set()
        self.unreadable: set[int] = set()  # whoever reads them dies
        self.disordered = False  # tuples ahead of time make others of their partition late
        self.idle_by_stable = False
        self.throttled_is_end = False

    def append(self, partition: int, time: int, ahead: bool = False) -> None:
        """One record, visible at once unless a transaction is open before it; `ahead` if its time is not yet."""
        log = self.logs[partition]
        self.ids += 1
        if ahead:
            self.ahead.add(self.ids)
        closed = log.stable == len(log.records)
        log.records.append((self.ids, time))
        log.stable += closed

    def hold(self, partition: int, times: list[int]) -> Callable[[bool], None]:
        """Records of a transaction that is left open; call the result with True to commit it, False to abort it."""
        log = self.logs[partition]
        first = len(log.records)
        for time in times:
            self.ids += 1
            log.records.append((self.ids, time))

        def end(commits: bool) -> None:
            if not commits:
                log.records[first:first + len(times)] = [None] * len(times)
            log.records.append(None)
            log.stable = len(log.records)

        return end

    def visible(self) -> dict[int, tuple[int, int, int]]:
        """id -> (partition, offset, event time) of all that a read-committed reader sees."""
        return {record[0]: (p, offset, record[1]) for p, log in enumerate(self.logs)
                for offset, record in enumerate(log.records[:log.stable]) if record}


class Records(Messages):
    """Messages of the simulation: `records` of (offset, id, time)."""

    def __init__(self, records: list[tuple[int, int, int]]) -> None:
        self.records = records
        self.length = SimpleNamespace(sum=lambda: len(records))

    def __len__(self) -> int:
        return len(self.records)


class Reader:
    """Stands for what mapper.read.open_reader gives."""

    topic: Topic  # set for each run

    def partitions(self) -> list[int]:
        return list(range(len(self.topic.logs)))

    def last_stable_offsets(self) -> dict[int, int]:
        self.topic.scheduler.step()
        if self.topic.network.fate("kafka"):
            raise NotReadyError("Kafka does not answer")
        return {p: log.stable for p, log in enumerate(self.topic.logs)}

    def await_tuples(self, ends: dict[int, int], epochs: dict[int, int], wait_ms: int, offsets: int = 1) -> dict[int, int]:
        logs = self.topic.logs
        self.topic.scheduler.sleep(wait_ms / 1000, lambda: any(logs[p].stable >= end + offsets for p, end in ends.items()))
        found = self.last_stable_offsets()
        return {p: found[p] for p in ends}

    def read(self, partition: int, start: int, end: int, limit_bytes: int, last_epoch: int = -1,
             should_stop: Callable[[], bool] = bool) -> Range | None:
        scheduler = self.topic.scheduler
        scheduler.step()
        if self.topic.network.fate("kafka"):
            raise NotReadyError("Kafka does not answer")
        log = self.topic.logs[partition]
        assert end <= log.stable, "a claim past the last stable offset"
        if self.topic.throttled_is_end and scheduler.random.random() < 0.2:
            end = start + (end - start) // 2
        records = [(offset, *log.records[offset]) for offset in range(start, end) if log.records[offset]]
        return Range(partition, start, end, Records(records), 0)

    def close(self) -> None:
        """Nothing to end."""


class Admin:
    """Stands for mars.adapters.kafka_admin.KafkaAdmin."""

    topic: Topic  # set for each run

    def __init__(self, address: str) -> None:
        self.address = address

    def _ask(self) -> None:
        self.topic.scheduler.step()
        if self.topic.network.fate("kafka"):
            raise NotReadyError("Kafka does not answer")

    def describe(self, topic: str) -> SimpleNamespace:
        self._ask()
        return SimpleNamespace(id="topic", partitions=tuple(range(len(self.topic.logs))))

    def high_watermarks(self, topic: str, partitions: tuple[int, ...]) -> dict[int, int]:
        self._ask()
        logs = self.topic.logs
        return {p: logs[p].stable if self.topic.idle_by_stable else len(logs[p].records) for p in partitions}

    def start_offsets(self, topic: str, partitions: list[int]) -> dict[int, int]:
        self._ask()
        return dict.fromkeys(partitions, 0)


class Group:
    """Stands for the consumer that tells Kafka how far a stream is; nobody reads it."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def commit(self, **_: object) -> None:
        """Not kept."""
