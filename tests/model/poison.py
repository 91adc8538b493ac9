"""A tuple that kills whoever touches it: the claim is brought down to what kills, and everything else goes on.

One partition of two offsets, two queries. Either reading offset 1 ends the process, or computing q over it does. The code
splits claims down to one offset; what comes after that is not there yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Model, put, without

N, KILLER, GIVEN_MAX = 2, 1, 3


class Claim(NamedTuple):
    """A claim that waits for a mapper; `given` counts the mappers that it has killed, up to GIVEN_MAX."""

    start: int
    end: int
    tasks: str
    given: int = 0


class State(NamedTuple):
    """What kills ('' not drawn yet, 'reading' or 'q'), claims, what is merged per query, dead letters, quarantined."""

    killer: str = ""
    claims: tuple[Claim, ...] = (Claim(0, N, "mq"),)
    merged: tuple[tuple[str, int], ...] = ()
    dead: tuple[int, ...] = ()
    quarantined: bool = False


class Poison(Model[State]):
    """claim.lua on a claim whose holders die."""

    rules = (9, 10)
    safeguards = {
        "split at the third lease": "claim.lua: pieces keep tasks, incarnations and now",
        "tasks singly": "(not in the code yet) a claim of one offset that killed its holders runs task by task",
        "the query that kills is quarantined": "(not in the code yet) the others go on",
        "dead letter if reading kills": "(not in the code yet) the offset is left out, and kept with its reason",
    }

    def start(self) -> State:
        return State()

    def broken(self, state: State) -> str | None:
        kept = {offset for query, offset in state.merged if query == "m"} | set(state.dead)
        return None if state.claims or kept == set(range(N)) else f"LOST: m has merged {sorted(kept)}"

    def done(self, state: State) -> bool:
        return bool(state.killer) and not state.claims

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        if not state.killer:
            yield "reading offset 1 kills", state._replace(killer="reading")
            yield "computing q over offset 1 kills", state._replace(killer="q")
            return
        for i, claim in enumerate(state.claims):
            if self._kills(state, claim):
                yield from self._die(state, i, claim)
            else:
                done = {(query, offset) for query in claim.tasks for offset in range(claim.start, claim.end)}
                yield f"push.lua: [{claim.start},{claim.end}) for {claim.tasks}", state._replace(
                    claims=without(state.claims, i), merged=tuple(sorted({*state.merged, *done})))

    @staticmethod
    def _kills(state: State, claim: Claim) -> bool:
        inside = claim.start <= KILLER < claim.end
        return inside and (state.killer == "reading" or ("q" in claim.tasks and not state.quarantined))

    def _die(self, state: State, i: int, claim: Claim) -> Iterator[tuple[str, State]]:
        text = f"claim.lua: [{claim.start},{claim.end}) for {claim.tasks} killed its mapper"
        given = min(claim.given + 1, GIVEN_MAX)
        rest = without(state.claims, i)
        if given < GIVEN_MAX:
            yield text, state._replace(claims=put(state.claims, i, claim._replace(given=given)))
        elif claim.end - claim.start > 1 and self.on("split at the third lease"):
            middle = claim.start + 1
            yield f"{text}, split", state._replace(
                claims=(*rest, claim._replace(end=middle, given=0), claim._replace(start=middle, given=0)))
        elif len(claim.tasks) > 1 and self.on("tasks singly"):
            yield f"{text}, its tasks singly", state._replace(
                claims=(*rest, *(claim._replace(tasks=task, given=0) for task in claim.tasks)))
        elif state.killer == "q" and self.on("the query that kills is quarantined") and claim.tasks == "q":
            yield f"{text}, q is quarantined", state._replace(claims=rest, quarantined=True)
        elif state.killer == "reading" and self.on("dead letter if reading kills") and claim.end - claim.start == 1:
            yield f"{text}, offset {claim.start} is a dead letter", state._replace(
                claims=rest, dead=tuple(sorted({*state.dead, claim.start})))
