"""The latency benchmark's arithmetic on made-up readings, and a short run of the whole."""

import json
import os

import numpy as np
import pytest

from benchmarks.latency import describe, loads, picture
from benchmarks.latency_bench import Bench
from benchmarks.latency_figures import Load, Spread, freshness, readable


def test_a_probe_is_seen_with_the_first_reading_that_counts_it():
    made = np.array([1000.0, 1010.0, 1020.0, 2010.0, 1015.0])
    partition = np.array([0, 0, 0, 0, 1])
    readings = [{"ms": 1100.0, "seen": [[1000, "p0", 2]]},
                {"ms": 1200.0, "seen": [[1000, "p0", 3], [1000, "p1", 1]]},
                {"ms": 2300.0, "seen": [[1000, "p0", 3]]}]
    found = freshness(made, partition, 1000, readings)
    assert found[[0, 1, 2, 4]].tolist() == [100.0, 90.0, 180.0, 185.0]
    assert np.isnan(found[3])


def test_a_window_is_readable_with_the_last_of_its_tuples():
    events = [{"ms": 10.0, "windows": {"0": 3}}, {"ms": 20.0, "windows": {"0": 2, "1000": 4}},
              {"ms": 30.0, "windows": {"2000": 1}}]
    assert readable(events, {0: 5, 1000: 4, 2000: 7}) == {0: 20.0, 1000: 20.0}


def test_shares_are_of_the_limit():
    assert [(load.name, load.rate) for load in loads([0.1, 0.5], [40_000.0], 1e6, 9.0, 1_000)] == [
        ("share_10", 1e5), ("share_50", 5e5), ("rate_40000", 4e4)]


def test_a_spread_counts_what_was_never_seen():
    spread = Spread.of(np.array([1.0, 2.0, 3.0, np.nan]))
    assert (spread.samples, spread.missing, spread.mean, spread.p50, spread.max) == (3, 1, 2.0, 2.0, 3.0)
    assert "1 NEVER SEEN" in spread.text()
    assert json.dumps(Spread.of(np.array([])).json())


@pytest.mark.skipif(not os.environ.get("LONG_TESTS"), reason="starts one more instance: set LONG_TESTS=1")
@pytest.mark.services
@pytest.mark.e2e
@pytest.mark.timeout(240)
def test_a_toy_load_is_exact_and_misses_no_probe(running, tmp_path):
    run, config = running
    with Bench(run, config, tmp_path) as bench:
        found = bench.measure(Load("toy", 2_000, 7.0, window_ms=500, watermark_ms=500))
    assert found.exact, found.difference
    assert found.sent == pytest.approx(14_000, rel=0.02)
    assert found.freshness.missing == 0
    assert found.freshness.samples > 300
    assert found.window_closed.samples >= 4
    assert found.window_closed.missing == 0
    assert 0 < found.freshness.p50 < found.tuple_closed.p50
    assert "EXACT" in describe(found)
    assert json.dumps(found.json())
    assert picture([found]).count("<rect") == 1 + 4 + 4  # the ground, the names, the bars
