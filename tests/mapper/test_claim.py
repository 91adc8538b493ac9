"""How large claims are: a few offsets while nothing is known, then by what offsets hold."""

from types import SimpleNamespace

import pytest

from mapper.claim import FIRST_OFFSETS, SMALL_S, Claimer, Sizes
from mars.config import Config
from tests.clock import ManualClock

CONFIG = Config(batch_tuples=5_000, run_tuples_max=100_000, run_bytes_max=16 << 20)


def sizes(offsets: int, bytes_: int, tuples: int | None = None) -> Sizes:
    made = Sizes()
    made.learn_bytes(offsets, bytes_)
    if tuples is not None:
        made.learn_tuples(offsets, tuples)
    return made


def test_the_first_claims_are_small():
    assert Sizes().offsets_max(CONFIG) == FIRST_OFFSETS
    assert Sizes().offsets_max(CONFIG.model_copy(update={"batch_tuples": 7})) == 7


@pytest.mark.parametrize(("bytes_", "tuples", "expected"), [
    (148, 1, 100_000),           # a tuple a message: by tuples
    (14_800, 100, 1_000),        # a hundred: the same tuples
    (2_000_000, 1, 8),           # large ones: by bytes
    (100 << 20, 1, 1),           # one that is larger than a run: alone
    (1, 0, 2_000_000),           # nearly all compacted away: within reason
])
def test_later_claims_hold_a_run(bytes_, tuples, expected):
    assert sizes(10, 10 * bytes_, 10 * tuples).offsets_max(CONFIG) == expected


def test_bytes_bound_a_claim_before_anything_is_parsed():
    assert sizes(500, 500 * 14_800).offsets_max(CONFIG) == (16 << 20) // 14_800


def test_a_batch_is_never_more_than_a_run():
    assert sizes(10, 1_480, 10).batch_offsets(CONFIG) == 5_000
    assert sizes(10, 148_000, 1_000).batch_offsets(CONFIG) == 50
    assert sizes(10, 10 << 20, 10).batch_offsets(CONFIG) == 16


def test_what_is_learnt_follows_the_topic():
    learnt = sizes(10, 1_480, 10)
    for _ in range(20):
        learnt.learn_bytes(10, 148_000)
        learnt.learn_tuples(10, 1_000)
    assert abs(learnt.offsets_max(CONFIG) - 1_000) <= 1


def test_small_ranges_are_not_left_lying_for_longer_than_a_moment():
    """The worker may be busy for hours with another stream."""
    clock, asked = ManualClock(100.0), []
    exchange = SimpleNamespace(memory_share=lambda: 0.0, claim=lambda *_, least, **__: asked.append((clock.now_s, least)))
    claimer = Claimer(exchange, CONFIG, "w", Sizes(bytes_per_offset=100.0), clock)
    view = SimpleNamespace(stream=SimpleNamespace(id=1, key_parts=2), generation=1, rates={})
    for end in range(20):
        claimer.ends.known = {0: 10 + end}
        claimer.next(view, only_batches=True)
        clock.now_s += SMALL_S / 3.9
    assert [least for _, least in asked] == [1] * len(asked)
    assert [round((at - 100) * 3.9 / SMALL_S) for at, _ in asked] == [0, 4, 8, 12, 16]
