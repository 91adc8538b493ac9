"""Queries that come, pause and go on: incarnations, lanes, stops, and reducers that learn of it late.

One partition of N offsets, two key parts, two queries: of m there is only its cursor, which q may share; q is created,
paused and resumed. The query set is in ZooKeeper, the lanes in Redis, the pointers in ZooKeeper again: each is a step of
its own. A key part may move to a reducer that still knows an older query set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Model, put, without

N, RUNS, KEY_PARTS = 2, (1, 2), (0, 1)


class Entry(NamedTuple):
    """A claim in a mapper's hands, then an entry of a log: its range and q's incarnation. What holds m alone is left out."""

    start: int
    end: int
    q: int


class Part(NamedTuple):
    """A key part in its reducer: the incarnation of q in the query set as known here, its position, and whether the
    manifest that the next commit follows still has q."""

    incarnation: int = 0
    running: bool = False
    position: int = 0
    has_q: bool = True


class State(NamedTuple):
    """ZooKeeper: q's incarnation and whether it runs, `committed` positions of q. Redis: m's cursor, q's lane (incarnation,
    cursor) or None, stops, logs. `leader`: the incarnation that it attaches and the positions that it has read. `moves`:
    how often a key part may still move."""

    incarnation: int = 0
    running: bool = False
    committed: tuple[int, int] = (0, 0)
    m: int = 0
    lane: tuple[int, int] | None = None
    stops: tuple[int, ...] = ()
    hands: tuple[Entry, ...] = ()
    logs: tuple[tuple[Entry, ...], ...] = ((), ())
    parts: tuple[Part, ...] = (Part(), Part())
    leader: tuple[int, tuple[int, ...]] | None = None
    pauses: int = 1
    moves: int = 1
    wrong: str = ""


class Lanes(Model[State]):
    """CatalogStore, the leader's lanes, mappers and reducers with an old view."""

    rules = (2, 3, 7, 13, 14, 17, 19)
    safeguards = {
        "incarnations never used again": "QuerySet.raise_incarnation: from one counter",
        "commit checks the query set": "set_pointer: its version, in the pointer's transaction",
        "new incarnation, committed state": "KeyPart.take_queries: what was not committed is thrown away",
        "incarnation raised before reading": "Leader._reconcile_lanes: the view, then the pointers",
        "stops": "attach.lua: no claim crosses another key part's committed position",
        "unknown incarnations kept": "KeyPart._is_done: an entry of an incarnation not known yet stays in the log",
        "unknown incarnations deferred": "QueryStates._route: and is merged once the query set was read again",
        "share at equal cursors": "claim.lua: queries share a claim only where their cursors are equal",
        "other incarnations dropped": "QueryStates._route: cells of an old attachment are never merged",
        "manifest keeps unknown queries": "KeyPart.commit: what the view lacks goes where the transaction proves it",
    }

    def start(self) -> State:
        return State()

    def broken(self, state: State) -> str | None:
        return state.wrong or None

    def done(self, state: State) -> bool:
        return state.running and state.committed == (N, N)

    def same(self, one: int, other: int) -> bool:
        """Do two incarnations bear one number?"""
        return one == other or bool(one and other and not self.on("incarnations never used again"))

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        if not state.running:
            yield f"CatalogStore.create_query, resume: q runs as {state.incarnation + 1}", state._replace(
                incarnation=state.incarnation + 1, running=True)
        elif state.pauses:
            yield f"CatalogStore.pause: q stops, incarnation {state.incarnation + 1}", state._replace(
                incarnation=state.incarnation + 1, running=False, pauses=state.pauses - 1)
        yield from self._lead(state)
        yield from self._map(state)
        for k in KEY_PARTS:
            yield from self._reduce(state, k, state.parts[k])

    # -- the leader -----------------------------------------------------------------------------------------------

    def _lead(self, state: State) -> Iterator[tuple[str, State]]:
        if state.leader is None:
            if state.lane and not state.running:
                yield "detach.lua: q", state._replace(lane=None)
            early = state.lane and state.pauses and not self.on("incarnation raised before reading")
            if early or (state.running and not (state.lane and self.same(state.lane[0], state.incarnation))):
                yield f"Leader._reconcile_lanes: q is to be attached as {state.incarnation}", state._replace(
                    leader=(state.incarnation, ()))
            return
        incarnation, read = state.leader
        if len(read) < len(KEY_PARTS):
            position = state.committed[len(read)]
            yield f"Leader._manifests: key part {len(read)} has q at {position}", state._replace(
                leader=(incarnation, (*read, position)))
            return
        if not self.on("incarnation raised before reading"):
            if not state.running or (state.lane and state.lane[0] == state.incarnation):
                yield "Leader._reconcile_lanes: nothing to attach", state._replace(leader=None)
                return
            incarnation = state.incarnation
        stops = tuple(sorted({*state.stops, *read})) if self.on("stops") else ()
        yield f"attach.lua: q as {incarnation} at {min(read)}", state._replace(
            lane=(incarnation, min(read)), stops=stops, leader=None)

    # -- mappers --------------------------------------------------------------------------------------------------

    def _map(self, state: State) -> Iterator[tuple[str, State]]:
        if len(state.hands) < 2:
            yield from self._claim(state)
        for i, hand in enumerate(state.hands):
            yield f"push.lua: [{hand.start},{hand.end}) for q as {hand.q}", state._replace(
                hands=without(state.hands, i), logs=tuple((*log, hand) for log in state.logs))

    def _claim(self, state: State) -> Iterator[tuple[str, State]]:
        m, lane = state.m, state.lane
        q = lane[1] if lane else None
        shared = q == m or (lane is not None and not self.on("share at equal cursors"))
        for end in self._ends(state, m, q if q is not None and q > m else N):
            if shared:
                yield f"claim.lua: [{m},{end}) for m, and q as {lane[0]}", state._replace(
                    m=end, lane=(lane[0], end), hands=(*state.hands, Entry(m, end, lane[0])))
            else:
                yield f"claim.lua: [{m},{end}) for m", state._replace(m=end)
        if lane and not shared:
            for end in self._ends(state, q, m if m > q else N):
                yield f"claim.lua: [{q},{end}) for q as {lane[0]}", state._replace(
                    lane=(lane[0], end), hands=(*state.hands, Entry(q, end, lane[0])))

    @staticmethod
    def _ends(state: State, start: int, last: int) -> list[int]:
        return [start + run for run in RUNS
                if start + run <= last and not any(start < stop < start + run for stop in state.stops)]

    # -- reducers -------------------------------------------------------------------------------------------------

    def _reduce(self, state: State, k: int, part: Part) -> Iterator[tuple[str, State]]:
        yield from self._merge(state, k, part)
        if (part.incarnation, part.running) != (state.incarnation, state.running):
            keeps = part.running and not self.on("new incarnation, committed state")
            position = part.position if keeps else state.committed[k] if part.has_q else 0
            yield f"KeyPart.take_queries: key part {k}, q as {state.incarnation}", self._set(
                state, k, Part(state.incarnation, state.running, position, part.has_q))
        if state.moves and state.incarnation:
            has_q = self.on("manifest keeps unknown queries")
            yield f"KeyPart.load: key part {k}, by an owner whose query set has no q yet", self._set(
                state, k, Part(position=state.committed[k], has_q=has_q))._replace(moves=state.moves - 1)
        current = part.incarnation == state.incarnation or not self.on("commit checks the query set")
        if current and part.position != state.committed[k]:
            yield f"KeyPart.commit: key part {k}, q at {part.position}", self._commit(state, k, part)
        kept = tuple(entry for entry in state.logs[k] if not self._is_done(state, k, entry))
        if kept != state.logs[k]:
            yield f"trim.lua: key part {k}", self._forget(state, k, kept)

    @staticmethod
    def _commit(state: State, k: int, part: Part) -> State:
        before = state.committed[k]
        wrong = f"WENT BACK: key part {k} from {before} to {part.position}" if part.position < before else state.wrong
        return state._replace(committed=put(state.committed, k, part.position), wrong=wrong)

    @staticmethod
    def _set(state: State, k: int, part: Part) -> State:
        return state._replace(parts=put(state.parts, k, part))

    def _merge(self, state: State, k: int, part: Part) -> Iterator[tuple[str, State]]:
        for i, entry in enumerate(state.logs[k]):
            if entry.q > part.incarnation and not self.on("unknown incarnations deferred"):
                yield f"QueryStates._route: key part {k} has no q as {entry.q}", self._forget(
                    state, k, without(state.logs[k], i))
            live = self.same(entry.q, part.incarnation) or not self.on("other incarnations dropped")
            if part.running and live and entry.start <= part.position < entry.end:
                wrong = ""
                if entry.start < part.position:
                    wrong = f"OVERLAP: q is at {part.position} in key part {k}, the entry is [{entry.start},{entry.end})"
                elif entry.q != part.incarnation:
                    wrong = f"MIXED: cells of incarnation {entry.q} merged into {part.incarnation}"
                yield f"QueryState.accept: key part {k}, [{entry.start},{entry.end}) of q as {entry.q}", self._set(
                    state, k, part._replace(position=entry.end))._replace(wrong=wrong)

    @staticmethod
    def _forget(state: State, k: int, kept: tuple[Entry, ...]) -> State:
        needed = [entry for entry in state.logs[k] if entry not in kept and entry.end > state.committed[k]
                  and entry.q == state.incarnation and state.running]
        wrong = f"LOST: {needed[0]} is forgotten, key part {k} is at {state.committed[k]}" if needed else ""
        return state._replace(logs=put(state.logs, k, kept), wrong=wrong)

    def _is_done(self, state: State, k: int, entry: Entry) -> bool:
        part = state.parts[k]
        if entry.q > part.incarnation:
            return not self.on("unknown incarnations kept")
        return not (part.running and self.same(entry.q, part.incarnation)) or state.committed[k] >= entry.end
