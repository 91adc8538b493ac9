"""What a mapper holds when something ends between claiming and computing."""

from __future__ import annotations

import math
import queue
import threading
import time
from types import SimpleNamespace

import pytest
from kazoo.exceptions import ConnectionLoss

import mapper.fetching
from mapper.claim import Sizes
from mapper.fetch import RangeTooLarge
from mapper.fetching import Fetching
from mapper.shared import Fetched, Shared
from mapper.suspect import Suspects
from mars.adapters.exchange import StaleGenerationError
from mars.adapters.kafka_errors import KafkaRefused, KafkaUnreachable
from mars.config import Config
from mars.errors import NotReadyError

CLAIM = SimpleNamespace(id=7, partition=0, start=100, end=200, is_suspect=False, kills="", given=3, grouped=False)
VIEW = SimpleNamespace(stream=SimpleNamespace(id=1, name="s"), generation=1)


class Leases(set):
    """Stands for the lease keeper: the ids that it renews."""

    def hold(self, stream_id: int, generation: int, claim: SimpleNamespace) -> None:
        self.add(claim.id)

    def drop(self, stream_id: int, claim: SimpleNamespace) -> None:
        self.discard(claim.id)


@pytest.fixture
def fetching(monkeypatch) -> Fetching:
    """One that has just claimed; how it reads is for the test to say."""
    made, shared = object.__new__(Fetching), object.__new__(Shared)
    shared.room, shared.fetched, shared.leases = threading.Semaphore(1), queue.Queue(), Leases()
    shared.suspects = Suspects(None, None, threading.Event())
    shared.news, shared.cache = threading.Event(), SimpleNamespace(forget=lambda: None)
    made.shared = shared
    monkeypatch.setattr(made, "_is_active", lambda view: True)
    monkeypatch.setattr(made, "_claim", lambda view: CLAIM)
    return made


@pytest.mark.parametrize("error", [ConnectionLoss(), NotReadyError("Kafka does not answer"),
                                   StaleGenerationError("another generation")])
def test_a_claim_that_cannot_be_read_is_left_to_its_lease(fetching, monkeypatch, error):
    """Else this mapper would renew for ever what nobody works on."""

    def fail(view: object, claim: object) -> None:
        raise error

    monkeypatch.setattr(fetching, "_read", fail)
    assert not fetching._fetch_one(VIEW)
    assert fetching.shared.leases == set()
    assert fetching.shared.room.acquire(blocking=False)


@pytest.fixture
def reading(fetching, monkeypatch):
    """Reads a claim, and says what was raised, what was asked of the reader and how the claim was given back."""
    renewed, asked = [], []
    fetching.config = Config(lease_ms=5_000)
    shared, stream_id = fetching.shared, VIEW.stream.id
    shared.stopping, fetching.last_epochs, fetching.paused_until = threading.Event(), {}, {}
    shared.exchange = SimpleNamespace(renew=lambda _stream, _generation, _claim, ms, given: renewed.append((ms, given)))
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
