"""Claims: ranges, frozen tasks, leases, zombies, splits, groups of tasks, lost answers, and a query that comes later.

One partition of N offsets, one key part, two queries: m is there from the start, q is attached later at any offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Model, put, without

N, CLAIMS_MAX, RUNS = 3, 2, (1, 2)
NOT_YET = -1


class Claim(NamedTuple):
    """As claim.lua keeps it; `grouped` once a group of its tasks was pushed. No two claims of a lane start at one offset,
    so that and the lane are the id."""

    id: str
    start: int
    end: int
    tasks: str
    epoch: int = 0
    grouped: bool = False


class Hand(NamedTuple):
    """A mapper at work on a claim as it was given. `heard` is False while the claim script's answer is lost; `deleted`
    is True where push deleted the claim and has not written yet (only without its safeguard)."""

    claim: Claim
    heard: bool = True
    deleted: bool = False


class State(NamedTuple):
    """Redis: `lanes` (the cursors of m and q), `claims`, `log` of (start, end, tasks) in SEQ order. Reducer: positions."""

    lanes: tuple[int, int] = (0, NOT_YET)
    claims: tuple[Claim, ...] = ()
    hands: tuple[Hand, ...] = ()
    log: tuple[tuple[int, int, str], ...] = ()
    m: int = 0
    q: int = NOT_YET
    faults: int = 2
    late_requests: int = 1
    wrong: str = ""


class Claims(Model[State]):
    """Mappers and the scripts that they call, without any recovery."""

    rules = (6, 7, 9, 11, 13, 17, 18)
    safeguards = {
        "same request, same claim": "claim.lua: a repeated request is answered with the claim that it has made",
        "older request refused": "claim.lua: a request with a lower number does nothing",
        "tasks frozen": "claim.lua: a claim that is given again keeps its tasks",
        "claim still held": "push.lua: without the claim nothing is written",
        "range compared": "push.lua: a claim that was split is not pushed whole",
        "share at equal cursors": "claim.lua: queries share a claim only where their cursors are equal",
        "push in one step": "push.lua: writes and deletes the claim together",
        "pushed tasks leave the claim": "push.lua: tasks that were pushed are not given again",
        "grouped never split": "claim.lua: a claim of which a group was pushed keeps its range",
        "lowest SEQ first": "QueryState._wake: of two entries at one position the older is merged",
    }
    # A claim's id alone says whether its range is still to be pushed, whoever holds it: pieces of a split have ids of their
    # own. Without the comparison nothing is wrong, but pieces behind what was pushed whole wait in memory for nothing.
    spare = ("range compared",)
    backed = {"pushed tasks leave the claim": ("grouped never split", "lowest SEQ first"),
              "grouped never split": ("pushed tasks leave the claim", "lowest SEQ first"),
              "lowest SEQ first": ("pushed tasks leave the claim", "grouped never split")}

    def start(self) -> State:
        return State()

    def broken(self, state: State) -> str | None:
        held = {(hand.claim.id, hand.claim.epoch) for hand in state.hands}
        orphans = [claim for claim in state.claims if (claim.id, claim.epoch) not in held]
        return state.wrong or (f"ORPHANED: nobody works on {orphans[0]}" if orphans else None)

    def done(self, state: State) -> bool:
        return state.m == N and state.q in (NOT_YET, N)

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        yield from self._claim(state)
        yield from self._give_again(state)
        yield from self._push(state)
        if not self.on("lowest SEQ first"):
            yield from self._merges(state)
        if state.lanes[1] == NOT_YET:
            for offset in (0, 2):
                yield f"attach.lua: q starts at {offset}, m is at {state.lanes[0]}", state._replace(
                    lanes=(state.lanes[0], offset), q=offset)

    # -- claim.lua ------------------------------------------------------------------------------------------------

    def _ranges(self, state: State) -> Iterator[tuple[int, int, str, tuple[int, int]]]:
        """(start, end, tasks, cursors afterwards) of every claim that the script may make now."""
        m, q = state.lanes
        shared = q == m or (q != NOT_YET and not self.on("share at equal cursors"))
        for run in RUNS:
            if m + run <= N and not m < q < m + run:
                yield m, m + run, "mq" if shared else "m", (m + run, m + run if shared else q)
            if q > NOT_YET and not shared and q + run <= N and not q < m < q + run:
                yield q, q + run, "q", (m, q + run)

    def _claim(self, state: State) -> Iterator[tuple[str, State]]:
        if len(state.claims) < CLAIMS_MAX:
            for start, end, tasks, lanes in self._ranges(state):
                made = Claim(f"{tasks[0]}{start}", start, end, tasks)
                after = state._replace(lanes=lanes, claims=(*state.claims, made))
                text = f"claim.lua: [{start},{end}) for {tasks}"
                yield text, after._replace(hands=(*state.hands, Hand(made)))
                if state.faults:
                    yield f"{text}, the answer is lost", after._replace(
                        hands=(*state.hands, Hand(made, heard=False)), faults=state.faults - 1)
                if state.late_requests and state.lanes[0] and not self.on("older request refused"):
                    yield f"{text}, by a late copy of an old request", after._replace(late_requests=0)
        for i, hand in enumerate(state.hands):
            if not hand.heard:
                yield from self._ask_again(state, i, hand)

    def _ask_again(self, state: State, i: int, hand: Hand) -> Iterator[tuple[str, State]]:
        held = any(c.id == hand.claim.id and c.epoch == hand.claim.epoch for c in state.claims)
        if held and self.on("same request, same claim"):
            yield f"Claimer.next asks again: {hand.claim[1:3]}", state._replace(hands=put(state.hands, i, Hand(hand.claim)))
        else:
            yield "Claimer.next asks again: nothing", state._replace(hands=without(state.hands, i))

    def _give_again(self, state: State) -> Iterator[tuple[str, State]]:
        """The lease runs out; its holder is killed, or goes on as a zombie. Twice given, a claim may be split."""
        if not state.faults:
            return
        for i, claim in enumerate(state.claims):
            tasks = claim.tasks
            if not self.on("tasks frozen") and state.lanes[1] != NOT_YET and "q" not in tasks:
                tasks += "q"
            again = claim._replace(epoch=claim.epoch + 1, tasks=tasks)
            yield f"claim.lua: the lease of [{claim.start},{claim.end}) ran out, given again", state._replace(
                claims=put(state.claims, i, again), hands=(*state.hands, Hand(again)), faults=state.faults - 1)
            if claim.end - claim.start > 1 and not (claim.grouped and self.on("grouped never split")):
                left = again._replace(end=claim.start + 1)
                right = Claim(f"{claim.id[0]}{left.end}", left.end, claim.end, tasks, grouped=claim.grouped)
                yield f"claim.lua: the lease of [{claim.start},{claim.end}) ran out, split", state._replace(
                    claims=(*put(state.claims, i, left), right), hands=(*state.hands, Hand(left), Hand(right)),
                    faults=state.faults - 1)

    # -- push.lua -------------------------------------------------------------------------------------------------

    def _push(self, state: State) -> Iterator[tuple[str, State]]:
        for i, hand in enumerate(state.hands):
            mine, rest = hand.claim, without(state.hands, i)
            if not hand.heard:
                continue
            if hand.deleted:
                yield f"push.lua writes [{mine.start},{mine.end})", self._write(state, mine, mine.tasks)._replace(hands=rest)
                if state.faults:
                    yield "the mapper is killed", state._replace(
                        hands=rest, faults=0, wrong=f"LOST: [{mine.start},{mine.end}) is in no claim and in no log")
                continue
            loose = not self.on("range compared")
            at = next((j for j, c in enumerate(state.claims) if c.id == mine.id and (
                loose or (c.start, c.end) == (mine.start, mine.end))), None)
            text = f"push.lua: [{mine.start},{mine.end}) for {mine.tasks}"
            if at is not None:
                yield from self._push_held(state, i, at, text)
            elif self.on("claim still held"):
                yield f"{text}, refused", state._replace(hands=rest)
            else:
                yield f"{text}, nobody's any more", self._write(state._replace(hands=rest), mine, mine.tasks)

    def _push_held(self, state: State, i: int, at: int, text: str) -> Iterator[tuple[str, State]]:
        hand, claim = state.hands[i], state.claims[at]
        mine, rest = hand.claim, without(state.hands, i)
        leave = self.on("pushed tasks leave the claim")
        wanted = "".join(t for t in mine.tasks if t in claim.tasks or not leave)
        gone = state._replace(claims=without(state.claims, at))
        if not self.on("push in one step"):
            yield f"{text} deletes the claim", gone._replace(hands=put(state.hands, i, hand._replace(deleted=True)))
            return
        yield text, self._write(gone, mine, wanted)._replace(hands=rest)
        if len(wanted) > 1:
            left = wanted[1:] if leave else claim.tasks
            grouped = claim._replace(tasks=left, grouped=True)
            yield f"{text}, the group of {wanted[0]} alone", self._write(state, mine, wanted[0])._replace(
                claims=put(state.claims, at, grouped),
                hands=put(state.hands, i, hand._replace(claim=mine._replace(tasks=wanted[1:]))))

    def _write(self, state: State, claim: Claim, tasks: str) -> State:
        state = state._replace(log=(*state.log, (claim.start, claim.end, tasks)))
        # Nothing here depends on when the reducer merges, unless it may choose what.
        while self.on("lowest SEQ first") and (merged := next(self._merges(state), None)):
            state = merged[1]
        return _tidy(state)

    # -- the reducer ----------------------------------------------------------------------------------------------

    @staticmethod
    def _merges(state: State) -> Iterator[tuple[str, State]]:
        for query, position in (("m", state.m), ("q", state.q)):
            for start, end, tasks in state.log:
                if query in tasks and start <= position < end:
                    wrong = "" if start == position else f"OVERLAP: {query} is at {position}, the entry is [{start},{end})"
                    yield (f"QueryState.accept: {query} merges [{start},{end})",
                           _tidy(state._replace(**{query: end}, wrong=state.wrong or wrong)))


def _tidy(state: State) -> State:
    """Without the entries that all their queries have passed: nothing depends on them any more."""
    position = {"m": state.m, "q": state.q}
    return state._replace(log=tuple(e for e in state.log if any(position[t] < e[1] for t in e[2])))
