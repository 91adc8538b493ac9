"""What a mapper holds when something ends between claiming and computing."""

from __future__ import annotations

import math
import queue
import threading
import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from kazoo.exceptions import ConnectionLoss

import mapper.fetching
from mapper.claim import Sizes
from mapper.fetch import RangeTooLarge
from mapper.fetching import Fetching
from mapper.shared import GIVEN_BACK_MS, Fetched, Shared
from mapper.suspect import Suspects
from mars.adapters.exchange import StaleGenerationError
from mars.adapters.kafka.errors import KafkaRefused, KafkaUnreachable, OffsetOutOfRange
from mars.config import Config
from mars.errors import NotReadyError

CLAIM = SimpleNamespace(id=7, partition=0, start=100, end=200, is_suspect=False, kills="", given=3, grouped=False)
VIEW = SimpleNamespace(stream=SimpleNamespace(id=1, name="s"), generation=1)


class Leases(set):
    """Stands for the lease keeper: the ids that it renews."""

    def hold(self, stream_id: int, generation: int, claim: SimpleNamespace) -> None:
        self.add(claim.id)

    def drop(self, stream_id: int, claim: SimpleNamespace) -> bool:
        was_held = claim.id in self
        self.discard(claim.id)
        return was_held


@pytest.fixture
def fetching(monkeypatch) -> Fetching:
    """One that has just claimed; how it reads is for the test to say."""
    made, shared = object.__new__(Fetching), object.__new__(Shared)
    shared.room, shared.fetched, shared.leases = threading.Semaphore(1), queue.Queue(), Leases()
    shared.suspects = Suspects(None, None, threading.Event())
    shared.news, shared.cache = threading.Event(), SimpleNamespace(forget=lambda: None)
    made.renewed = []
    shared.exchange = SimpleNamespace(
        renew=lambda _stream, _generation, _claim, ms, given=None: made.renewed.append((ms, given)))
    made.shared, made.pauses = shared, {}
    monkeypatch.setattr(made, "_is_active", lambda view: True)
    monkeypatch.setattr(made, "_claim", lambda view: CLAIM)
    return made


@pytest.mark.parametrize(("error", "given_back"), [
    (ConnectionLoss(), [(200, None)]), (NotReadyError("Kafka does not answer"), [(200, None)]),
    (StaleGenerationError("another generation"), []), (MemoryError(), [])])
def test_a_claim_that_cannot_be_read_is_left_to_others(fetching, monkeypatch, error, given_back):
    """Else this mapper would renew for ever what nobody works on. What fails outside takes the claim's mark away by giving
    it back; what ends the process must not: it may be the claim that does it (rule 10)."""

    def fail(view: object, claim: object) -> None:
        raise error

    monkeypatch.setattr(fetching, "_read", fail)
    with pytest.raises(MemoryError) if isinstance(error, MemoryError) else nullcontext():
        assert not fetching._fetch_one(VIEW)
    assert fetching.shared.leases == set()
    assert fetching.renewed == given_back
    assert fetching.shared.room.acquire(blocking=False)


@pytest.fixture
def reading(fetching, monkeypatch):
    """Reads a claim, and says what was raised, what was asked of the reader and how the claim was given back."""
    renewed, asked = fetching.renewed, []
    fetching.config = Config(lease_ms=5_000)
    shared, stream_id = fetching.shared, VIEW.stream.id
    shared.stopping, fetching.last_epochs, fetching.paused_until = threading.Event(), {}, {}
    fetching.claimers = {stream_id: SimpleNamespace(sizes=Sizes())}
    monkeypatch.setattr(fetching, "_plans", lambda view, claim: {"q1": SimpleNamespace(columns=())})
    monkeypatch.setattr(mapper.fetching.spill, "read", lambda *_: None)

    def read(error: Exception, claim: SimpleNamespace = CLAIM) -> tuple[list, list]:
        def fail(*_: object, **more: object) -> None:
            asked.append(more["range_bytes_max"])
            raise error

        fetching.readers = {stream_id: SimpleNamespace(read=fail)}
        monkeypatch.setattr(fetching, "_claim", lambda view: claim)
        fetching._fetch_one(VIEW)
        return renewed, asked
    return read


@pytest.mark.parametrize("error", [KafkaUnreachable("t", 0, "away"), KafkaRefused("t", 0, "no authorization")])
def test_what_kafka_does_not_give_rests_unsplit_and_other_streams_get_their_turn(fetching, reading, error):
    renewed, _ = reading(error)
    assert renewed == [(1_000, CLAIM.given - 1)]  # given again, it counts as given as often as now
    assert fetching.shared.leases == set()
    assert fetching.paused_until[VIEW.stream.id] > time.monotonic()


def test_a_range_that_is_too_large_is_split_and_the_next_ones_are_smaller(fetching, reading):
    before = fetching.config.run_bytes_max
    renewed, asked = reading(RangeTooLarge(10, 1_000_000))
    assert renewed == [(1, 2)]
    assert asked == [4 * before]
    assert fetching.claimers[VIEW.stream.id].sizes.bytes_per_offset == 100_000
    assert not fetching.paused_until


def test_a_range_of_which_some_tasks_are_done_is_read_however_large_it_is(fetching, reading):
    """It cannot be split any more."""
    _, asked = reading(KafkaUnreachable("t", 0, "away"), SimpleNamespace(**{**vars(CLAIM), "grouped": True}))
    assert asked == [math.inf]


def test_a_claim_that_was_read_is_held_until_it_is_computed(fetching, monkeypatch):
    monkeypatch.setattr(fetching, "_read", lambda view, claim: Fetched(view, claim, {}, None))
    assert fetching._fetch_one(VIEW)
    assert fetching.shared.leases == {7}
    assert fetching.shared.fetched.get_nowait().claim is CLAIM


@pytest.mark.parametrize("usable", [True, False])
def test_a_mapper_without_work_rests_also_while_zookeeper_is_away(fetching, usable):
    """Notices that cannot be read must not keep it awake."""
    waited = []
    shared, fetching.views, fetching.claimers = fetching.shared, {}, {}
    shared.zookeeper = SimpleNamespace(usable=usable)
    shared.rests, shared.news, shared.stopping = (threading.Event() for _ in range(3))
    shared.rests.set()
    shared.stopping.wait = lambda seconds: waited.append("stopping")
    shared.news.wait = lambda seconds: waited.append("news")
    fetching._await_tuples()
    assert waited == ["news" if usable else "stopping"]


def test_a_stream_that_kafka_does_not_answer_for_is_asked_less_and_less(fetching, monkeypatch):
    """Each time takes a second, for which all other streams wait."""
    clock, found = [100.0], [KafkaUnreachable("t", 0, "has no leader")]
    monkeypatch.setattr(mapper.fetching.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(fetching, "_claim", lambda view: _raised_or_given(found[0]))
    monkeypatch.setattr(fetching, "_read", lambda view, claim: _raised_or_given(KafkaUnreachable("t", 0, "has no leader")))
    fetching.paused_until = {}

    def pauses(times: int) -> list[float]:
        return [not fetching._fetch_one(VIEW) and fetching.paused_until[1] - clock[0] for _ in range(times)]

    assert pauses(4) == [1.0, 2.0, 4.0, 4.0]
    found[0] = CLAIM  # only this range cannot be read: others of the stream may
    assert pauses(2) == [1.0, 1.0]


def _raised_or_given(what: object) -> object:
    if isinstance(what, Exception):
        raise what
    return what


def test_records_that_are_gone_are_no_tuple_that_ends_its_reader(fetching, reading, monkeypatch):
    """Where ZooKeeper did not take three times that the query stops, its tuples counted as bad, and it went on."""
    monkeypatch.setattr(mapper.fetching, "stop_queries", lambda *_: _raised_or_given(ConnectionLoss()))
    fetching.shared.exchange.renew = lambda *given: fetching.renewed.append(given[3:]) or True
    fetching.shared.zookeeper = None
    renewed, _ = reading(OffsetOutOfRange("t", 0, 100, 150, 300))
    assert renewed[-1] == (GIVEN_BACK_MS,)
    assert fetching.shared.leases == set()
