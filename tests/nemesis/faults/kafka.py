"""What happens to the topic under load: partitions added, transactions left hanging, poison (N17, N18, N23); and to its
leaders (N28)."""

from __future__ import annotations

from tests.nemesis.faults import Fault
from tests.nemesis.proxy import PASS, Rule


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


class BrokerDeposed(Fault):
    """A broker hears nothing of the controller any more for longer than its session: others lead its partitions, and it
    answers on as if it did. When it hears of it, it becomes a follower, and the preferred leader a while later."""

    number, weight = "N28", 4.0
    hold_s = (6.0, 12.0)
    needs = frozenset({"brokers"})

    def inflict(self) -> None:
        self.broker = self.rng.choice([broker for broker in self.instance.kafka.brokers if broker.quorum])
        self.broker.quorum.set(Rule(hold_requests=True, hold_answers=True))

    def heal(self) -> None:
        if hasattr(self, "broker"):
            self.broker.quorum.set(Rule(reset=True))
            self.broker.quorum.set(PASS)
