"""What becomes of a push, and of a local file, that Redis refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pyarrow as pa
import pytest

from mapper import computing
from mapper.batch import TaskCells
from mapper.computing import Computing, Refused
from mapper.decode import decode
from mapper.handoff import Fetched
from mapper.push import TaskResult, entries, groups
from mapper.steps import Steps
from mars.adapters.exchange import ExchangeFullError, StaleEpochError, StaleGenerationError
from mars.config import Config
from mars.model.claims import Claim
from mars.model.plan import Window
from tests.clock import ManualClock
from tests.mapper.handed import shared
from tests.mapper.parsing import stream
from tests.mapper.record_batches import Record, batch
from tests.plans import made as a_plan

LIMIT = 1000
CLAIM = Claim(1, 3, 100, 200, {"large": 1, "small": 1}, 1, 1, None)
VIEW = SimpleNamespace(stream=SimpleNamespace(id=1, key_parts=2), generation=1)


class Redis:
    """Stands for the exchange: it holds `used` bytes of LIMIT, and takes what fits beside that."""

    def __init__(self, clock: ManualClock, used: int) -> None:
        self.clock, self.used = clock, used
        self.took: list[dict] = []

    def push(self, stream_id: int, generation: int, claim: Claim, tasks: dict, greatest: int, entries: list) -> int:
        self.clock.now_s += 1.0
        if self.used + sum(len(cells) for _, cells in entries) > LIMIT:
            raise ExchangeFullError("Redis is at its memory limit")
        told = [json.loads(header) for header, _ in entries]
        self.took.append({q: header["shares"][n][0] for header in told for q, _, n in header["tasks"]
                          if header["shares"][n][0]} | {"tasks": tasks})
        return 7

    def memory(self) -> tuple[int, int]:
        return self.used, LIMIT


@pytest.fixture
def run(monkeypatch):
    """Pushes a group of one large and one small task to a Redis that holds so much; (what it took, stops, seconds)."""
    clock = ManualClock()

    def push(used: int, becomes: int | None = None) -> tuple[list[dict], list[tuple], float]:
        stops, redis = [], Redis(clock, used)
        monkeypatch.setattr(computing, "stop_queries", lambda _zk, _stream, ids, *why: stops.append((ids, *why)))
        own = shared(redis, clock=clock)
        made = Computing(own, Steps())
        group = [TaskResult("large", [b"x" * 400, b"x" * 100], {}, {}), TaskResult("small", [b"", b"x"], {}, {})]
        refused, began_s = Refused(group, clock), clock.now_s

        def attempt() -> int:
            if becomes is not None and clock.now_s - began_s > 5:
                redis.used = becomes
            if clock.now_s - began_s > 60:
                own.stopping.set()
            return made._push_group(Fetched(VIEW, CLAIM, {}, None), refused)

        own.insist(attempt)
        return redis.took, stops, clock.now_s - began_s

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


def test_a_local_file_that_is_not_registered_is_not_left_behind():
    refusal = StaleGenerationError("another generation is in the exchange", "2")
    own = shared(SimpleNamespace(register=Mock(side_effect=refusal)), Config(batch_tuples=1))
    with pytest.raises(StaleGenerationError):
        Computing(own, Steps())._keep(Fetched(VIEW, CLAIM, {}, None), [1])
    assert own.connections.spill.deleted == [{"host": "here", "path": "f"}]


def test_a_query_that_other_code_made_is_never_computed(monkeypatch):
    stops = []
    monkeypatch.setattr(computing, "stop_queries", lambda _zk, _stream, ids, *why: stops.append((ids, *why)))
    made = Computing(shared(None), Steps(aggregate=Mock(side_effect=AssertionError("computed"))))
    plan = SimpleNamespace(versions=(("hash", 1), ("count", 99)))
    done = made._task(VIEW, CLAIM, "large", plan, SimpleNamespace(max_event_time=7))
    assert done == TaskResult("large", [b"", b""], {}, {}, 7)
    assert [stop[:2] for stop in stops] == [(["large"], "QUARANTINED")]
    assert "count of version 99" in stops[0][2]


def test_records_that_do_not_read_stop_the_queries_of_their_claim_if_it_is_still_held(monkeypatch):
    """The fetching thread has checked their sums only: it is the computing thread that looks at each record."""
    stops, is_held = [], True
    monkeypatch.setattr(computing, "stop_queries", lambda _zk, _stream, ids, *why: stops.append((list(ids), *why)))
    made = Computing(shared(SimpleNamespace(renew=lambda *_: is_held)), Steps())
    plans = {"q1": a_plan(("t", "a"), window=Window("tumbling", 1_000))}
    records = decode(batch(7, [Record(5, b"1,a")], last_delta=4), 7).records
    for format_ in ("CSV", "JSON"):
        view = SimpleNamespace(stream=stream({"t": "BIGINT", "a": "STRING"}, format_), generation=1)
        fetched, is_held = Fetched(view, CLAIM, plans, records), True
        assert made._parse(fetched) is None
        assert fetched.plans == {}
        assert stops.pop()[:2] == (["q1"], "FAILED")
        is_held = False
        with pytest.raises(StaleEpochError):
            made._parse(Fetched(view, CLAIM, plans, records))
    assert not stops


def test_what_several_queries_compute_is_computed_and_sent_once():
    def query(name: str, seconds: int) -> SimpleNamespace:
        return SimpleNamespace(versions=(), aggregation=SimpleNamespace(cells_name=b"%d" % seconds), name=name)

    computed = []

    def aggregate(plan: SimpleNamespace, *_: object) -> TaskCells:
        computed.append(plan.name)
        return TaskCells([pa.table({"n": [1]}), pa.table({"n": pa.array([], pa.int64())})], tuples=3)

    plans = {"large": query("large", 60), "small": query("small", 60), "third": query("third", 10)}
    claim = replace(CLAIM, tasks={"large": 1, "small": 2, "third": 3})
    made = Computing(shared(None), Steps(aggregate=aggregate, encode=lambda table: b"cells"))
    results = made._tasks(Fetched(VIEW, claim, plans, None), SimpleNamespace(max_event_time=7))
    assert computed == ["large", "third"]
    assert [result.query for result in results] == ["large", "small", "third"]
    [group] = groups(results)
    header, cells = entries(claim, group, 2, None, None)[0]
    assert json.loads(header)["tasks"] == [["large", 1, 0], ["small", 2, 0], ["third", 3, 1]]
    assert cells == b"cellscells"


def test_tasks_whose_watermarks_move_differently_are_in_groups_of_their_own():
    """The header tells one greatest event time, and a query may have a limit of the future of its own."""
    results = [TaskResult(name, [b"x"], {}, {}, greatest) for name, greatest in zip("abcd", (7, 9, 7, None), strict=True)]
    found = list(groups(results))
    assert [[result.query for result in group] for group in found] == [["a", "c"], ["b"], ["d"]]
