"""What becomes of a push, and of a local file, that Redis refuses."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from mapper import computing, shared
from mapper.computing import Computing, Refused
from mapper.decode import decode
from mapper.fused_batch import FusedReaders
from mapper.push import TaskResult
from mapper.shared import Fetched, Shared
from mars.adapters.exchange import ExchangeFullError, StaleEpochError, StaleGenerationError
from mars.config import Config
from mars.model.claims import Claim
from tests.mapper.parsing import stream
from tests.mapper.record_batches import Record, batch

LIMIT = 1000
CLAIM = Claim(1, 3, 100, 200, {"large": 1, "small": 1}, 1, 1, None)
VIEW = SimpleNamespace(stream=SimpleNamespace(id=1, key_parts=2), generation=1)


class Redis:
    """Stands for the exchange: it holds `used` bytes of LIMIT, and takes what fits beside that."""

    def __init__(self, clock: SimpleNamespace, used: int) -> None:
        self.clock, self.used = clock, used
        self.took: list[dict] = []

    def push(self, stream_id: int, generation: int, claim: Claim, tasks: dict, greatest: int, entries: list) -> int:
        self.clock.now += 1.0
        if self.used + sum(len(cells) for _, cells in entries) > LIMIT:
            raise ExchangeFullError("Redis is at its memory limit")
        self.took.append({q: n for marker, _ in entries for q, _, n in json.loads(marker)["tasks"] if n} | {"tasks": tasks})
        return 7

    def memory(self) -> tuple[int, int]:
        return self.used, LIMIT


@pytest.fixture
def run(monkeypatch):
    """Pushes a group of one large and one small task to a Redis that holds so much; (what it took, stops, seconds)."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(computing, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(shared, "time", SimpleNamespace(sleep=lambda _: None))

    def push(used: int, becomes: int | None = None) -> tuple[list[dict], list[tuple], float]:
        stops, made, own = [], object.__new__(Computing), object.__new__(Shared)
        monkeypatch.setattr(computing, "stop_queries", lambda _zk, _stream, ids, *why: stops.append((ids, *why)))
        redis = Redis(clock, used)
        own.exchange, own.stopping, own.zookeeper, made.shared = redis, threading.Event(), None, own
        group = [TaskResult("large", [b"x" * 400, b"x" * 100], {}, {}), TaskResult("small", [b"", b"x"], {}, {})]
        refused, began = Refused(group), clock.now

        def attempt() -> int:
            if becomes is not None and clock.now - began > 5:
                redis.used = becomes
            if clock.now - began > 60:
                own.stopping.set()
            return made._push_group(Fetched(VIEW, CLAIM, {}, None), refused, None)

        own.insist(attempt)
        return redis.took, stops, clock.now - began

    return push


def test_what_fits_is_taken(run):
    assert run(400) == ([{"large": 100, "small": 1, "tasks": CLAIM.tasks}], [], 1.0)


def test_what_fits_again_soon_is_waited_for(run):
    took, stops, _ = run(800, becomes=100)
    assert (len(took), stops) == (1, [])


def test_what_a_redis_with_room_refuses_again_and_again_stops_the_largest_query_and_the_range_is_done(run):
    took, stops, seconds = run(600)
    assert took == [{"small": 1, "tasks": CLAIM.tasks}]
    assert [(ids, state) for ids, state, _ in stops] == [(["large"], "LIMIT_EXCEEDED")]
    assert "offsets [100, 200) of partition 3 gave 500 bytes of cells" in stops[0][2]
    assert "600 of 1,000 bytes" in stops[0][2]
    assert computing.REFUSED_S <= seconds < computing.REFUSED_S + 5


def test_a_redis_that_is_full_is_for_the_leader_to_mend(run):
    took, stops, _ = run(900)
    assert (took, stops) == ([], [])


def test_a_local_file_that_is_not_registered_is_not_left_behind(monkeypatch):
    deleted, made = [], object.__new__(Computing)

    def insist(_: object) -> None:
        raise StaleGenerationError("another generation is in the exchange", "2")

    monkeypatch.setattr(computing, "spill", SimpleNamespace(write=lambda *_: {"path": "f"}, delete=deleted.append))
    made.config, made.folder, made.shared = SimpleNamespace(batch_tuples=1), None, SimpleNamespace(insist=insist)
    fetched = Fetched(VIEW, CLAIM, {}, None)
    fetched.letters_kept = True
    with pytest.raises(StaleGenerationError):
        made._keep(fetched, [1])
    assert deleted == [{"path": "f"}]


def test_a_query_that_other_code_made_is_never_computed(monkeypatch):
    stops, own = [], object.__new__(Shared)
    monkeypatch.setattr(computing, "stop_queries", lambda _zk, _stream, ids, *why: stops.append((ids, *why)))
    monkeypatch.setattr(computing, "aggregate_task", Mock(side_effect=AssertionError("computed")))
    own.zookeeper, made = None, object.__new__(Computing)
    made.shared = own
    plan = SimpleNamespace(versions=(("hash", 1), ("count", 99)))
    done = made._task(VIEW, CLAIM, "large", plan, SimpleNamespace())
    assert done == TaskResult("large", [b"", b""], {}, {})
    assert [stop[:2] for stop in stops] == [(["large"], "QUARANTINED")]
    assert "count of version 99" in stops[0][2]


def test_records_that_do_not_read_stop_the_queries_of_their_claim_if_it_is_still_held(monkeypatch):
    """The fetching thread has checked their sums only: it is the computing thread that looks at each record."""
    stops, own = [], object.__new__(Shared)
    monkeypatch.setattr(computing, "stop_queries", lambda _zk, _stream, ids, *why: stops.append((list(ids), *why)))
    own.zookeeper, own.sizes, made = None, {}, object.__new__(Computing)
    own.exchange = SimpleNamespace(renew=lambda *_: True)
    made.shared, made.config, made.parsers, made.fused = own, Config(), {}, FusedReaders(0)
    of = stream({"t": "BIGINT", "a": "STRING"})
    plans = {"q1": SimpleNamespace(columns=("t", "a"))}
    records = decode(batch(7, [Record(5, b"1,a")], last_delta=4), 7).records
    for format_ in ("CSV", "JSON"):
        view = SimpleNamespace(stream=replace(of, format=format_), generation=1)
        fetched = Fetched(view, CLAIM, plans, records)
        assert made._read(fetched) is None
        assert fetched.plans == {}
        assert stops.pop()[:2] == (["q1"], "FAILED")
        own.exchange = SimpleNamespace(renew=lambda *_: False)
        with pytest.raises(StaleEpochError):
            made._read(Fetched(view, CLAIM, plans, records))
        own.exchange = SimpleNamespace(renew=lambda *_: True)
    assert not stops
