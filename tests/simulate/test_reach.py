"""Simulated runs call what the workers do: each function that no seed calls stands in unreached.py, with its reason."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest

from tests.simulate import hints
from tests.simulate.reach import functions, reached
from tests.simulate.unreached import FOLDERS, SEEDS_MAX, UNREACHED, missing

CHUNK = 25


@pytest.fixture(scope="module")
def found() -> set[str]:
    """What the known seeds reach; more of them only while something is missing, as which one reaches it changes with the
    code."""
    seen = reached(hints.known()["reach"])
    if not missing(seen):
        return seen
    for first in range(0, SEEDS_MAX, CHUNK):
        seen |= reached(range(first, first + CHUNK))
        if not missing(seen):
            break
    return seen


@pytest.mark.timeout(300)
def test_all_that_workers_do_is_reached_by_some_seed(found: set[str]) -> None:
    assert missing(found) == [], "reached by no seed: let the driver do it, or say here why not"


def test_what_is_listed_is_there_and_is_not_reached(found: set[str]) -> None:
    known = functions(FOLDERS)
    assert [listed for listed in UNREACHED if not any(fnmatch(name, listed) for name in known)] == []
    assert [name for name in sorted(known & found) for listed in UNREACHED if fnmatch(name, listed)] == []
