"""The twin of mars/lua/claim.lua, in the order of the script."""

from __future__ import annotations

import math

from mars.adapters.exchange import StaleEpochError
from tests.simulate.scripts import MAIN, Store


def claim(s: Store, generation: int, worker: str, request: int, now: int, run_id: str, *, lease_ms: int, most: int,
          bound: int, key_parts: int, ends: dict[int, int], stay: int | None, allow_new: bool,
          least: int = 1) -> dict | None:
    """The claim as the script keeps it, or None."""
    s.check(generation)
    s.check_server(run_id)
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
    chosen = _choose(s, most, bound, key_parts, ends, stay, least)
    if chosen is None:
        return None
    p, end, tasks = chosen["part"], chosen["end"], {}
    wanted = _wanted_nows(s, p, end, {query for query, *_ in chosen["members"]})
    again = min(wanted.values(), default=None)
    for query, incarnation, _ in chosen["members"]:
        if wanted.get(query, again) == again:
            tasks[query] = incarnation
            s.lanes[p][query] = (incarnation, MAIN if chosen["main"] or chosen["joins"] else end)
        else:
            s.lanes[p][query] = (incarnation, chosen["start"])
    s.main[p] = end if chosen["main"] else chosen["at"]
    s.counters["claim"] += 1
    made = {"id": s.counters["claim"], "partition": p, "start": chosen["start"], "end": end, "given": 1,
            "tasks": tasks, "now": now if again is None else again, "main": chosen["main"], "file": None, "grouped": False}
    return _give(s, made, worker, request, now, lease_ms)


def _wanted_nows(s: Store, p: int, end: int, queries: set[str]) -> dict[str, int]:
    """The time at which each query has merged the range before, as far as it has."""
    wanted: dict[str, int] = {}
    for last, time, query in sorted(s.nows[p], key=lambda entry: (entry[0], f"{entry[0]}:{entry[1]}:{entry[2]}")):
        if last >= end and query in queries:
            wanted.setdefault(query, time)
    return wanted


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


def _lanes_of(s: Store, p: int) -> tuple[int | None, list, list]:
    main, joined, others = s.main.get(p), [], []
    for query, (incarnation, cursor) in s.lanes[p].items():
        if cursor in (MAIN, main):
            joined.append((query, incarnation, cursor == MAIN))
        else:
            others.append((query, incarnation, cursor))
    if not joined and others:
        main = max(lane[2] for lane in others)
        joined = [(query, incarnation, False) for query, incarnation, cursor in others if cursor == main]
        others = [lane for lane in others if lane[2] != main]
    return main, joined, others


def _range_end(s: Store, p: int, start: int, members: list, others: list, main: int, most: int, bound: int,
               key_parts: int, end: int) -> int:
    limits = [start + most, end, *[stop for stop in s.stops[p] if stop > start],
              *[lane[2] for lane in others if lane[2] > start]]
    if main > start:
        limits.append(main)
    told = [offset for k in range(key_parts) for query, *_ in members
            if (offset := s.positions[k].get((p, query))) is not None]
    limits.append(min([start, *told]) + bound)
    return min(limits)


def _choose(s: Store, most: int, bound: int, key_parts: int, ends: dict[int, int], stay: int | None,
            least_length: int) -> dict | None:
    best, best_lane = None, None
    for p, last in ends.items():
        main, joined, others = _lanes_of(s, p)
        if joined and last - main >= least_length:
            end = _range_end(s, p, main, joined, others, main, most, bound, key_parts, last)
            score = -math.inf if p == stay else s.progress.get(p, -1e300)
            if end - main >= least_length and (best is None or score < best["score"]):
                best = {"part": p, "start": main, "end": end, "members": joined, "main": True, "score": score}
        behind = [lane[2] for lane in others if lane[2] < main] if others else None
        if behind and last - min(behind) >= least_length:
            least = min(behind)
            members = [lane for lane in others if lane[2] == least]
            end = _range_end(s, p, least, members, others, main, most, bound, key_parts, last)
            if end - least >= least_length and (best_lane is None or main - least > best_lane["score"]):
                best_lane = {"part": p, "start": least, "end": end, "members": members, "main": False,
                             "score": main - least, "joins": end == main, "at": main}
    turn = s.counters["claim"] % 3 == 0
    return best_lane if best_lane and (turn or not best) else best
