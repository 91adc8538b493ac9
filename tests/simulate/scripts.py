"""The exchange's scripts again, over Python dictionaries: a twin of each file of mars/lua, in the same order of checks.

tests/simulate/test_scripts.py compares them with the real scripts on a real Redis, call by call.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field

from mars.adapters.exchange import StaleEpochError, StaleGenerationError


@dataclass
class Store:
    """What the keys of one stream hold; see mars.model.names.Keys."""

    generation: dict = field(default_factory=dict)
    seq: int = 0
    claims: dict[int, dict] = field(default_factory=dict)
    leases: dict[int, float] = field(default_factory=dict)
    requests: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=lambda: {"claim": 0, "epoch": 0, "fronts_only": 0})
    progress: dict[int, int] = field(default_factory=dict)
    lanes: dict = field(default_factory=lambda: defaultdict(dict))
    stops: dict = field(default_factory=lambda: defaultdict(set))
    log: dict = field(default_factory=lambda: defaultdict(dict))
    positions: dict = field(default_factory=lambda: defaultdict(dict))
    owners: dict[int, int] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    detached: dict[str, int] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)

    def check(self, generation: int) -> None:
        """Rule 4."""
        if self.generation.get("generation") != generation:
            raise StaleGenerationError("another generation is in the exchange", str(self.generation.get("generation")))

    def check_server(self, server: str) -> None:
        """A server that was restarted or replaced gives no claim."""
        if self.generation.get("server") != server:
            raise StaleGenerationError("another generation is in the exchange", "of another server")

    def check_leader(self, generation: int, epoch: int) -> None:
        """Rule 4 for a leader's writes."""
        self.check(generation)
        if self.generation.get("leader", 0) > epoch:
            raise StaleEpochError("a newer leader, owner or request has been seen", "an older leader")


def install(s: Store, generation: int, epoch: int, server: str, state: dict) -> None:
    if s.generation and s.generation["generation"] >= generation:
        raise StaleGenerationError("another generation is in the exchange", "not raised")
    fresh = Store()
    for part, lane in state["lanes"].items():
        p = int(part)
        for query, text in lane.items():
            incarnation, cursor = text.split(":")
            fresh.lanes[p][query] = (int(incarnation), int(cursor))
        fresh.stops[p] = {int(stop) for stop in state["stops"][part]}
    _positions(fresh, state)
    fresh.generation = {"generation": generation, "leader": epoch, "server": server}
    s.__dict__.update(fresh.__dict__)


def attach(s: Store, generation: int, epoch: int, query: str, incarnation: int, state: dict) -> None:
    s.check_leader(generation, epoch)
    s.generation["leader"] = epoch
    if incarnation <= s.detached.get(query, 0):
        return
    for part, cursor in state["cursors"].items():
        held = s.lanes[part].get(query)
        if held is None or held[0] < incarnation:
            s.lanes[part][query] = (incarnation, int(cursor))
            s.stops[part] |= {int(stop) for stop in state["stops"][part]}
    _positions(s, state)


def _positions(s: Store, state: dict) -> None:
    for k, name, offset in state["positions"]:
        partition, query = name.split(":")
        tell(s, k, (int(partition), query), int(offset))


def tell(s: Store, k: int, name: tuple[int, str], offset: int) -> None:
    """A committed position; what arrives late lowers none."""
    s.positions[k][name] = max(offset, s.positions[k].get(name, offset))


def detach(s: Store, generation: int, epoch: int, query: str, attached: dict[int, int]) -> None:
    s.check_leader(generation, epoch)
    for p, incarnation in attached.items():
        if query in s.lanes[p] and s.lanes[p][query][0] <= incarnation:
            del s.lanes[p][query]
    s.detached[query] = max(s.detached.get(query, 0), *attached.values())
    s.rates.pop(query, None)


def facts(s: Store, generation: int, epoch: int, told: dict[str, object]) -> None:
    s.check_leader(generation, epoch)
    if any(int(s.facts.get(name, 0)) > told[name] for name in ("begun", "done") if name in told):
        return
    s.facts |= {name: str(value) for name, value in told.items()}


def renew(s: Store, generation: int, id_: int, epoch: int, lease_ms: float, given: int | None, now: float) -> bool:
    s.check(generation)
    held = s.claims.get(id_)
    if held is None or held["epoch"] != epoch:
        return False
    s.leases[id_] = now + lease_ms
    if 0 < lease_ms < held["lease"]:
        held["mark"] = None
    if given is not None:
        held["given"] = given
    held["lease"] = max(lease_ms, held["lease"])
    return True


def mark(s: Store, generation: int, id_: int, epoch: int, stage: str) -> bool:
    s.check(generation)
    held = s.claims.get(id_)
    if held is None or held["epoch"] != epoch:
        return False
    if held.get("mark") != "computing":
        held["mark"] = stage
    return True


def register(s: Store, generation: int, claim: dict, file: dict) -> bool:
    s.check(generation)
    held = s.claims.get(claim["id"])
    if held is None or any(held[name] != claim[name] for name in ("epoch", "start", "end")):
        return False
    held["file"] = file
    return True


def push(s: Store, generation: int, claim: dict, tasks: dict[str, int], met: int | None, entries: list) -> int:
    s.check(generation)
    held = s.claims.get(claim["id"])
    if held is None or (held["start"], held["end"]) != (claim["start"], claim["end"]):
        return 0
    if any(held["tasks"].get(query) != incarnation for query, incarnation in tasks.items()):
        return 0
    s.seq += 1
    for k, entry in enumerate(entries):
        s.log[k][s.seq] = entry
    p = held["partition"]
    if met is not None and s.progress.get(p, met - 1) < met:
        s.progress[p] = met
    held["tasks"] = {q: i for q, i in held["tasks"].items() if q not in tasks}
    if held["tasks"]:
        held["grouped"] = True
    else:
        del s.claims[claim["id"]], s.leases[claim["id"]]
    return s.seq


def receive(s: Store, generation: int, k: int, after: int) -> tuple[dict[str, str], list]:
    s.check(generation)
    return dict(s.facts), [(seq, *entry) for seq, entry in sorted(s.log[k].items()) if seq > after]


def weigh(s: Store, generation: int, key_parts: int) -> dict[tuple[str, int], int]:
    s.check(generation)
    found: dict[tuple[str, int], int] = {}
    for k in range(key_parts):
        for text, _ in s.log[k].values():
            for query, incarnation, size in json.loads(text)["tasks"]:
                if size:
                    found[query, incarnation] = found.get((query, incarnation), 0) + size
    return found


def trim(s: Store, generation: int, k: int, epoch: int, seqs: list[int], positions: dict) -> None:
    s.check(generation)
    if s.owners.get(k, epoch) > epoch:
        raise StaleEpochError("a newer leader, owner or request has been seen", "an older owner")
    s.owners[k] = epoch
    for seq in seqs:
        s.log[k].pop(seq, None)
    for name, offset in positions.items():
        tell(s, k, name, offset)


def copy(s: Store) -> Store:
    """What a replica has. Entries of logs, and what `stops` hold, never change."""
    claims = {id_: {**claim, "tasks": claim["tasks"].copy()} for id_, claim in s.claims.items()}
    deep = [defaultdict(of.default_factory, {key: value.copy() for key, value in of.items()})
            for of in (s.lanes, s.stops, s.log, s.positions)]
    lanes, stops, log, positions = deep
    return Store(s.generation.copy(), s.seq, claims, s.leases.copy(), s.requests.copy(), s.counters.copy(),
                 s.progress.copy(), lanes, stops, log, positions, s.owners.copy(), s.facts.copy(),
                 s.detached.copy())
