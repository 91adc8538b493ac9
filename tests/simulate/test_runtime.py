"""A run is made of the simulation's time and threads alone."""

from __future__ import annotations

import pytest

from mars.runtime.system import SYSTEM, SystemClock
from tests.simulate.run import run
from tests.simulate.scheduler import Scheduler
from tests.simulate.threads import runtime

SEEDS = 40


def test_no_run_sees_the_real_clock_or_starts_real_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is not handed the simulation's has the system's by default."""
    def never(*_: object) -> None:
        raise AssertionError("the system's own")

    for name in ("monotonic_s", "wall_ms", "thread_cpu_s", "sleep"):
        monkeypatch.setattr(SystemClock, name, never)
    for name in vars(SYSTEM).keys() - {"clock"}:
        monkeypatch.setitem(vars(SYSTEM), name, never)
    results = [run(seed) for seed in range(SEEDS)]
    assert [str(result) for result in results if result.broken] == []
    assert sum(result.faults["reader rests"] for result in results) > SEEDS, "readers lose the processor"


def test_who_waits_for_a_condition_goes_on_when_it_is_met_or_the_time_is_over() -> None:
    scheduler, found = Scheduler(1), []
    handed = runtime(scheduler)
    condition, there = handed.condition(), []

    def wait(seconds: float) -> None:
        with condition:
            found.append((bool(condition.wait_for(lambda: there, seconds)), scheduler.now - 1_000.0))

    def make() -> None:
        handed.clock.sleep(2.0)
        with condition:
            there.append(1)
            condition.notify_all()

    for name, work in {"soon": lambda: wait(1.0), "later": lambda: wait(5.0), "maker": make}.items():
        handed.start(work, name)
    scheduler.sleep(10.0)
    assert [(met, round(at_s, 2)) for met, at_s in found] == [(False, 1.0), (True, 2.0)]
    scheduler.close()
