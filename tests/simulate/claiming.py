"""The twin of mars/lua/claim.lua, in the order of the script."""

from __future__ import annotations

import math

from mars.adapters.exchange import StaleEpochError
from tests.simulate.scripts import Store


def claim(s: Store, generation: int, worker: str, request: int, now: int, server: str, *, lease_ms: int, most: int,
          bound: int, key_parts: int, ends: dict[int, int], stay: int | None, allow_new: bool,
          least: int = 1, rates: dict[str, float] | None = None, fronts_only: bool = False) -> dict | None:
    """The claim as the script keeps it, or None."""
    s.check(generation)
    s.check_server(server)
    last = s.requests.get(worker)
    if last:
        number, id_, epoch = last
        if request < number:
            raise StaleEpochError("a newer leader, owner or request has been seen", "an older request")
        if request == number:
            held = s.claims.get(id_)
            return held if held and held["epoch"] == epoch else None
    expired = sorted((deadline, str(id_), id_) for id_, deadline in s.leases.items() if deadline <= now)
    if expired:
        return _give(s, _again(s, s.claims[expired[0][2]], now), worker, request, now, lease_ms)
    if not allow_new:
        return None
    rates = rates or {}
    chosen = _choose(s, most, bound, key_parts, ends, stay, least, rates, now, fronts_only)
    if chosen is None:
        return None
    p, end = chosen["part"], chosen["end"]
    tasks = dict(chosen["members"])
    if query := chosen.get("limited"):
        s.rates[query] = _used_up(s, query, rates, now) + (end - chosen["start"]) * 1000 / rates[query]
    for query, incarnation in tasks.items():
        s.lanes[p][query] = (incarnation, end)
    s.counters["claim"] += 1
    s.counters["fronts_only"] += fronts_only
    made = {"id": s.counters["claim"], "partition": p, "start": chosen["start"], "end": end, "given": 1, "tasks": tasks,
            "file": None, "grouped": False}
    return _give(s, made, worker, request, now, lease_ms)


def _give(s: Store, made: dict, worker: str, request: int, now: float, lease_ms: int) -> dict:
    s.counters["epoch"] += 1
    made |= {"epoch": s.counters["epoch"], "lease": lease_ms}
    s.claims[made["id"]] = made
    s.leases[made["id"]] = now + lease_ms
    s.requests[worker] = (request, made["id"], made["epoch"])
    return made


def _again(s: Store, held: dict, now: float) -> dict:
    """A claim whose lease ran out; the third time, or if it ended a holder that worked on it alone, it is split."""
    held["given"] += 1
    if held.get("mark"):
        stage = f"ended_{held['mark']}"
        held[stage], held["mark"] = held.get(stage, 0) + 1, None
    length, names = held["end"] - held["start"], sorted(held["tasks"])
    reading = held.get("ended_reading", 0)
    ended = max(reading, held.get("ended_computing", 0))
    if (held["given"] >= 3 or ended) and not held["grouped"] and length > 1:
        size = math.ceil(length / min(length, 16))
        held |= {"file": None, "ended_reading": 0, "ended_computing": 0}
        for start in range(held["start"] + size, held["end"], size):
            _put_aside(s, held, now, {"start": start, "end": min(start + size, held["end"])})
        held |= {"end": held["start"] + size, "given": 2}
    elif reading >= 3 and length == 1:
        held["kills"] = "reading"
    elif ended >= 3 and len(names) > 1:
        held |= {"ended_reading": 0, "ended_computing": 0}
        for name in names[1:]:
            _put_aside(s, held, now, {"tasks": {name: held["tasks"][name]}})
        held |= {"tasks": {names[0]: held["tasks"][names[0]]}, "given": 2}
    elif ended >= 3:
        held["kills"] = "computing"
    return held


def _put_aside(s: Store, held: dict, now: float, changes: dict) -> None:
    s.counters["claim"] += 1
    s.counters["epoch"] += 1
    piece = held | {"tasks": dict(held["tasks"])} | changes
    piece |= {"id": s.counters["claim"], "epoch": s.counters["epoch"], "given": 1}
    s.claims[piece["id"]] = piece
    s.leases[piece["id"]] = now


def _lanes_of(s: Store, p: int, rates: dict[str, float]) -> dict[int, list[tuple[str, int]]]:
    """Who rides at each cursor, in the order of the cursors; without the queries that have a rate."""
    riders: dict[int, list[tuple[str, int]]] = {}
    for query, (incarnation, cursor) in s.lanes[p].items():
        if query not in rates:
            riders.setdefault(cursor, []).append((query, incarnation))
    return dict(sorted(riders.items()))


def _used_up(s: Store, query: str, rates: dict[str, float], now: float) -> float:
    """Up to when a query's rate is used up."""
    oldest = now - max(1000, 1000 / rates[query])
    used = s.rates.get(query, oldest)
    return used if oldest <= used <= now else oldest


def allowance(s: Store, query: str, rates: dict[str, float], now: float) -> int:
    """The offsets that a query with a rate may take now."""
    return math.floor((now - _used_up(s, query, rates, now)) * rates[query] / 1000 + 1e-6)


def _range_end(s: Store, p: int, start: int, members: list, following: int | None, most: int, bound: int, key_parts: int,
               end: int) -> int:
    limits = [start + most, end, *[stop for stop in s.stops[p] if stop > start]]
    if following is not None:
        limits.append(following)
    told = [offset for k in range(key_parts) for query, _ in members
            if (offset := s.positions[k].get((p, query))) is not None]
    limits.append(min([start, *told]) + bound)
    return min(limits)


def _choose(s: Store, most: int, bound: int, key_parts: int, ends: dict[int, int], stay: int | None,
            least_length: int, rates: dict[str, float], now: float, fronts_only: bool) -> dict | None:
    front, behind = None, {}
    for p, last in ends.items():
        riders = _lanes_of(s, p, rates)
        cursors = [*riders]
        for start, following in zip(cursors, [*cursors[1:], None], strict=False):
            score, distance = -math.inf if p == stay else s.progress.get(p, -1e300), cursors[-1] - start
            members = riders[start]
            further = [query for query, _ in members if query not in behind or distance > behind[query]["distance"]]
            wanted = (front is None or score < front["score"]) if distance == 0 else further
            if not wanted or last - start < least_length:
                continue
            end = _range_end(s, p, start, members, following, most, bound, key_parts, last)
            if end - start < least_length:
                continue
            found = {"part": p, "start": start, "end": end, "members": members, "score": score, "distance": distance}
            if distance == 0:
                front = found
            else:
                behind |= dict.fromkeys(further, found)
        behind |= _limited(s, p, behind, most, bound, key_parts, last, rates, now)
    if fronts_only:
        return front
    given = s.counters["claim"] - s.counters["fronts_only"]
    turns = list({id(behind[name]): behind[name] for name in sorted(behind)}.values())
    if turns and (given % 3 == 0 or front is None):
        return turns[given // 3 % len(turns)]
    return front


def _limited(s: Store, p: int, behind: dict, most: int, bound: int, key_parts: int, last: int, rates: dict[str, float],
             now: float) -> dict[str, dict]:
    """What the queries with a rate may claim of a partition, where they are further behind than in another one."""
    found = {}
    for query, (incarnation, start) in s.lanes[p].items():
        distance = last - start
        if query not in rates or distance <= 0 or (query in behind and distance <= behind[query]["distance"]):
            continue
        may, members = min(most, allowance(s, query, rates, now)), [(query, incarnation)]
        if may >= min(distance, most, max(1, math.floor(rates[query] / 10))):
            end = _range_end(s, p, start, members, None, may, bound, key_parts, last)
            if end > start:
                found[query] = {"part": p, "start": start, "end": end, "members": members, "limited": query,
                                "distance": distance}
    return found
