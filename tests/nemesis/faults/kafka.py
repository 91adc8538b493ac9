"""What happens to the topic under load: partitions added, transactions left hanging, poison (N17, N18, N23)."""

from __future__ import annotations

from tests.nemesis.faults import Fault


class PartitionsAdded(Fault):
    number = "N17"
    hold_s = (1.0, 3.0)

    def inflict(self) -> None:
        before = self.stream.partitions
        self.stream.add_partitions(self.rng.randint(1, 2))
        self.has_struck = self.stream.partitions > before


class TransactionHanging(Fault):
    """A transaction stays open and holds the last stable offset of one partition, then it is aborted."""

    number = "N18"
    hold_s = (6.0, 12.0)

    def inflict(self) -> None:
        self.stream.order(f"hang {self.rng.uniform(3, 6):.1f}")


class Poisoned(Fault):
    number = "N23"
    hold_s = (0.5, 1.0)

    def inflict(self) -> None:
        self.stream.order("poison")
