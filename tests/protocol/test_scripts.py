"""The scripts of the exchange, one by one, on a real Redis."""

from __future__ import annotations

import threading
import time
from itertools import count, pairwise

import pytest
import redis

from mars.adapters.exchange import Exchange, StaleEpochError, StaleGenerationError
from mars.adapters.exchange_roles import LedStream, OwnedLog
from mars.errors import NotReadyError
from mars.model.entries import Header, Share, encode
from mars.model.names import Keys
from reducer.leading.watch_topic import CHECKS_BITS

STREAM = 7
ENDS = {0: 100, 1: 100}
REQUESTS = count(100)


def state(lanes: dict, stops: dict | None = None, positions: list | None = None, key_parts: int = 2) -> dict:
    """What install takes, with every partition filled in."""
    return {"key_parts": key_parts, "lanes": {p: lanes.get(p, {}) for p in ("0", "1")},
            "stops": {p: (stops or {}).get(p, []) for p in ("0", "1")},
            "positions": positions or []}


def server(exchange: Exchange) -> str:
    """The server's own name: on another one nothing is claimed."""
    return exchange.standing(STREAM, ()).server


def lead(exchange: Exchange, generation: int = 2, epoch: int = 1) -> LedStream:
    """The stream, as its leader has it."""
    return exchange.lead(STREAM, generation=generation, epoch=epoch)


def log(exchange: Exchange, generation: int = 2, key_part: int = 0, epoch: int = 1) -> OwnedLog:
    """A key part's log, as its owner has it."""
    return exchange.log(STREAM, generation=generation, key_part=key_part, epoch=epoch)


@pytest.fixture
def exchange(redis_address: str) -> Exchange:
    """An empty Redis on which generation 2 of the stream is installed, with query q1 at offset 0 of two partitions."""
    made = Exchange(redis_address)
    made.redis.flushall()
    lead(made).install(server(made), state({"0": {"q1": "1:0"}, "1": {"q1": "1:0"}}))
    return made


def claim(exchange: Exchange, worker: str = "w", request: int = 1, generation: int = 2, **changes):
    """One claim call with the usual arguments."""
    arguments = {"lease_ms": 10_000, "most": 10, "bound": 1000, "key_parts": 2, "ends": ENDS, "stay": None,
                 "allow_new": True} | changes
    return exchange.claim(STREAM, generation, worker, request, **arguments)


def entries(claim_, generation: int = 2) -> list:
    """Entries of two key parts with no cells."""
    header = Header(claim_.partition, claim_.start, claim_.end, claim_.tasks, None, None)
    return [encode(header, {query: Share() for query in claim_.tasks})] * 2


def test_claims_are_adjacent_and_have_frozen_tasks(exchange):
    first, second = claim(exchange), claim(exchange, request=2, stay=0)
    assert (first.start, first.end, first.tasks) == (0, 10, {"q1": 1})
    other = [c for c in (first, second) if c.partition == first.partition]
    assert [c.start for c in other] == [10 * i for i in range(len(other))]


@pytest.mark.parametrize(("ends", "least", "asked"), [
    ({0: 8, 1: 8}, 4, 0), ({0: 8, 1: 8}, 3, 2), ({0: 8, 1: 20}, 4, 4), ({0: 20, 1: 20}, 1, 4)])
def test_what_is_committed_is_asked_only_of_lanes_that_may_be_chosen(exchange, ends, least, asked):
    """Of a thousand partitions with 16 key parts each claim asked 16,000 times. Here lanes are at 8 and 5."""
    lanes = {"q1": "1:8", "q2": "2:5"}
    lead(exchange, 3).install(server(exchange), state({"0": lanes, "1": lanes}))
    calls = lambda: exchange.redis.info("commandstats")["cmdstat_hmget"]["calls"]  # noqa: E731
    before = calls()
    claim(exchange, generation=3, request=1, ends=ends, least=least)
    assert calls() - before == 2 + asked  # the generation and the counters, too


def test_where_only_fronts_are_wanted_no_lane_behind_is_claimed_and_no_turn_is_taken(redis_address):
    exchange = Exchange(redis_address)
    exchange.redis.flushall()
    lead(exchange).install(server(exchange), state({"0": {"q1": "1:0", "q2": "2:90"}, "1": {}}))
    got, request = [], 0
    for of_fronts in (0, 1, 2, 2):  # claims of fronts between two others
        for _ in range(of_fronts):
            request += 1
            assert claim(exchange, request=request, ends={0: 90 + request}, fronts_only=True).tasks == {"q2": 2}
        request += 1
        got.append(claim(exchange, request=request, ends={0: 90 + request}).tasks)
    assert got == [{"q1": 1}, {"q2": 2}, {"q2": 2}, {"q1": 1}]
    assert claim(exchange, request=request + 1, ends={0: 90}, fronts_only=True) is None


def test_the_same_request_gives_the_same_claim_and_an_older_one_is_refused(exchange):
    first = claim(exchange, request=5)
    assert claim(exchange, request=5) == first
    with pytest.raises(StaleEpochError):
        claim(exchange, request=4)


def test_a_server_that_takes_no_writes_for_now_is_waited_for(exchange):
    """As in a failover, before the address leads to the new master."""
    held = claim(exchange)
    exchange.redis.replicaof("127.0.0.1", 1)
    try:
        for call in (lambda: claim(exchange, request=2), lambda: exchange.renew(STREAM, 2, held, 10_000),
                     lambda: exchange.push(STREAM, 2, held, held.tasks, None, entries(held)), lambda: exchange.hold("x")):
            with pytest.raises(NotReadyError, match="takes no writes"):
                call()
    finally:
        exchange.redis.replicaof("no", "one")
    assert exchange.renew(STREAM, 2, held, 10_000)


@pytest.fixture
def busy(exchange):
    """The exchange while Redis runs somebody's long script, and answers nothing else."""
    other = Exchange(exchange.address).redis
    exchange.redis.config_set("busy-reply-threshold", 1)
    killed: list[redis.exceptions.RedisError] = []

    def occupy() -> None:
        try:
            other.eval("while true do end", 0)
        except redis.exceptions.RedisError as error:
            killed.append(error)

    thread = threading.Thread(target=occupy)
    thread.start()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and "BUSY" not in _ping(exchange):
        time.sleep(0.01)
    yield exchange
    exchange.redis.script_kill()
    thread.join()
    exchange.redis.config_set("busy-reply-threshold", 5000)
    assert killed


def _ping(exchange: Exchange) -> str:
    try:
        return str(exchange.redis.ping())
    except redis.exceptions.ResponseError as error:
        return str(error)


@pytest.mark.parametrize("call", [
    claim, lambda exchange: exchange.standing(STREAM, (0,)),
    lambda exchange: exchange.least_positions(STREAM, 2)], ids=["claim", "standing", "least_positions"])
def test_a_server_that_runs_a_long_script_is_waited_for(busy, call):
    """Also where several commands are sent together: the library words these answers otherwise."""
    with pytest.raises(NotReadyError, match="BUSY"):
        call(busy)


def test_a_claim_that_is_given_back_counts_as_given_as_its_holder_says(exchange):
    first = claim(exchange, lease_ms=10_000)
    for _ in range(3):  # nothing in it is to blame: it stays whole
        assert exchange.renew(STREAM, 2, first, 1, first.given - 1)
        time.sleep(0.01)
        again = claim(exchange, request=next(REQUESTS))
        assert (again.id, again.given, again.end) == (first.id, 1, first.end)
        first = again
    assert exchange.renew(STREAM, 2, first, 1, 2)  # it is too large: the next one gets a part of it
    time.sleep(0.01)
    assert claim(exchange, request=next(REQUESTS)).end == first.start + 1


def test_a_server_that_was_restarted_gives_no_claim(exchange):
    """It may be an earlier state of itself, and has forgotten at what time a range was claimed."""
    lead(exchange, 3).install("of the server before", state({"0": {"q1": "1:0"}}))
    with pytest.raises(StaleGenerationError):
        claim(exchange, generation=3)
    lead(exchange, 4).install(server(exchange), state({"0": {"q1": "1:0"}}))
    assert claim(exchange, generation=4).end == 10


def test_a_claim_never_passes_the_last_stable_offset(exchange):
    assert claim(exchange, ends={0: 4}).end == 4
    assert claim(exchange, request=2, ends={0: 4}) is None


def test_a_claim_never_crosses_a_stop(exchange):
    lead(exchange, 3).install(server(exchange), state({"0": {"q1": "1:0"}}, {"0": [3, 7]}))
    got = [claim(exchange, request=n, generation=3, ends={0: 100}) for n in (1, 2, 3)]
    assert [(c.start, c.end) for c in got] == [(0, 3), (3, 7), (7, 17)]


def test_another_generation_is_refused_everywhere(exchange):
    held = claim(exchange)
    lead(exchange, 3).install(server(exchange), state({}))
    for call in (lambda: claim(exchange, request=2), lambda: exchange.renew(STREAM, 2, held, 1),
                 lambda: exchange.register(STREAM, 2, held, {}), lambda: log(exchange).receive(0, 1000),
                 lambda: exchange.push(STREAM, 2, held, held.tasks, None, entries(held)),
                 lambda: log(exchange).trim([], {}), lambda: lead(exchange).attach("q", 2, {}),
                 lambda: lead(exchange).detach("q", (0,)),
                 lambda: lead(exchange).publish_facts({"begun": 1})):
        with pytest.raises(StaleGenerationError):
            call()


def test_an_emptied_redis_refuses_everything_until_it_is_installed_again(exchange):
    held = claim(exchange)
    exchange.redis.flushall()
    with pytest.raises(StaleGenerationError):
        exchange.push(STREAM, 2, held, held.tasks, None, entries(held))
    assert exchange.standing(STREAM, ()).installed is None


def test_a_push_gives_gapless_seqs_and_a_repeated_one_nothing(exchange):
    seqs = []
    for request in range(1, 6):
        held = claim(exchange, request=request)
        seqs.append(exchange.push(STREAM, 2, held, held.tasks, 5, entries(held)))
        assert exchange.push(STREAM, 2, held, held.tasks, 5, entries(held)) == 0
    assert seqs == [1, 2, 3, 4, 5]
    assert [entry.seq for entry in log(exchange, 2, 1).receive(0, 1 << 20)[1]] == seqs


def test_a_former_holder_neither_renews_nor_registers_and_only_the_first_to_push_does(exchange):
    zombie = claim(exchange, worker="a", lease_ms=1)
    time.sleep(0.01)
    heir = claim(exchange, worker="b")
    assert (heir.partition, heir.start, heir.end, heir.tasks) == (zombie.partition, zombie.start, zombie.end, zombie.tasks)
    assert heir.epoch > zombie.epoch
    assert not exchange.register(STREAM, 2, zombie, {})
    assert not exchange.renew(STREAM, 2, zombie, 1000)
    assert exchange.push(STREAM, 2, zombie, zombie.tasks, None, entries(zombie)) == 1, "it has made the same of the range"
    assert exchange.push(STREAM, 2, heir, heir.tasks, None, entries(heir)) == 0


def test_a_claim_that_was_split_is_not_pushed_whole(exchange):
    zombie = claim(exchange, worker="a", lease_ms=1, most=40)
    for worker in "bc":
        time.sleep(0.01)
        claim(exchange, worker=worker, lease_ms=1)
    assert exchange.push(STREAM, 2, zombie, zombie.tasks, None, entries(zombie)) == 0


def test_a_claim_that_is_given_again_keeps_the_tasks_that_it_froze(exchange):
    claim(exchange, worker="a", lease_ms=1)
    lead(exchange).attach("q2", 2, {"cursors": {0: 0, 1: 0}, "stops": {0: [], 1: []},
                                            "positions": []})
    time.sleep(0.01)
    assert claim(exchange, worker="b").tasks == {"q1": 1}


def test_the_third_lease_splits_and_keeps_tasks(exchange):
    first = claim(exchange, worker="a", lease_ms=1, most=40)
    time.sleep(0.01)
    claim(exchange, worker="b", lease_ms=1)
    time.sleep(0.01)
    pieces = [claim(exchange, worker="c", request=n) for n in range(1, 15)]
    assert sorted((c.start, c.end) for c in pieces) == [(n, min(n + 3, 40)) for n in range(0, 40, 3)]
    assert all(c.tasks == first.tasks and c.is_suspect for c in pieces)


@pytest.mark.parametrize("stage", ["reading", "computing"])
def test_a_claim_that_ends_whoever_works_on_it_alone_is_brought_down_to_what_kills(exchange, stage):
    """Five tuples, two queries. Whoever touches offset 3 dies, or whoever computes q2 over it."""
    state_ = {"cursors": {0: 0, 1: 0}, "stops": {0: [], 1: []}, "positions": []}
    lead(exchange).attach("q2", 2, state_)
    requests, seen = count(2), []
    claim(exchange, request=1, lease_ms=1, most=5, ends={0: 100})
    for _ in range(60):
        time.sleep(0.005)
        held = claim(exchange, request=next(requests), lease_ms=1, allow_new=False)
        if held is None:
            break
        seen.append((held.start, held.end, tuple(sorted(held.tasks)), held.kills))
        is_deadly = held.start <= 3 < held.end and (stage == "reading" or "q2" in held.tasks)
        if is_deadly and not held.kills:
            exchange.mark(STREAM, 2, held, stage)
            exchange.mark(STREAM, 2, held, "reading")  # a copy that arrives late
        else:
            exchange.push(STREAM, 2, held, held.tasks, None, entries(held))
    verdicts = [claim_ for claim_ in seen if claim_[3]]
    assert verdicts == ([(3, 4, ("q1", "q2"), "reading")] if stage == "reading" else [(3, 4, ("q2",), "computing")])
    assert len(seen) < 20
    assert exchange.redis.hlen(Keys(STREAM).claims) == 0


def test_deaths_while_reading_and_while_computing_are_not_added_up(exchange):
    """What kills does it at the same stage each time; a holder that was killed by chance may be anywhere."""
    claim(exchange, request=1, lease_ms=1, most=1, ends={0: 1})
    for request, stage in enumerate(("reading", "computing", "reading", "computing", "computing"), 2):
        time.sleep(0.005)
        held = claim(exchange, request=request, lease_ms=1, allow_new=False)
        assert held.kills == ""
        assert exchange.mark(STREAM, 2, held, stage)
    time.sleep(0.005)
    assert claim(exchange, request=7, lease_ms=1, allow_new=False).kills == "computing"


def test_a_claim_whose_holders_ended_beside_other_work_is_never_blamed(exchange):
    claim(exchange, request=1, lease_ms=1, most=1, ends={0: 1})
    for request in range(2, 12):
        time.sleep(0.003)
        assert claim(exchange, request=request, lease_ms=1, allow_new=False).kills == ""


def test_a_holder_that_gives_a_claim_back_and_lives_is_not_ended_by_it(exchange):
    """A broker refuses to be read, again and again: nobody may say that the offset kills."""
    claim(exchange, request=1, lease_ms=0, most=1, ends={0: 1})
    for request in range(2, 12):
        held = claim(exchange, request=request, allow_new=False)
        assert held.kills == ""
        exchange.mark(STREAM, 2, held, "reading")
        assert exchange.renew(STREAM, 2, held, 1)
        time.sleep(0.005)


def test_a_mark_of_a_former_holder_is_refused(exchange):
    old = claim(exchange, worker="a", lease_ms=1)
    time.sleep(0.01)
    new = claim(exchange, worker="b")
    assert not exchange.mark(STREAM, 2, old, "reading")
    assert exchange.mark(STREAM, 2, new, "reading")


def test_a_claim_of_which_a_group_was_pushed_is_never_split(exchange):
    lead(exchange).attach("q2", 2, {"cursors": {0: 0, 1: 0}, "stops": {0: [], 1: []},
                                            "positions": []})
    held = claim(exchange, worker="a", lease_ms=1)
    assert held.tasks == {"q1": 1, "q2": 2}
    exchange.push(STREAM, 2, held, {"q1": 1}, None, entries(held))
    for worker in "bcd":
        time.sleep(0.01)
        again = claim(exchange, worker=worker, lease_ms=1)
        assert (again.start, again.end, again.tasks) == (0, 10, {"q2": 2})


def test_an_idle_exchange_gives_expired_claims_even_when_nothing_new_may_be_claimed(exchange):
    claim(exchange, worker="a", lease_ms=1)
    time.sleep(0.01)
    assert claim(exchange, worker="b", allow_new=False) is not None
    assert claim(exchange, worker="b", request=2, allow_new=False) is None


def test_a_lease_that_a_clock_set_back_has_left_far_ahead_is_given_again(exchange):
    first = claim(exchange, worker="a")
    hour_ahead = time.time() * 1000 + 3_600_000
    exchange.redis.zadd(Keys(STREAM).leases, {str(first.id): hour_ahead})
    again = claim(exchange, worker="b", allow_new=False)
    assert (again.partition, again.start, again.end) == (first.partition, first.start, first.end)
    assert again.epoch > first.epoch
    assert claim(exchange, worker="b", request=2, allow_new=False, lease_ms=100) is None  # the holder's own lease counts


def test_the_bound_holds_and_is_lifted_by_committed_positions(exchange):
    log(exchange).trim([], {(0, "q1"): 0})
    log(exchange, 2, 1).trim([], {(0, "q1"): 0})
    got = [claim(exchange, request=n, ends={0: 100}, bound=20) for n in range(1, 4)]
    assert [c and c.end for c in got] == [10, 20, None]
    log(exchange).trim([], {(0, "q1"): 20})
    assert claim(exchange, request=4, ends={0: 100}, bound=20) is None
    log(exchange, 2, 1).trim([], {(0, "q1"): 15})
    assert claim(exchange, request=5, ends={0: 100}, bound=20).end == 30


def test_a_query_with_a_rate_reads_by_itself_and_no_faster(exchange):
    exchange.redis.hset(Keys(STREAM).lanes(0), "q2", "2:0")
    given = [claim(exchange, request=n, most=100, ends={0: 1000}, rates={"q2": 30.0}) for n in range(1, 31)]
    by_itself = [c for c in given if c is not None and "q2" in c.tasks]
    assert {tuple(c.tasks) for c in given if c} == {("q1",), ("q2",)}
    assert [c.end for c in given if c and "q1" in c.tasks][-1] == 1000
    assert 30 <= sum(c.end - c.start for c in by_itself) <= 40  # a second's offsets, and what came meanwhile
    assert all(one.end == other.start for one, other in pairwise(by_itself))


def test_a_rate_below_one_offset_a_second_gives_one_offset(exchange):
    exchange.redis.hset(Keys(STREAM).lanes(0), "q2", "2:0")
    exchange.redis.hdel(Keys(STREAM).lanes(0), "q1")
    given = [claim(exchange, request=n, ends={0: 10}, rates={"q2": 0.01}) for n in (1, 2)]
    assert [c and c.end - c.start for c in given] == [1, None]


def test_a_lane_behind_catches_up_and_shares_claims_from_where_the_cursors_are_equal(exchange):
    for request in (1, 2):
        claim(exchange, request=request, ends={0: 100})
    lead(exchange).attach("q2", 2, {"cursors": {0: "0"}, "stops": {0: ["5"]}, "positions": []})
    seen = [claim(exchange, request=n, ends={0: 100 if n < 40 else 120}) for n in range(3, 45)]
    seen = [c for c in seen if c]
    lane = [(c.start, c.end) for c in seen if c.tasks == {"q2": 2}]
    both = [c.start for c in seen if c.tasks == {"q1": 1, "q2": 2}]
    assert lane[0] == (0, 5)
    assert all(a[1] == b[0] for a, b in pairwise(lane))
    assert lane[-1][1] == 100
    assert both == [100, 110]


def test_a_query_that_starts_ahead_reads_at_once_and_the_other_stops_where_it_began(exchange):
    """Until the one behind has caught up with it both are read, each from its own cursor."""
    claim(exchange, ends={0: 100})
    lead(exchange).attach("q2", 2, {"cursors": {0: "95"}, "stops": {0: []}, "positions": []})
    got = [claim(exchange, request=n, ends={0: 100}) for n in range(2, 14)]
    assert [(c.start, c.end) for c in got if c and set(c.tasks) == {"q2"}] == [(95, 100)]
    behind = [(c.start, c.end) for c in got if c and set(c.tasks) == {"q1"}]
    assert behind == [(n, n + 10) for n in range(10, 100, 10)]
    both = claim(exchange, request=20, ends={0: 105})
    assert (both.start, both.end, set(both.tasks)) == (100, 105, {"q1", "q2"})


BACK, FRONT = 1_000, 50_000


def shares(exchange: Exchange, count: int, start: int, grows: int) -> dict[str, int]:
    """How many of so many claims, one after the other, each query gets, while the topic grows by so much with each claim."""
    got: dict[str, int] = {}
    for request in range(start, start + count):
        held = claim(exchange, request=request, ends={0: FRONT + (request - start + 1) * grows}, bound=10**9)
        for query in held.tasks if held else ():
            got[query] = got.get(query, 0) + 1
        if held:
            exchange.push(STREAM, 2, held, held.tasks, None, entries(held))
    return got


def test_a_live_query_that_is_resumed_beside_a_backfill_is_read(exchange):
    """Found by attack: nothing that lay ahead of where the backfill was got any claim until that had come by."""
    lane = {"cursors": {0: str(BACK)}, "stops": {0: []}, "positions": []}
    lead(exchange).attach("backfill", 2, lane)
    lead(exchange).detach("q1", {0: 1, 1: 1})
    assert shares(exchange, 6, 2, 0) == {"backfill": 6}
    lead(exchange).attach("q1", 3, lane | {"cursors": {0: str(FRONT)}})
    got = shares(exchange, 60, 10, 10)
    assert got["q1"] == 2 * got["backfill"] == 40
    lead(exchange).attach("latest", 4, lane | {"cursors": {0: str(FRONT + 590)}})
    assert min(shares(exchange, 60, 80, 20).values()) >= 10, "all three go on"


def test_lanes_behind_take_turns_by_query(exchange):
    """One that is a little behind does not wait until one that is far behind has come so far."""
    lane = {"cursors": {0: str(BACK)}, "stops": {0: []}, "positions": []}
    lead(exchange).attach("backfill", 2, lane)
    lead(exchange).attach("front", 3, lane | {"cursors": {0: str(FRONT)}})
    lead(exchange).attach("resumed", 4, lane | {"cursors": {0: str(FRONT - 5_000)}})
    lead(exchange).detach("q1", {0: 1, 1: 1})
    got = shares(exchange, 60, 2, 10)
    assert got == {"front": 40, "backfill": 10, "resumed": 10}


def test_who_rides_with_a_backfill_in_one_partition_does_not_wait_for_it_in_another(exchange):
    """Found by reading: the lane had the turns of the backfill alone, which was further behind elsewhere."""
    lane = {"stops": {0: [], 1: []}, "positions": []}
    lead(exchange).attach("backfill", 2, lane | {"cursors": {0: "900", 1: "0"}})
    lead(exchange).attach("late", 3, lane | {"cursors": {0: "900", 1: str(FRONT)}})
    lead(exchange).attach("live", 4, lane | {"cursors": {0: "1000", 1: str(FRONT)}})
    lead(exchange).detach("q1", {0: 1, 1: 1})
    got = [claim(exchange, request=2 + n, ends={0: 1000 + 10 * n, 1: FRONT + 10 * n}, bound=10**9) for n in range(30)]
    assert [(c.partition, c.start) for c in got if set(c.tasks) == {"backfill", "late"}][:1] == [(0, 900)]
    assert sum("late" in c.tasks for c in got) >= 10
    assert sum(set(c.tasks) == {"backfill"} for c in got) >= 5


@pytest.mark.parametrize("base", [99_999_999_999_000, 100_000_000_000_123, 1_234_567_890_123_457])
def test_offsets_keep_all_their_digits(exchange, base):
    lanes, positions = {"0": {"q1": f"1:{base}"}}, [[k, "0:q1", str(base)] for k in range(2)]
    lead(exchange, 3).install(server(exchange), state(lanes, {"0": [str(base + 7)]}, positions))
    got = [claim(exchange, request=n, generation=3, ends={0: base + 30}, bound=20,
                 lease_ms=10_000 if n == 1 else 1) for n in range(1, 3)]
    assert [(c.start, c.end) for c in got] == [(base, base + 7), (base + 7, base + 17)]
    assert exchange.redis.hget(Keys(STREAM).lanes(0), "q1").decode() == f"1:{base + 17}"
    for worker in "bcd":
        time.sleep(0.005)
        piece = claim(exchange, worker=worker, generation=3, lease_ms=1, allow_new=False)
    assert base <= piece.start < piece.end <= base + 17
    assert exchange.push(STREAM, 3, piece, piece.tasks, None, entries(piece)) == 1
    log(exchange, 3).trim([], {(0, "q1"): base + 7})
    log(exchange, 3, 1).trim([], {(0, "q1"): base + 9})
    assert exchange.least_positions(STREAM, 2) == {(0, "q1"): base + 7}


def test_a_server_that_was_replaced_and_came_back_is_another_one(exchange):
    """Its run id is the same. But a replica that takes over begins a replication history of its own, and so does who takes
    over from that: what happened meanwhile is not known here."""
    before = exchange.standing(STREAM, (0,))
    assert before.installed == (2, before.server)
    exchange.redis.replicaof("127.0.0.1", 1)
    exchange.redis.replicaof("no", "one")
    after = exchange.standing(STREAM, (0,))
    assert after.server.split(":")[0] == before.server.split(":")[0]
    assert after.installed == (2, before.server) != (2, after.server)
    with pytest.raises(StaleGenerationError):
        claim(exchange)


def test_an_older_leader_or_owner_is_refused(exchange):
    lead(exchange, 2, 5).attach("q2", 2, {"cursors": {}, "stops": {}, "positions": []})
    with pytest.raises(StaleEpochError):
        lead(exchange, 2, 4).detach("q2", (0,))
    log(exchange, 2, 0, 9).trim([], {})
    with pytest.raises(StaleEpochError):
        log(exchange, 2, 0, 8).trim([], {})


def test_trimming_deletes_entries_one_by_one(exchange):
    for request in range(1, 4):
        held = claim(exchange, request=request)
        exchange.push(STREAM, 2, held, held.tasks, None, entries(held))
    log(exchange).trim([1, 3], {})
    assert [entry.seq for entry in log(exchange).receive(0, 1 << 20)[1]] == [2]
    assert [entry.seq for entry in log(exchange, 2, 1).receive(0, 1 << 20)[1]] == [1, 2, 3]


def test_positions_that_arrive_late_take_nothing_back(exchange):
    """Found by the simulation: a copy of an old call lowered what was told, and claims stood at their bound for good."""
    attached = {"cursors": {0: "0"}, "stops": {0: []}, "positions": [[k, "0:q1", "3"] for k in range(2)]}
    for k in range(2):
        log(exchange, 2, k).trim([], {(0, "q1"): 40})
        log(exchange, 2, k).trim([], {(0, "q1"): 3})
    lead(exchange).attach("q1", 1, attached)
    assert exchange.least_positions(STREAM, 2) == {(0, "q1"): 40}
    claim(exchange, ends={0: 40}, most=40, bound=40)
    assert claim(exchange, request=2, ends={0: 100}, bound=40).start == 40


def test_an_attach_or_a_detach_that_arrives_late_leaves_the_newer_lane_alone(exchange):
    old = {"cursors": {0: 0}, "stops": {0: []}, "positions": []}
    lead(exchange).attach("q2", 7, old | {"cursors": {0: 20}})
    lead(exchange).attach("q2", 5, old)
    lead(exchange).detach("q2", {0: 5})
    assert exchange.redis.hget(Keys(STREAM).lanes(0), "q2") == b"7:20"
    lead(exchange).detach("q2", {0: 7})
    assert exchange.redis.hget(Keys(STREAM).lanes(0), "q2") is None


def test_what_was_taken_off_its_lanes_comes_back_by_no_copy_of_its_attach(exchange):
    """It would be claimed again from where it began, and the reducers would meet ranges that they have merged."""
    attached = {"cursors": {0: 0}, "stops": {0: [5]}, "positions": []}
    lead(exchange).attach("q2", 2, attached)
    lead(exchange).detach("q2", {0: 2})
    lead(exchange).detach("q2", {0: 1})
    lead(exchange).attach("q2", 2, attached)
    assert exchange.redis.hget(Keys(STREAM).lanes(0), "q2") is None
    lead(exchange).attach("q2", 3, attached)
    assert exchange.redis.hget(Keys(STREAM).lanes(0), "q2") == b"3:0"


def test_a_recovery_forgets_what_was_taken_off(exchange):
    lead(exchange).detach("q2", {0: 2})
    assert exchange.redis.hgetall(Keys(STREAM).detached) == {b"q2": b"2"}
    lead(exchange, 3).install(server(exchange), state({}))
    assert exchange.redis.exists(Keys(STREAM).detached) == 0


@pytest.mark.parametrize("epoch", [0, 1, 32, 3_000])
def test_a_check_that_is_told_late_is_not_told(exchange, epoch):
    """An older number would make what was reached after a check look as if it had been reached before. From the 32nd
    election on they are greater than what a double tells apart."""
    late, new = ((epoch << CHECKS_BITS) + n for n in (8, 9))
    lead(exchange).publish_facts({"begun": new})
    lead(exchange).publish_facts({"done": new, "idle:0": "40:0"})
    lead(exchange).publish_facts({"begun": late})
    lead(exchange).publish_facts({"done": late, "idle:0": "30:900"})
    assert log(exchange).receive(0, 1)[0] == {"begun": str(new), "done": str(new), "idle:0": "40:0"}
    lead(exchange).publish_facts({"begun": new + 1})
    assert log(exchange).receive(0, 1)[0]["begun"] == str(new + 1)


def test_a_dropped_stream_leaves_no_key(exchange):
    claim(exchange)
    exchange.forget(STREAM)
    assert exchange.redis.keys("*") == []
