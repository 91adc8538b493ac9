"""ALTER: the old version of a query is drained to one offset in every key part, and the new one starts there.

One partition of N offsets, two key parts. The code has no ALTER yet; this is the rule that it is to follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Model, put

N, RUNS, KEY_PARTS = 3, (1, 2), (0, 1)


class Part(NamedTuple):
    """A key part: where the old version is, the offset at which it changes (None: not yet), where the new one is."""

    old: int = 0
    cut: int | None = None
    new: int | None = None


class State(NamedTuple):
    """Redis: the cursor, the `stop` that ALTER has set, entries (start, end, of the new version?). ZooKeeper: the `cut` in
    the query set (None before). The key parts."""

    cursor: int = 0
    stop: int | None = None
    log: tuple[tuple[int, int, bool], ...] = ()
    cut: int | None = None
    parts: tuple[Part, Part] = (Part(), Part())
    wrong: str = ""


class Altering(Model[State]):
    """The change from one version to the next while claims are under way: Redis first, the query set then."""

    rules = (7, 20)
    safeguards = {
        "one offset for all key parts": "(not in the code yet) fixed in the query set",
        "the offset is a stop": "(not in the code yet) no claim crosses it, and none is made past it for the old version",
        "the offset lies ahead of all claims": "(not in the code yet) what was claimed before belongs to the old version",
        "the old version is drained": "(not in the code yet) it ends where the new one starts",
    }

    def start(self) -> State:
        return State()

    def broken(self, state: State) -> str | None:
        cuts = {part.cut for part in state.parts if part.cut is not None}
        return state.wrong or (f"TORN: the key parts change at {sorted(cuts)}" if len(cuts) > 1 else None)

    def done(self, state: State) -> bool:
        return all(part.new == N for part in state.parts)

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        yield from self._claim(state)
        if state.stop is None:
            first = state.cursor if self.on("the offset lies ahead of all claims") else 0
            for stop in range(first, N + 1):
                yield f"(alter) in Redis: no claim of the old version past {stop}", state._replace(stop=stop)
        elif state.cut is None:
            yield f"(alter) in the query set: the new version starts at {state.stop}", state._replace(cut=state.stop)
        for k in KEY_PARTS:
            yield from self._reduce(state, k, state.parts[k])

    def _claim(self, state: State) -> Iterator[tuple[str, State]]:
        stop = state.stop if self.on("the offset is a stop") else None
        new = state.cut is not None and state.cursor >= state.cut
        if stop is not None and state.cursor >= stop and not new:
            return
        for end in (state.cursor + run for run in RUNS):
            if end <= N and not (stop is not None and state.cursor < stop < end):
                version = "new" if new else "old"
                yield f"claim.lua, push.lua: [{state.cursor},{end}) for the {version} version", state._replace(
                    cursor=end, log=(*state.log, (state.cursor, end, new)))

    def _reduce(self, state: State, k: int, part: Part) -> Iterator[tuple[str, State]]:
        if state.cut is not None and part.cut is None:
            cut = state.cut if self.on("one offset for all key parts") else part.old
            yield f"KeyPart.take_queries: key part {k} changes at {cut}", self._set(state, k, part._replace(cut=cut))
        drained = part.cut is not None and (part.old == part.cut or not self.on("the old version is drained"))
        if part.new is None and drained:
            wrong = "" if part.old >= part.cut else f"LOST: [{part.old},{part.cut}) in key part {k}"
            yield f"(alter) key part {k}: the new version starts", self._set(
                state, k, part._replace(new=part.cut))._replace(wrong=wrong)
        for start, end, new in state.log:
            text = f"QueryState.accept: key part {k}, [{start},{end}) of the {'new' if new else 'old'} version"
            if new and start == part.new:
                yield text, self._set(state, k, part._replace(new=end))
            if not new and start == part.old:
                crossed = part.cut is not None and end > part.cut
                wrong = f"CROSSES: [{start},{end}) belongs to both versions, cut at {part.cut}" if crossed else ""
                yield text, self._set(state, k, part._replace(old=end))._replace(wrong=wrong)

    @staticmethod
    def _set(state: State, k: int, part: Part) -> State:
        return state._replace(parts=put(state.parts, k, part))
