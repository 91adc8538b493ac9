"""Which tuples are *future* depends on the time of the claim, so a range that is claimed again must get the same time.

One partition of two offsets, two key parts, one query. A tuple that is future for a claim of time 1 is not for one of time
2. Key part 0 counts it, key part 1 holds its cell: both must have taken it in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Model, put

N, KEY_PARTS = 2, (0, 1)


class Part(NamedTuple):
    """A key part's commit, or working state: position, (end, now) of merged ranges, and the now by which each offset was
    judged."""

    position: int = 0
    nows: tuple[tuple[int, int], ...] = ()
    judged: tuple[int, ...] = ()


class State(NamedTuple):
    """Redis: time, cursor, installed stops and nows, entries (start, end, now), positions told. Then working and committed
    key parts."""

    time: int = 1
    cursor: int = 0
    stops: tuple[int, ...] = ()
    nows: tuple[tuple[int, int], ...] = ()
    log: tuple[tuple[int, int, int], ...] = ()
    told: tuple[int, int] = (0, 0)
    parts: tuple[Part, Part] = (Part(), Part())
    committed: tuple[Part, Part] = (Part(), Part())
    losses: int = 2
    wrong: str = ""


class Nows(Model[State]):
    """claim.lua's now, the nows in manifests, and install.lua. A loss of Redis and its recovery are one step here."""

    rules = (6, 26)
    safeguards = {
        "nows in the manifest": "QueryState._merge: (end, now) of every merged range",
        "nows are stops": "lanes.attach_state: no claim crosses the end of a range that was merged under another now",
        "same now again": "claim.lua: a range below such an end gets the now of that time",
        "kept above the least position": "KeyPart._forget_nows: over all key parts, as they were told",
    }

    def start(self) -> State:
        return State()

    def broken(self, state: State) -> str | None:
        for offset, (one, other) in enumerate(zip(*(part.judged for part in state.committed), strict=False)):
            if one != other:
                return f"TORN: offset {offset} was judged by time {one} in one key part and {other} in the other"
        return None

    def done(self, state: State) -> bool:
        return all(part.position == N for part in state.committed)

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        for end in range(state.cursor + 1, N + 1):
            if not any(state.cursor < stop < end for stop in state.stops):
                again = [now for at, now in state.nows if at >= end] if self.on("same now again") else []
                now = again[0] if again else state.time
                yield f"claim.lua, push.lua: [{state.cursor},{end}) with now {now}", state._replace(
                    cursor=end, log=(*state.log, (state.cursor, end, now)))
        if state.time == 1:
            yield "time passes", state._replace(time=2)
        for k in KEY_PARTS:
            yield from self._reduce(state, k)
        if state.losses:
            yield "Redis is lost; Leader._recover_if_needed; KeyPart.load", self._install(state)

    def _reduce(self, state: State, k: int) -> Iterator[tuple[str, State]]:
        part = state.parts[k]
        for start, end, now in state.log:
            if start == part.position:
                nows = (*part.nows, (end, now)) if self.on("nows in the manifest") else ()
                judged = part.judged + (now,) * (end - start)
                yield f"QueryState._merge: key part {k}, [{start},{end}) with now {now}", state._replace(
                    parts=put(state.parts, k, Part(end, nows, judged)))
        if part != state.committed[k]:
            low = min(state.told) if self.on("kept above the least position") else part.position
            kept = part._replace(nows=tuple(pair for pair in part.nows if pair[0] > low))
            yield f"KeyPart.commit: key part {k} at {part.position}", state._replace(
                parts=put(state.parts, k, kept), committed=put(state.committed, k, kept))
        if state.told[k] != state.committed[k].position:
            yield f"trim.lua: key part {k} is at {state.committed[k].position}", state._replace(
                told=put(state.told, k, state.committed[k].position))

    def _install(self, state: State) -> State:
        positions = [part.position for part in state.committed]
        cursor = min(positions)
        nows = tuple(sorted({pair for part in state.committed for pair in part.nows if pair[0] > cursor}))
        stops = {p for p in positions if p > cursor}
        if self.on("nows are stops"):
            stops |= {end for end, _ in nows}
        return state._replace(cursor=cursor, stops=tuple(sorted(stops)), nows=nows, log=(), told=tuple(positions),
                              parts=state.committed, losses=state.losses - 1)
