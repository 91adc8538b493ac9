"""What producers do in the simulation: records, bursts, transactions, new partitions."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulate.kafka import BEHIND_MS
from tests.simulate.world import World

PARTITIONS_MAX, PILE_MAX = 4, 60
BURST_MS, AHEAD_MS = 300, (150, 450)


class Load:
    """Producers of one run."""

    def __init__(self, world: World) -> None:
        self.world, self.random = world, world.random
        self.open: list[tuple[int, Callable[[bool], None]]] = []
        self.last_ms = 0

    def _now(self) -> int:
        return int(self.world.scheduler.now * 1000)

    def _partition(self) -> int:
        return self.random.randrange(len(self.world.topic.logs))

    def _append(self, p: int, time: int) -> None:
        self.world.topic.append(p, time)
        self.last_ms = max(self.last_ms, time)

    def produce(self) -> None:
        p, ahead = self._partition(), 0
        if self.world.topic.disordered and self.random.random() < 0.3:
            ahead = self.random.randint(*AHEAD_MS)
        elif self.world.plan.aggregation.late != "DROP" and self.random.random() < 0.4:
            ahead = -self.random.randint(*BEHIND_MS)  # so little that LATE UPDATE counts it still
        for _ in range(self.random.randint(1, 5)):
            self._append(p, self._now() + ahead)

    def pile(self) -> None:
        """Much at once, which takes many claims; who comes late has it to catch up with."""
        for p, _ in enumerate(self.world.topic.logs):
            for _ in range(self.random.randint(0, PILE_MAX)):
                self._append(p, self._now())

    def burst(self) -> None:
        """Records of a while that come all at once, perhaps after a silence, in every partition, all later than any before:
        none of them may be late, whichever partition is read first."""
        self.world.scheduler.sleep(self.random.choice((0.0, 0.0, 0.6)))
        now = self._now()
        first = max(self.last_ms + 1, now - BURST_MS)
        for p, _ in enumerate(self.world.topic.logs):
            for time in sorted(self.random.randint(first, max(first, now)) for _ in range(self.random.randint(1, 3))):
                self._append(p, time)

    def transaction(self) -> str:
        p = self._partition()
        if p in {q for q, _ in self.open}:
            return ""
        self.open.append((p, self.world.topic.hold(p, [self._now()] * self.random.randint(1, 3))))
        self.last_ms = max(self.last_ms, self._now())
        return f"a transaction is open in partition {p}"

    def end_transaction(self) -> str:
        if not self.open:
            return ""
        p, end = self.open.pop(0)
        commits = self.random.random() < 0.7
        end(commits)
        return f"the transaction in partition {p} is {'committed' if commits else 'aborted'}"

    def add_partition(self) -> str:
        logs = self.world.topic.logs
        if len(logs) >= PARTITIONS_MAX:
            return ""
        logs.append(type(logs[0])())
        for _ in range(self.random.randint(0, 3)):
            self._append(len(logs) - 1, self._now())
        # The others go on, and windows close by them before everybody has heard of the new one.
        for p, _ in enumerate(logs[:-1]):
            self.world.scheduler.sleep(self.random.uniform(0.0, 0.2))
            self._append(p, self._now())
        return f"partition {len(logs) - 1} is added"

    def wait(self) -> None:
        self.world.scheduler.sleep(self.random.uniform(0.2, 1.0))
