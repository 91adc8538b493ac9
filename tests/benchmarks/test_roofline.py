"""The roofline: its sums, and a short run in which each step does its work."""

import threading
import time
from types import SimpleNamespace

import pytest

from benchmarks import steps
from benchmarks.roofline import describe, measure, rate
from benchmarks.steps import Step, Stopwatch, least_ms


def test_the_table_names_the_largest_gap_and_the_rates_that_follow():
    text = describe([Step("a", 30.0, 32.0, "x"), Step("b", 3.0, 18.0, "y")])
    assert "largest gap: b, 15.00 ms, 30% of all" in text
    assert "0.330 at least, 0.500 now; 2 cores full: 6.1 M tuples/s at most, 4.0 now" in text
    assert rate(20.0) == pytest.approx(10.0)


def test_a_stopwatch_adds_this_threads_time_alone():
    watch, burning = Stopwatch(), threading.Event()
    threading.Thread(target=lambda: [sum(range(20_000)) for _ in iter(burning.is_set, True)], daemon=True).start()
    began = time.thread_time()
    sums = []
    for count in (1_000_000, 10):  # the second costs next to nothing: it counts only if it is added
        with watch:
            sum(range(count))
            time.sleep(0.1)
        sums.append(watch.own_s)
    whole = time.thread_time() - began
    burning.set()
    assert 0 < sums[0] < sums[1] <= whole, "what it timed lies within what was timed around it"
    assert watch.server_s == 0


def test_the_least_is_of_all_calls_but_the_first(monkeypatch):
    clock = SimpleNamespace(now_s=0.0)
    clock.monotonic = clock.thread_time = lambda: clock.now_s
    monkeypatch.setattr(steps, "time", clock)
    costs_s = iter([0.001, 0.005, 0.003, 0.004])

    def step() -> None:
        clock.now_s += next(costs_s, 0.1)

    assert least_ms(step, 0.05) == pytest.approx(3.0)


@pytest.mark.services
@pytest.mark.timeout(120)
def test_every_step_runs(stack, tmp_path):
    found = measure(stack.services, tmp_path, batches=2)
    assert [step.name for step in found][:4] == ["broker: serve the fetch", "fetch", "check and decode", "parse"]
    assert len(found) == 14
    assert all(step.cost_ms > 0 for step in found if "broker" not in step.name)
