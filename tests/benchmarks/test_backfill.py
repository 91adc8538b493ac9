"""A live query beside a backfill: the arithmetic on made-up moments, and a short run of the whole."""

import json
import os

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.backfill import describe, measure
from benchmarks.backfill_figures import WARM, Phase, both, by_phase, moments, share, whole_from
from benchmarks.watch import BACK_S, since_s


def test_a_probe_belongs_to_the_phase_in_which_it_was_made():
    phases = [Phase(WARM, 0.0, 0.0), Phase("alone", 1_000.0, 0.0), Phase("paused", 3_000.0, 0.25)]
    made = np.array([500.0, 1_000.0, 2_999.0, 3_000.0, 4_000.0])
    found = by_phase(phases, 4_000.0, "live", made, np.array([9.0, 10.0, 30.0, np.nan, 8.0]))
    assert [(each.phase, each.seconds, each.share) for each in found] == [("alone", 2.0, 0.0), ("paused", 1.0, 0.25)]
    alone, paused = (each.freshness for each in found)
    assert (alone.samples, alone.p50, alone.max) == (2, 20.0, 30.0)
    assert (paused.samples, paused.missing) == (0, 1)


def test_freshness_along_the_run_is_by_the_second_of_making():
    made, fresh = np.array([1_000.0, 1_999.0, 2_000.0, 5_500.0]), np.array([10.0, 20.0, np.nan, 7.0])
    assert moments(1_000.0, made, fresh) == [(0, 15.0, 20.0), (4, 7.0, 7.0)]


def test_the_share_counts_old_tuples_alone():
    old = {0: 100, 1: 300}
    assert share({"0": None}, old) == 0.0
    assert share({"0": 900, "1": 100}, old) == 0.5
    assert share({"0": 100, "1": 301}, old) == 1.0


def test_a_backfill_answers_for_old_and_new_tuples():
    old = pa.table({"sip": ["a", "b"], "type": ["t", "t"], "timestamp": [60, 60], "count": [1, 2]})
    live = pa.table({"sip": ["a", "a", "a"], "type": ["t", "t", "t"], "timestamp": [61_000, 119_000, 120_000],
                     "count": [10, 20, 40]})
    assert {tuple(row.values()) for row in both(old, live, 60_000).to_pylist()} == {
        ("a", "t", 60_000, 31), ("a", "t", 120_000, 40), ("b", "t", 60_000, 2)}
    assert whole_from(live, 119_000)["count"].to_pylist() == [20, 40]


def test_a_reader_asks_as_far_back_as_the_partition_that_is_seen_least_far():
    assert since_s(100_000.0, {}) == 100 - BACK_S
    assert since_s(100_000.0, {"p0": 99_000, "p1": 40_000}) == 40 - BACK_S


@pytest.mark.services
@pytest.mark.e2e
@pytest.mark.timeout(240)
@pytest.mark.skipif(not os.environ.get("LONG_TESTS"), reason="takes half a minute: set LONG_TESTS=1")
def test_a_short_run_is_exact_in_every_phase(running, tmp_path):
    run, config = running
    found = measure(run, config, tmp_path, tuples=200_000, rate=4_000, warm_s=2.0, alone_s=3.0)
    assert found.wrong == []
    assert found.tuples_per_s > 1_000
    lines = {(each.query, each.phase): each.freshness for each in found.fresh}
    assert lines["live", "live query alone"].samples > 300
    assert lines["second", "backfill done"].samples > 100
    assert [name for name, spread in lines.items() if spread.missing] == []
    assert "all answers: EXACT" in describe(found)
    assert json.dumps(found.json())
