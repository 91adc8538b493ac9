"""Where a mapper waits for tuples, and how far it knows the partitions."""

from __future__ import annotations

import pytest

from mapper.ends import AWAIT_MS, GATHER_BATCHES, GATHER_MS, Ends, home
from tests.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.mark.parametrize("workers", [["a"], ["a", "b"], ["b", "c", "a"], ["a", "b", "c", "d", "e", "f", "g"]])
@pytest.mark.parametrize("stream_id", [1, 2])
def test_each_partition_is_the_home_of_one_worker(workers, stream_id):
    homes = [home(range(5), stream_id, worker, workers) for worker in workers]
    assert sorted(p for found in homes for p in found) == list(range(5))
    assert home(range(5), stream_id, "new", workers) == set(range(5)), "one that is not listed yet waits everywhere"


def test_what_another_worker_waits_for_is_left_to_it_for_a_while(clock):
    found = Ends(clock=clock)
    assert found.are_old()
    found.looked({0: 10, 1: 20}, 0, "a", ["a", "b"])
    assert found.home == {0}
    assert found.known == {0: 10, 1: 20}, "what was there at the start is everybody's"
    found.looked({0: 30, 1: 50}, 0, "a", ["a", "b"])
    assert found.known == {0: 30, 1: 20}
    found.looked({0: 30, 1: 60, 2: 5}, 0, "a", ["a", "b"])
    assert found.known == {0: 30, 1: 50, 2: 5}
    assert not found.are_old()
    clock.now_s += 1
    assert found.are_old()


def test_the_first_tuple_after_a_rest_is_enough_then_they_gather(clock):
    found = Ends(clock=clock)
    found.looked({0: 10}, 0, "a", ["a"])
    assert found.patience(5_000) == (AWAIT_MS, 1)
    found.came({0: 10})
    assert found.patience(5_000) == (AWAIT_MS, 1), "nothing came"
    found.came({0: 11})
    clock.now_s += 0.01
    assert found.patience(5_000) == (GATHER_MS - 10, GATHER_BATCHES * 5_000)
    assert found.known == {0: 11}
    clock.now_s += GATHER_MS / 1000
    assert found.patience(5_000) == (AWAIT_MS, 1)
