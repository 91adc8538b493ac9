"""Runs of the real workers in a simulated cluster: nothing is lost, doubled, torn or left standing; planted bugs show."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.simulate import scripts
from tests.simulate.bugs import BUGS, RARE
from tests.simulate.hints import TRIES, seed_showing
from tests.simulate.hunt import first_broken
from tests.simulate.run import run
from tests.simulate.world import World

ROOT = Path(__file__).resolve().parents[2]
COUNT = 300


def end_with_parent() -> None:
    """A test that times out ends its process at once, and nobody else would end those that it has started."""
    threading.Thread(target=lambda: (multiprocessing.parent_process().join(), os._exit(1)), daemon=True).start()


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    """One for each core: a seed keeps one core busy."""
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn"), end_with_parent) as pool:
        yield pool


@pytest.mark.timeout(300)
def test_nothing_is_lost_doubled_or_left_standing(processes: ProcessPoolExecutor) -> None:
    results = list(processes.map(run, range(COUNT), chunksize=50))
    assert [str(result) for result in results if result.broken] == []
    assert sum(result.commits for result in results) > COUNT * 5
    assert sum(sum(result.faults.values()) for result in results) > COUNT * 5


@pytest.mark.parametrize("seed", [3, 14])
def test_one_seed_is_one_run(seed: int) -> None:
    one, other = run(seed), run(seed)
    assert one.steps > 100
    assert (one.fingerprint, one.steps, one.story, one.faults) == (other.fingerprint, other.steps, other.story, other.faults)


def test_one_seed_is_one_run_in_every_process() -> None:
    """Sets of text have another order in each process, on which nothing may depend: else a seed could not be replayed."""
    code = "from tests.simulate.run import run; print([run(seed).fingerprint for seed in range(30)])"
    found = [subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": number},
                            check=True, capture_output=True).stdout for number in ("1", "2")]
    assert found[0] == found[1]


@pytest.fixture(scope="module")
def found(processes: ProcessPoolExecutor) -> dict[str, Future]:
    """For each planted bug a seed that shows it. All are looked for at once, so that no core waits."""
    return {bug: processes.submit(seed_showing, bug) for bug in BUGS if bug not in RARE}


@pytest.mark.timeout(600)  # the first one waits for those that are looked for beside it
@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug not in RARE])
def test_each_planted_bug_turns_a_run_red(bug: str, found: dict[str, Future]) -> None:
    """Which seed shows it may change with every change of the code, so it is looked for if the known one does not."""
    seed = found[bug].result()
    assert seed is not None, f"not shown by {TRIES} seeds"
    assert run(seed).broken is None, "the seed is broken without the bug, too"


def fits_no_more(world: World) -> AbstractContextManager:
    """A patch that takes fewer arguments than the code by now gives: it ends whoever calls it."""
    return patch.object(scripts, "push", lambda store: 0)


def knows_another_key(world: World) -> AbstractContextManager:
    """A patch that looks for what is not kept any more."""
    return patch.object(scripts, "receive", lambda store, *_: store.generation["was renamed"])


@pytest.mark.parametrize("planted", [fits_no_more, knows_another_key])
def test_a_planted_bug_that_only_ends_workers_is_not_shown(planted: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """But a campaign calls such a run broken."""
    monkeypatch.setitem(BUGS, planted.__name__, planted)
    assert "Error(" in run(0, bug=planted.__name__).broken
    assert first_broken(planted.__name__, 0, 3) is None
