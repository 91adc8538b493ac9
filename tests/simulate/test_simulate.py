"""Runs of the real workers in a simulated cluster: nothing is lost, doubled, torn or left standing; planted bugs show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulate.bugs import BUGS, RARE
from tests.simulate.hunt import first_broken
from tests.simulate.run import run

ROOT = Path(__file__).resolve().parents[2]
COUNT, GROUPS, TRIES = 2000, 8, 1500


@pytest.mark.parametrize("group", range(GROUPS))
def test_nothing_is_lost_doubled_or_left_standing(group: int) -> None:
    commits = faults = 0
    for seed in range(group, COUNT, GROUPS):
        result = run(seed)
        assert result.broken is None, str(result)
        commits, faults = commits + result.commits, faults + sum(result.faults.values())
    assert commits > COUNT // GROUPS * 5
    assert faults > COUNT // GROUPS * 5


@pytest.mark.parametrize("seed", [3, 14])
def test_one_seed_is_one_run(seed: int) -> None:
    one, other = run(seed), run(seed)
    assert one.steps > 100
    assert (one.fingerprint, one.steps, one.story, one.faults) == (other.fingerprint, other.steps, other.story, other.faults)


def test_one_seed_is_one_run_in_every_process() -> None:
    """Sets of text have another order in each process, on which nothing may depend: else a seed could not be replayed."""
    code = "from tests.simulate.run import run; print([run(seed).fingerprint for seed in range(60)])"
    found = [subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": number},
                            check=True, capture_output=True).stdout for number in ("1", "2")]
    assert found[0] == found[1]


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug not in RARE])
def test_a_planted_bug_turns_a_run_red(bug: str) -> None:
    """Which seed shows it changes with every change of the code, so it is looked for."""
    seed = first_broken(bug, 0, TRIES)
    assert seed is not None, f"none of {TRIES} seeds shows {bug}"
    assert run(seed).broken is None
