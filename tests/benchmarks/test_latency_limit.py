"""The search for the highest load that is held, on systems of known capacity."""

import json

import numpy as np
import pytest

from benchmarks.latency_limit import NEAR, Limit, Try, following, search
from mars.errors import MarsError

BASE_MS = 100.0


def offered(capacity: float, rate: float, seconds: float = 10.0) -> Try:
    """A run on a system that takes `capacity`: what is beyond it waits."""
    made = 1e6 + np.arange(0, seconds * 1000, 5.0)
    noise = np.random.default_rng(1).normal(0, 40, len(made))
    delay = BASE_MS + noise + (made - made[0]) * max(0.0, rate / capacity - 1)
    return Try.of(rate, made, delay, made, np.full(len(made), 2.0), made[0] + 3000)


@pytest.mark.parametrize("capacity", [300_000.0, 640_000.0, 1e6, 1_500_000.0])
def test_the_limit_is_found_from_below_and_from_above(capacity):
    told = []
    limit = search(lambda rate: offered(capacity, rate), first=700_000, say=told.append)
    assert 0.9 * capacity < limit.rate < 1.06 * capacity
    assert limit.rate < limit.below <= limit.rate * NEAR
    assert len(limit.tries) == len(told) <= 6


def test_a_rate_is_held_while_delays_stand_still_are_bounded_and_the_producer_is_in_time():
    made = np.arange(0, 10_000, 5.0)
    late = np.full(len(made), 2.0)

    def judged(delay, late=late):
        return Try.of(1.0, made, delay, made, late, 3_000).is_held

    assert judged(np.full(len(made), 300.0))
    assert judged(np.where(made < 3_000, 100.0, 900.0)), "the start does not count"
    assert judged(np.where(made % 1000 < 100, 2_000.0, 300.0)), "now and then late is not growing"
    assert not judged(300 + 0.08 * made), "8 % of the load are left lying"
    assert judged(300 + 0.03 * made)
    assert not judged(np.full(len(made), 6_000.0)), "far behind all the time"
    assert not judged(np.where(made < 7_000, 300.0, np.nan)), "never seen"
    assert not judged(np.full(len(made), 300.0), late + 300), "not offered by its schedule"
    assert not Try.of(1.0, made, made, made, late, 20_000).is_held, "nothing was made after the start"


def test_the_search_ends_once_what_is_held_and_what_is_not_are_near():
    assert len(search(lambda rate: offered(640_000, rate), first=700_000, say=lambda _: None).tries) == 4


def test_a_lower_rate_that_was_not_held_counts_more_than_a_higher_one_that_was():
    def tried(rate, later_ms):
        return Try(rate, 100.0, later_ms, 0.0, 1.0)
    tries = [tried(400.0, 100.0), tried(600.0, 9_000.0), tried(900.0, 100.0)]
    assert following(tries, 1.0) == pytest.approx((400 * 600) ** 0.5)


def test_the_search_ends_after_so_many_tries_and_says_what_it_does_not_know():
    limit = search(lambda rate: offered(1e12, rate), first=1_000, tries_max=3, say=lambda _: None)
    assert (limit.rate, limit.below, len(limit.tries)) == (2250.0, None, 3)
    assert "no rate was met that is not" in limit.text()
    with pytest.raises(MarsError, match="No load was held"):
        search(lambda rate: offered(1.0, rate), first=1_000, tries_max=3, say=lambda _: None)


def test_json_holds_numbers_alone():
    nothing = Try.of(1.0, np.array([]), np.array([]), np.array([]), np.array([]), 0.0)
    text = json.dumps(Limit(1.0, None, [nothing]).json(), allow_nan=False)
    assert json.loads(text)["tries"][0] == {"rate": 1.0, "earlier_ms": None, "later_ms": None, "growth": None,
                                            "producer_ms": None, "held": False}
