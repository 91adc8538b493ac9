"""Many readers: what their benchmark calls wrong, and a short run of the whole."""

import pytest

from benchmarks.latency_bench import Bench
from benchmarks.latency_figures import Load
from benchmarks.readers import faults, measure


def test_a_reader_that_goes_back_and_two_answers_of_one_commit_are_faults():
    good = [(0, 4, "t1 a", 1.0), (1, 4, "t1 a", 1.0), (1, 5, "t1 b", 1.0), (0, 5, "t2 c", 1.0)]
    assert faults(good) == []
    assert faults([*good, (1, 4, "t1 a", 1.0)]) == ["reader 1 went back from commit 5 to 4"]
    assert faults([*good, (0, 5, "t1 a", 1.0)]) == ["commit 5 has two answers"]


@pytest.mark.services
@pytest.mark.e2e
@pytest.mark.timeout(240)
def test_a_short_run_tells_how_many_answers_came(running, tmp_path):
    run, config = running
    with Bench(run, config, tmp_path, partitions=2) as bench:
        found = measure(bench, Load("read", 2_000, 10.0), 3, "probes")
    assert found["faults"] == []
    assert found["answers_per_s"] > 0
    assert found["ms"]["p50"] > 0
