"""The network by proxies: slow, silent, broken off, half deaf, and single workers that are cut off (N11-N13)."""

from __future__ import annotations

from reducer.fitness import UNFIT_S
from tests.nemesis.faults import Fault
from tests.nemesis.nodes import COUNT
from tests.nemesis.proxy import PASS, Rule

SERVICES = ("kafka", "redis", "zookeeper")


class _Network(Fault):
    """A rule for one service, chosen by chance, or for all three."""

    hold_s = (2.0, 9.0)
    number = "N11"
    weight = 2.0

    def rule(self) -> Rule:
        raise NotImplementedError

    def inflict(self) -> None:
        self.services = self.choose()
        rule = self.rule()
        self.has_struck = rule.pids is None or bool(rule.pids)
        for service in self.services:
            self.instance.servers[service].proxy.set(rule)

    def choose(self) -> list[str]:
        return [self.rng.choice(SERVICES)]

    def heal(self) -> None:
        for service in getattr(self, "services", []):
            self.instance.servers[service].proxy.set(PASS)


class Latency(_Network):
    def rule(self) -> Rule:
        return Rule(latency_s=self.rng.uniform(0.01, 0.15))


class Stall(_Network):
    def rule(self) -> Rule:
        return Rule(hold_requests=True, hold_answers=True)


class Reset(_Network):
    """Every connection is broken off again and again."""

    hold_s = (0.1, 5.0)

    def rule(self) -> Rule:
        return Rule(reset=True)


class AnswersHeld(_Network):
    """What was asked is done, and nobody hears of it: outcomes are unknown."""

    def rule(self) -> Rule:
        return Rule(hold_answers=True)

    def heal(self) -> None:
        # Held answers must not come late: whoever waited has an error and must find out.
        for service in getattr(self, "services", []):
            self.instance.servers[service].proxy.set(Rule(reset=True))
        super().heal()


class RequestsHeld(_Network):
    """They come late, after others have asked the same."""

    def rule(self) -> Rule:
        return Rule(hold_requests=True)


class CutAfterBytes(_Network):
    """Each connection is broken off somewhere in a request."""

    weight = 3.0

    def rule(self) -> Rule:
        return Rule(cut_after=int(10 ** self.rng.uniform(1, 5)))


class WorkerCutOff(_Network):
    """One worker does not see one service, or two of them; the others see all (N12)."""

    number, weight = "N12", 4.0

    def choose(self) -> list[str]:
        return self.rng.sample(SERVICES, self.rng.choice((1, 1, 2)))

    def rule(self) -> Rule:
        pids = sorted(self.instance.workers(self.rng.choice(("mapper", "reducer"))))
        cut = frozenset([self.rng.choice(pids)] if pids else [])
        return self.rng.choice((Rule(hold_requests=True, hold_answers=True, pids=cut), Rule(hold_answers=True, pids=cut),
                                Rule(reset=True, pids=cut)))


class ReducerCutOffForLong(_Network):
    """A reducer, mostly the leader, sees Kafka or Redis no more for so long that it must make room for another one."""

    number, hold_s = "N12", (UNFIT_S + 2.0, UNFIT_S + 8.0)

    def choose(self) -> list[str]:
        return [self.rng.choice(("kafka", "redis"))]

    def rule(self) -> Rule:
        pids = sorted(self.instance.workers("reducer"))
        leader = self.instance.leader() if self.rng.random() < 0.7 else None
        cut = leader or (self.rng.choice(pids) if pids else None)
        return Rule(hold_requests=True, hold_answers=True, pids=frozenset([cut] if cut else []))


class NodesCutOff(Fault):
    """The cables of one or two of the three nodes are pulled out: their workers see nothing, and nobody is told."""

    number, weight = "N11", 3.0
    hold_s = (2.0, 10.0)
    needs = frozenset({"nodes"})

    def inflict(self) -> None:
        self.cut = self.rng.sample(range(1, COUNT + 1), self.rng.choice((1, 1, 2)))
        for number in self.cut:
            self.instance.nodes.pull(number)

    def heal(self) -> None:
        for number in getattr(self, "cut", []):
            self.instance.nodes.plug(number)


class LeaderCutOffFromZooKeeper(_Network):
    """The leader and its key parts go on without ZooKeeper until their session may be over."""

    number = "N12"

    def choose(self) -> list[str]:
        return ["zookeeper"]

    def rule(self) -> Rule:
        leader = self.instance.leader()
        return Rule(hold_requests=True, hold_answers=True, pids=frozenset([leader] if leader else []))
