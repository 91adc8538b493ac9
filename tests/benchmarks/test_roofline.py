"""The roofline: its sums, and a short run in which each step does its work."""

import pytest

from benchmarks.roofline import describe, measure, rate
from benchmarks.steps import Step, Stopwatch, least_ms


def test_the_table_names_the_largest_gap_and_the_rates_that_follow():
    text = describe([Step("a", 30.0, 32.0, "x"), Step("b", 3.0, 18.0, "y")])
    assert "largest gap: b, 15.00 ms, 30% of all" in text
    assert "0.330 at least, 0.500 now; 2 cores full: 6.1 M tuples/s at most, 4.0 now" in text
    assert rate(20.0) == pytest.approx(10.0)


def test_a_stopwatch_adds_this_threads_time_alone():
    watch = Stopwatch()
    for _ in range(2):
        with watch:
            sum(range(200_000))
    assert 0 < watch.own_s < 1
    assert watch.server_s == 0
    assert least_ms(lambda: sum(range(200_000)), 0.05) <= watch.own_s * 1e3


@pytest.mark.services
@pytest.mark.timeout(120)
def test_every_step_runs(stack, tmp_path):
    steps = measure(stack.services, tmp_path, batches=2)
    assert [step.name for step in steps][:4] == ["broker: serve the fetch", "fetch", "check and decode", "parse"]
    assert len(steps) == 14
    assert all(step.cost_ms > 0 for step in steps if "broker" not in step.name)
