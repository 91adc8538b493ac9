"""Processes that die or sleep: workers, the leader, Spark's parts, the whole instance, services (N1-N5, N13, N14)."""

from __future__ import annotations

import signal
from typing import ClassVar

from mars import faults as crash_points
from tests.nemesis.faults import Fault


class _Worker(Fault):
    """A worker of some kind, chosen by chance."""

    kind = "mapper"
    signals = signal.SIGKILL

    def inflict(self) -> None:
        pids = sorted(self.instance.workers(self.kind))
        self.pid = self.rng.choice(pids) if pids else None
        self.has_struck = self.instance.signal(self.pid, self.signals)

    def heal(self) -> None:
        self.instance.signal(getattr(self, "pid", None), signal.SIGCONT)


class MapperKilled(_Worker):
    number, weight = "N1", 3.0
    hold_s = (0.2, 1.0)


class MapperStopped(_Worker):
    """Longer than its lease, most of the time: a zombie wakes up."""

    number, weight = "N2", 3.0
    hold_s = (2.0, 8.0)
    signals = signal.SIGSTOP


class ReducerKilled(_Worker):
    number, weight, kind = "N3", 3.0, "reducer"
    hold_s = (0.2, 1.0)


class ReducerStopped(_Worker):
    """Longer than its session, most of the time."""

    number, weight, kind = "N3", 3.0, "reducer"
    hold_s = (3.0, 9.0)
    signals = signal.SIGSTOP


class LeaderKilled(_Worker):
    number = "N4"
    hold_s = (0.2, 1.0)

    def inflict(self) -> None:
        self.pid = self.instance.leader()
        self.has_struck = self.instance.signal(self.pid, self.signals)


class LeaderStopped(LeaderKilled):
    number = "N4"
    hold_s = (3.0, 9.0)
    signals = signal.SIGSTOP


class AllWorkersKilled(Fault):
    number = "N1"
    hold_s = (0.2, 1.0)

    def inflict(self) -> None:
        self.has_struck = self.instance.kill_workers("mapper", "reducer")


class CrashPoint(Fault):
    """The next process that comes between two steps of the protocol dies there; another may meanwhile die elsewhere."""

    number, weight = "N1", 6.0
    hold_s = (2.0, 5.0)
    points: ClassVar[list[str]] = [point for point in crash_points.POINTS if not point.startswith("leader.")]

    def inflict(self) -> None:
        self.point = self.rng.choice(self.points)
        (self.instance.orders / self.point).write_text("")

    def took_effect(self) -> bool:
        return not (self.instance.orders / self.point).exists()  # whoever dies there renames it

    def heal(self) -> None:
        for order in self.instance.orders.iterdir():
            order.unlink(missing_ok=True)


class CrashPointOfLeader(CrashPoint):
    """The same in a recovery, which an emptied Redis brings about."""

    number, weight = "N4", 3.0
    points: ClassVar[list[str]] = ["leader.generation_raised", "leader.commits_read", "leader.installed"]

    def inflict(self) -> None:
        super().inflict()
        self.instance.redis.client().flushall()


class _Part(Fault):
    """A process of Spark's by a word of its command line; its parts come back by themselves."""

    word = ""
    hold_s = (0.5, 2.0)

    def inflict(self) -> None:
        self.has_struck = self.instance.signal(self.instance.process(self.word), signal.SIGKILL)


class ServerKilled(_Part):
    """Spark's driver and the API; the supervisor starts them again, and all workers with them."""

    number, word = "N1", "api.instance.server"


class ExecutorKilled(_Part):
    """The JVM that runs the tasks."""

    number, word = "N1", "org.apache.spark.deploy.SparkSubmit"


class PythonDaemonKilled(_Part):
    """The parent of Spark's Python processes."""

    number, word = "N1", "api.instance.jobs_daemon"


class InstanceKilled(Fault):
    """The supervisor, and with it all of Mars; somebody starts it again."""

    number = "N1"
    hold_s = (1.0, 3.0)

    def inflict(self) -> None:
        self.has_struck = self.instance.signal(self.instance.mars.pid, signal.SIGKILL)
        self.instance.mars.stop(0)


class InstanceRestarted(Fault):
    """A graceful stop and a start."""

    number = "N26"
    hold_s = (0.5, 2.0)

    def inflict(self) -> None:
        self.has_struck = self.instance.mars.exit_code() is None
        self.instance.mars.stop(25)


class _Service(Fault):
    service = ""
    signals = signal.SIGKILL

    def inflict(self) -> None:
        self.has_struck = self.instance.servers[self.service].signal(self.signals)


class BrokerKilled(_Service):
    number, service = "N14", "kafka"
    hold_s = (0.5, 3.0)


class BrokerStopped(_Service):
    number, service, signals = "N14", "kafka", signal.SIGSTOP
    hold_s = (2.0, 12.0)


class RedisKilled(_Service):
    number, service = "N5", "redis"
    hold_s = (0.2, 3.0)


class RedisStopped(_Service):
    number, service, signals = "N5", "redis", signal.SIGSTOP
    hold_s = (2.0, 12.0)


class ZooKeeperKilled(_Service):
    number, service = "N13", "zookeeper"
    hold_s = (0.2, 6.0)


class ZooKeeperStopped(_Service):
    """Shorter or longer than a session."""

    number, service, signals = "N13", "zookeeper", signal.SIGSTOP
    hold_s = (2.0, 9.0)
