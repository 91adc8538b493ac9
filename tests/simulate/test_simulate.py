"""Runs of the real workers in a simulated cluster: nothing is lost, doubled, torn or left standing; planted bugs show."""

from __future__ import annotations

import pytest

from tests.simulate.bugs import BUGS, RARE
from tests.simulate.run import run

COUNT, GROUPS, TRIES = 120, 8, 100


@pytest.mark.parametrize("group", range(GROUPS))
def test_nothing_is_lost_doubled_or_left_standing(group: int) -> None:
    runs = [run(seed) for seed in range(group, COUNT, GROUPS)]
    assert [str(result) for result in runs if result.broken] == []
    assert sum(result.commits for result in runs) > 100
    assert sum(sum(result.faults.values()) for result in runs) > 50


@pytest.mark.parametrize("seed", [3, 14])
def test_one_seed_is_one_run(seed: int) -> None:
    one, other = run(seed), run(seed)
    assert one.commits > 0
    assert (one.fingerprint, one.steps, one.story, one.faults) == (other.fingerprint, other.steps, other.story, other.faults)


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug not in RARE])
def test_a_planted_bug_turns_a_run_red(bug: str) -> None:
    """Which seed shows it changes with every change of the code, so it is looked for."""
    seed = next((seed for seed in range(TRIES) if run(seed, bug=bug).broken), None)
    assert seed is not None, f"none of {TRIES} seeds shows {bug}"
    assert run(seed).broken is None
