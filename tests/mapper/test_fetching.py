"""What a mapper holds when something ends between claiming and computing."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass

import pytest
from kazoo.exceptions import ConnectionLoss

from mapper.fetch import RangeTooLarge
from mapper.fetching import Fetching
from mapper.handoff import PLACES, Fetched
from mapper.shared import GIVEN_BACK_MS, HANDED_OVER_MS
from mars.adapters.exchange import StaleGenerationError
from mars.adapters.kafka.errors import KafkaRefused, KafkaUnreachable, OffsetOutOfRange
from mars.config import Config
from mars.errors import NotReadyError
from mars.model.claims import Claim
from tests.clock import ManualClock
from tests.mapper.handed import Exchange, Reader, Spill, shared, view

CLAIM = Claim(7, 0, 100, 200, {"q1": 1}, 3, 1, None)
VIEW = view(q1=1)


@dataclass
class Stage:
    """A fetching thread that gets CLAIM, and what it has its tuples of."""

    fetching: Fetching
    exchange: Exchange
    reader: Reader
    spill: Spill
    clock: ManualClock

    def fetch(self) -> bool:
        return self.fetching._fetch_one(VIEW, self.fetching._reading(VIEW))

    def is_held(self, claim: Claim = CLAIM) -> bool:
        """Is the claim renewed? Not any more after this."""
        return self.fetching.shared.leases.drop(VIEW.stream.id, claim)

    def has_room(self) -> bool:
        """Is no place of the handoff taken? All are after this."""
        return [self.fetching.shared.handoff.reserve(0) for _ in range(PLACES + 1)] == [True] * PLACES + [False]

    def pause_s(self) -> float:
        return self.fetching._reading(VIEW).pause.due_in_s()


@pytest.fixture
def stage() -> Stage:
    exchange, reader, clock = Exchange(CLAIM), Reader(), ManualClock()
    own = shared(exchange, Config(lease_ms=5_000), clock, reader)
    return Stage(Fetching(own), exchange, reader, own.connections.spill, clock)


@pytest.mark.parametrize(("error", "given_back"), [
    (ConnectionLoss(), [(200, None)]), (NotReadyError("Kafka does not answer"), [(200, None)]),
    (StaleGenerationError("another generation"), []), (MemoryError(), [])])
def test_a_claim_that_cannot_be_read_is_left_to_others(stage, error, given_back):
    """Else this mapper would renew for ever what nobody works on. What fails outside takes the claim's mark away by giving
    it back; what ends the process must not: it may be the claim that does it (rule 10)."""
    stage.spill.error = error
    with pytest.raises(MemoryError) if isinstance(error, MemoryError) else nullcontext():
        assert not stage.fetch()
    assert not stage.is_held()
    assert stage.exchange.renewed == given_back
    assert stage.has_room()


@pytest.mark.parametrize("error", [KafkaUnreachable("t", 0, "away"), KafkaRefused("t", 0, "no authorization")])
def test_what_kafka_does_not_give_rests_unsplit_and_other_streams_get_their_turn(stage, error):
    stage.reader.error = error
    assert not stage.fetch()
    assert stage.exchange.renewed == [(1_000, CLAIM.given - 1)]  # given again, it counts as given as often as now
    assert not stage.is_held()
    assert stage.pause_s() > 0


def test_a_range_that_is_too_large_is_split_and_the_next_ones_are_smaller(stage):
    stage.reader.error = RangeTooLarge(10, 1_000_000)
    stage.fetch()
    assert stage.exchange.renewed == [(1, 2)]
    assert stage.reader.asked == [4 * stage.fetching.config.run_bytes_max]
    assert stage.fetching.shared.sizes[VIEW.stream.id].bytes_per_offset == 100_000
    assert stage.pause_s() <= 0


def test_a_range_of_which_some_tasks_are_done_is_read_however_large_it_is(stage):
    """It cannot be split any more."""
    stage.exchange.to_give = Claim(7, 0, 100, 200, {"q1": 1}, 3, 1, None, grouped=True)
    stage.reader.error = KafkaUnreachable("t", 0, "away")
    stage.fetch()
    assert stage.reader.asked == [math.inf]


def test_a_claim_that_was_read_is_held_until_it_is_computed(stage):
    claim = stage.exchange.to_give = Claim(7, 0, 100, 200, {}, 3, 1, None)  # of dead tasks: nothing is to be read for it
    assert stage.fetch()
    assert stage.is_held(claim)
    assert stage.fetching.shared.handoff.take(0).claim is claim


@pytest.mark.parametrize("usable", [True, False])
def test_a_mapper_without_work_rests_also_while_zookeeper_is_away(stage, usable):
    """Notices that cannot be read must not keep it awake."""
    own, waited = stage.fetching.shared, []
    own.zookeeper.usable = usable
    own.stopping.wait = lambda seconds: waited.append("stopping")
    own.news.wait = lambda seconds: waited.append("news")
    stage.fetching._await_tuples()
    assert waited == ["news" if usable else "stopping"]


def test_a_stream_that_kafka_does_not_answer_for_is_asked_less_and_less(stage):
    """Each time takes a second, for which all other streams wait."""
    stage.reader.ends_error = stage.reader.error = KafkaUnreachable("t", 0, "has no leader")

    def pauses(times: int) -> list[float]:
        found = []
        for _ in range(times):
            assert not stage.fetch()
            found.append(stage.pause_s())
            stage.clock.now_s += found[-1]
        return found

    assert pauses(4) == [1.0, 2.0, 4.0, 4.0]
    stage.reader.ends_error = None  # only this range cannot be read: others of the stream may
    assert pauses(2) == [1.0, 1.0]


def test_a_stream_that_rests_is_not_asked(stage):
    stage.reader.error = KafkaUnreachable("t", 0, "away")
    stage.fetch()
    assert not stage.fetch()
    assert len(stage.reader.asked) == 1
    assert stage.has_room()


def test_records_that_are_gone_are_no_tuple_that_ends_its_reader(stage):
    """Where ZooKeeper did not take three times that the query stops, its tuples counted as bad, and it went on."""
    stage.reader.error = OffsetOutOfRange("t", 0, 100, 150, 300)
    stage.fetching.shared.zookeeper.error = ConnectionLoss()
    stage.fetch()
    assert stage.exchange.renewed[-1] == (GIVEN_BACK_MS, None)
    assert not stage.is_held()


def test_a_mapper_that_retires_gives_back_what_waits_and_ends(stage):
    """As if it had never been given: nobody is to blame, and nobody has to wait for its lease."""
    shared = stage.fetching.shared
    assert stage.fetching.shared.handoff.reserve(0)
    shared.leases.hold(VIEW.stream.id, VIEW.generation, CLAIM)
    shared.handoff.put(Fetched(VIEW, CLAIM, {}, None))
    shared.retiring.set()
    stage.fetching.run()
    assert stage.exchange.renewed == [(HANDED_OVER_MS, CLAIM.given - 1)]
    assert not stage.is_held()
    assert shared.handoff.is_idle()
    assert stage.has_room()
