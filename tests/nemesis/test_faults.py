"""A fault that found nothing to strike is told apart from one that was survived."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from mars.errors import NotReadyError
from tests.nemesis import campaign, journal, totals
from tests.nemesis.faults import Fault, World, network, processes, queries
from tests.nemesis.instance import Instance


class FakeInstance:
    """Workers as they are given; signals are those of the real one."""

    signal, kill_workers = Instance.signal, Instance.kill_workers

    def __init__(self, folder, workers: dict[int, dict]) -> None:
        self.orders, self.known = folder, workers
        self.proxy = SimpleNamespace(set=lambda rule: None)
        self.servers = {name: SimpleNamespace(proxy=self.proxy) for name in network.SERVICES}
        self.api = SimpleNamespace(sql=self._sql)

    def workers(self, kind: str) -> dict[int, dict]:
        return self.known

    def leader(self) -> int | None:
        return next((pid for pid, worker in self.known.items() if worker["leader"]), None)

    def process(self, word: str) -> int | None:
        return next(iter(self.known), None)

    def ensure(self) -> None:
        pass

    ensure_services = ensure

    def _sql(self, statement: str) -> None:
        if not self.known:
            raise NotReadyError("nobody is there")


@pytest.fixture
def worker():
    """A process that can be killed."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield child.pid
    with contextlib.suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGKILL)
    child.wait()


def world(folder, workers: dict[int, dict]) -> World:
    stream = SimpleNamespace(name="s", queries={"a": "s_a"}, ends=dict, wait_for=lambda *_: True)
    return World(FakeInstance(folder, workers), stream, random.Random(3))


STRIKING = [processes.MapperKilled, processes.LeaderKilled, processes.LeaderStopped, processes.AllWorkersKilled,
            processes.PythonDaemonKilled, network.WorkerCutOff, network.ReducerCutOffForLong,
            network.LeaderCutOffFromZooKeeper, queries.QueryPaused, queries.QueryMadeAndDropped]


@pytest.mark.parametrize("kind", STRIKING)
def test_what_finds_nobody_has_not_struck(kind, tmp_path, worker):
    for workers, has_struck in (({}, False), ({worker: {"leader": True}}, True)):
        fault = kind(world(tmp_path, workers))
        fault.inflict()
        assert fault.took_effect() is has_struck


def test_a_process_that_has_ended_is_not_struck(tmp_path, worker):
    os.kill(worker, signal.SIGKILL)
    os.waitpid(worker, 0)
    fault = processes.MapperKilled(world(tmp_path, {worker: {"leader": True}}))
    fault.inflict()
    assert not fault.took_effect()


def test_a_crash_point_strikes_once_somebody_has_come_there(tmp_path):
    fault = processes.CrashPoint(world(tmp_path, {}))
    fault.inflict()
    assert not fault.took_effect()
    (tmp_path / fault.point).rename(tmp_path / f"{fault.point}.17")  # as mars.faults does
    assert fault.took_effect()


class Raises(Fault):
    hold_s = (0.0, 0.0)

    def inflict(self) -> None:
        raise ConnectionError("the other fault of the pair stands in the way")


class Strikes(Fault):
    hold_s = (0.0, 0.0)

    def inflict(self) -> None:
        pass


def test_the_journal_tells_which_faults_were_inflicted(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "BETWEEN_S", (0.0, 0.0))
    at = world(tmp_path, {})
    turns = iter([[Raises], [Raises, Strikes], [Strikes], [processes.MapperKilled]])
    monkeypatch.setattr(campaign.schedule, "choose", lambda *_: next(turns))
    monkeypatch.setattr(processes.MapperKilled, "hold_s", (0.0, 0.0))
    said: list[str] = []
    made = campaign.Campaign.__new__(campaign.Campaign)
    made.__dict__.update(journal=journal.Journal(tmp_path, 5), seed=5, index=0, kinds={}, instance=at.instance, limit_s=1.0,
                         stopping=threading.Event(), say=said.append, wrong=[])
    for _ in range(4):
        assert made._fault(at.stream)
    lines = journal.read(made.journal.path)
    assert [line["inflicted"] for line in lines] == [[False], [False, True], [True], [False]]
    assert made.index == made.journal.next_index() == 4
    assert sum("(not inflicted)" in line for line in said) == 3
    [counted] = totals.of_journal(made.journal.path)
    assert (counted.single, counted.paired) == (1, 1)
    assert {name: (kind.single, kind.paired, kind.missed) for name, kind in counted.kinds.items()} == {
        "Raises": (0, 0, 2), "Strikes": (1, 1, 0), "MapperKilled": (0, 0, 1)}
