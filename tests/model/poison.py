"""A tuple that kills whoever touches it: the claim is brought down to what kills, and everything else goes on.

One partition of two offsets, two queries. Either reading offset 1 ends the process, or computing q over it does. A mapper
holds a second claim, of another partition, when it ends: nothing but the marks tells which of the two did it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Model, put, without

N, KILLER, GIVEN_MAX = 2, 1, 3


class Claim(NamedTuple):
    """A claim that waits for a mapper; `given` counts the mappers that ended with it, up to GIVEN_MAX, and `ended` those
    that had nothing else at work, with the `mark` of the last."""

    start: int
    end: int
    tasks: str
    given: int = 0
    ended: int = 0
    mark: str = ""


class State(NamedTuple):
    """What kills ('' not drawn yet, 'reading' or 'q'), claims, what is merged per query, dead letters, quarantined; the
    claim of the other partition, which nothing is wrong with, and the mappers that may still be killed from outside."""

    killer: str = ""
    claims: tuple[Claim, ...] = (Claim(0, N, "mq"),)
    merged: tuple[tuple[str, int], ...] = ()
    dead: tuple[int, ...] = ()
    quarantined: bool = False
    other: Claim | None = Claim(9, 10, "mq")
    kills: int = 1
    wrong: str = ""


class Poison(Model[State]):
    """claim.lua and mark.lua on claims whose holders die."""

    rules = (9, 10)
    safeguards = {
        "split at the third lease": "claim.lua: pieces keep tasks, incarnations and now",
        "suspects are worked on alone": "Isolation.begin: else a claim is blamed for what ended its holder beside it",
        "tasks singly": "claim.lua: a claim of one offset whose computing ended its holders runs task by task",
        "the query that kills is quarantined": "Isolation.plans: the others go on",
        "bad if reading kills": "push.unread: the offset is left out, and counted with its reason",
    }

    def start(self) -> State:
        return State()

    def broken(self, state: State) -> str | None:
        kept = {offset for query, offset in state.merged if query == "m"} | set(state.dead)
        lost = not state.claims and not state.wrong and kept != set(range(N))
        return f"LOST: m has merged {sorted(kept)}" if lost else state.wrong or None

    def done(self, state: State) -> bool:
        return bool(state.killer) and not state.claims and state.other is None

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        if not state.killer:
            yield "reading offset 1 kills", state._replace(killer="reading")
            yield "computing q over offset 1 kills", state._replace(killer="q")
            return
        yield from self._work_on_the_other(state)
        for i, claim in enumerate(state.claims):
            stage = self._kills(state, claim)
            if stage:
                yield from self._die(state, i, claim, stage)
                continue
            if state.kills:
                rest = put(state.claims, i, self._again(claim, "computing"))
                yield f"a mapper is killed with [{claim.start},{claim.end}) for {claim.tasks}", state._replace(
                    claims=rest, kills=0)
            done = {(query, offset) for query in claim.tasks for offset in range(claim.start, claim.end)}
            yield f"push.lua: [{claim.start},{claim.end}) for {claim.tasks}", state._replace(
                claims=without(state.claims, i), merged=tuple(sorted({*state.merged, *done})))

    def _work_on_the_other(self, state: State) -> Iterator[tuple[str, State]]:
        """The other partition's claim is done, or blamed for what it did not do."""
        if state.other is None:
            return
        if state.other.ended >= GIVEN_MAX:
            yield "claim.lua: blames the other claim", state._replace(wrong="BLAMED: a claim that killed nobody")
        yield "push.lua: the other claim", state._replace(other=None)

    @staticmethod
    def _kills(state: State, claim: Claim) -> str:
        """At which stage the claim kills; '' if it does not."""
        if not claim.start <= KILLER < claim.end:
            return ""
        if state.killer == "reading":
            return "reading"
        return "computing" if "q" in claim.tasks and not state.quarantined else ""

    def _again(self, claim: Claim, stage: str) -> Claim:
        """The claim after the end of a holder; from the second on they work on it alone, and say how far they are."""
        alone = claim.given > 0 or not self.on("suspects are worked on alone")
        return claim._replace(given=min(claim.given + 1, GIVEN_MAX), ended=min(claim.ended + alone, GIVEN_MAX),
                              mark=stage if alone else "")

    def _die(self, state: State, i: int, claim: Claim, stage: str) -> Iterator[tuple[str, State]]:
        other = state.other
        beside = claim.given == 0 or not self.on("suspects are worked on alone")
        if other is not None and beside:
            other = self._again(other, "reading")
        state = state._replace(other=other)
        text = f"claim.lua: [{claim.start},{claim.end}) for {claim.tasks} ended its mapper, {stage}"
        claim = self._again(claim, stage)
        rest = without(state.claims, i)
        if (claim.given >= GIVEN_MAX or claim.ended) and claim.end - claim.start > 1:
            if self.on("split at the third lease"):
                new = claim._replace(ended=0, mark="", given=1)
                yield f"{text}, split", state._replace(
                    claims=(*rest, new._replace(end=claim.start + 1), new._replace(start=claim.start + 1)))
        elif claim.ended < GIVEN_MAX:
            yield text, state._replace(claims=put(state.claims, i, claim))
        elif claim.mark == "reading":
            if self.on("bad if reading kills"):
                yield f"{text}, offset {claim.start} is bad", state._replace(
                    claims=rest, dead=tuple(sorted({*state.dead, claim.start})))
        elif len(claim.tasks) > 1:
            if self.on("tasks singly"):
                singles = (Claim(claim.start, claim.end, task, 1) for task in claim.tasks)
                yield f"{text}, its tasks singly", state._replace(claims=(*rest, *singles))
            else:
                yield f"{text}, both are quarantined", state._replace(claims=rest, quarantined=True)
        elif self.on("the query that kills is quarantined"):
            yield f"{text}, {claim.tasks} is quarantined", state._replace(claims=rest, quarantined=True)
