"""Who renews what, and for how long."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from mapper.lease import LeaseKeeper
from mars.adapters.exchange import ExchangeFullError
from mars.errors import NotReadyError
from mars.model.claims import Claim

CLAIM = Claim(7, 0, 100, 200, {"q1": 1}, 3, 1, None)


class Exchange:
    """Answers from a list, and then that all is well; keeps what was renewed."""

    def __init__(self, *answers: object) -> None:
        self.answers, self.renewed = list(answers), []

    def renew(self, stream_id: int, generation: int, claim: Claim, lease_ms: int) -> bool:
        self.renewed.append(claim)
        answer = self.answers.pop(0) if self.answers else True
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def keep():
    """Makes keepers that look every millisecond, and ends them."""
    made = []

    def make(*answers: object) -> tuple[LeaseKeeper, Exchange]:
        exchange = Exchange(*answers)
        made.append(LeaseKeeper(exchange, 3))
        made[-1].start()
        return made[-1], exchange
    yield make
    for keeper in made:
        keeper.stop()


def renewals(exchange: Exchange, more: int) -> bool:
    """Are there so many more within a moment?"""
    before, until = len(exchange.renewed), time.monotonic() + 2
    while len(exchange.renewed) < before + more and time.monotonic() < until:
        time.sleep(0.001)
    return len(exchange.renewed) >= before + more


@pytest.mark.parametrize("error", [NotReadyError("away"), ExchangeFullError("full"), ValueError("nobody thought of it")])
def test_no_answer_ends_the_keeper(keep, error):
    keeper, exchange = keep(error)
    keeper.hold(1, 1, CLAIM)
    assert renewals(exchange, 3)


def test_what_was_dropped_or_is_lost_is_not_renewed(keep):
    for keeper, exchange in (keep(), keep(False)):
        keeper.hold(1, 1, CLAIM)
        assert renewals(exchange, 1)
        keeper.drop(1, CLAIM)
        time.sleep(0.01)
        assert not keeper._held


def test_the_end_of_an_old_claim_is_not_that_of_a_new_one_of_its_id(keep):
    """The same range given again, or numbers that began anew after a recovery."""
    keeper, exchange = keep()
    keeper.hold(1, 1, CLAIM)
    newer = replace(CLAIM, epoch=4)
    keeper.hold(1, 2, newer)
    keeper.drop(1, CLAIM)
    assert renewals(exchange, 3)
    assert exchange.renewed[-1] is newer
