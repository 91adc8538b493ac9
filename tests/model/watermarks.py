"""Watermarks, idleness and the leader's checks: no tuple is late that lay in the log before the watermark was reached.

Partitions fill in order of event time, with delay 0; windows are one unit long. Partitions 0 and 1 are there from the
start, 2 may be added; what partition 1 gets may be held back by an open transaction. One query in one key part.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Model, put

NEVER = -1


class Reached(NamedTuple):
    """A watermark, the check that had begun when it was reached, and how long the partitions were then. Once it has
    closed windows, `late` is a tuple that lay there and comes too late."""

    watermark: int
    begun: int
    lengths: tuple[int, ...]
    late: str = ""


class Check(NamedTuple):
    """A check under way: its number, the partitions that it has listed (0: not yet), the high watermarks (or None)."""

    number: int
    listed: int = 0
    highs: tuple[int, ...] | None = None


class State(NamedTuple):
    """The broker: `appended` and `stable` messages per partition, `exists` partitions. ZooKeeper: `known` partitions.
    Redis: `begun` and `done` checks, `idle` = high watermark where it has not moved. The leader: its `check`, `last`
    number and `highs` as of the check before. The reducer: partitions in its `view`, `merged`, `waiting` watermarks, what
    is `closed` and not yet committed, `published`."""

    appended: tuple[int, ...] = (0, 0, 0)
    stable: tuple[int, ...] = (0, 0, 0)
    exists: int = 2
    known: int = 2
    begun: int = 0
    done: int = 0
    idle: tuple[int, ...] = (NEVER, NEVER, NEVER)
    check: Check | None = None
    last: int = 0
    highs: tuple[int, ...] = (NEVER, NEVER, NEVER)
    view: int = 2
    merged: tuple[int, ...] = (0, 0, 0)
    waiting: tuple[Reached, ...] = ()
    closed: Reached | None = None
    published: int = 0
    checks: int = 4
    leaders: int = 0
    additions: int = 0
    deposals: int = 0
    frozen: int | None = None
    wrong: str = ""


class Watermarks(Model[State]):
    """close.watermark, CheckedWatermark and TopicWatch.look, while the leader stays and so do the partitions."""

    rules = (21, 22, 23)
    times = ((1, 2), (1,), (1,))
    safeguards = {
        "own position at the high watermark": "close._stands_still: a fact counts only where everything is merged",
        "high, not last stable": "Wire.newest_ends: an open transaction is not idle",
        "a check begins later": "CheckedWatermark.offer: a check that began after the watermark was reached must end",
        "still reached": "CheckedWatermark.offer: a partition that has got records meanwhile is not idle any more",
        "numbered before asking": "TopicWatch.look: the number is published before the broker is asked",
        "never back": "QueryState.close: a watermark closes nothing that a greater one has closed",
    }

    def start(self) -> State:
        return State()

    def broken(self, state: State) -> str | None:
        return state.wrong or None

    def done(self, state: State) -> bool:
        return state.published > 1 or state.checks < 3

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        yield from self._produce(state)
        yield from self._lead(state)
        yield from self._reduce(state)

    # -- the broker -----------------------------------------------------------------------------------------------

    def _produce(self, state: State) -> Iterator[tuple[str, State]]:
        for p in range(state.exists):
            length = state.appended[p]
            if length < len(self.times[p]):
                longer = state._replace(appended=put(state.appended, p, length + 1))
                yield f"a tuple of time {self.times[p][length]} in partition {p}", longer._replace(
                    stable=put(state.stable, p, length + 1))
                if p == 1 and not self.on("high, not last stable"):
                    yield f"a tuple of time {self.times[p][length]} in partition {p}, its transaction is open", longer
            if state.stable[p] < length:
                yield f"the transaction in partition {p} ends", state._replace(stable=put(state.stable, p, length))
        if state.deposals:
            yield "partition 1 gets another leader, and the one before does not know it", state._replace(
                deposals=0, frozen=state.appended[1])
        if state.additions and state.exists == 2:
            yield "partition 2 is added", state._replace(exists=3, additions=0)

    # -- the leader -----------------------------------------------------------------------------------------------

    def _lead(self, state: State) -> Iterator[tuple[str, State]]:
        if state.leaders:
            last = state.last if self.on("numbers ascend over leaders") else 0
            yield "Candidate._take_over", state._replace(
                leaders=state.leaders - 1, check=None, last=last, highs=(NEVER,) * 3)
        check = state.check
        if check is None:
            if state.exists > state.known and not self.on("checks see partitions first"):
                yield "TopicWatch._add_partitions", state._replace(known=state.exists)
            if state.checks:
                begun = state.last + 1 if self.on("numbered before asking") else state.begun
                yield f"TopicWatch.look: check {state.last + 1} begins", state._replace(
                    check=Check(state.last + 1), last=state.last + 1, begun=begun, checks=state.checks - 1)
        elif not check.listed:
            if state.exists > state.known and self.on("checks see partitions first"):
                yield "TopicWatch._add_partitions", state._replace(known=state.exists, check=None)
            else:
                yield f"Wire.topic: {state.exists} partitions", state._replace(
                    check=check._replace(listed=state.exists))
        elif check.highs is None:
            highs = state.appended if self.on("high, not last stable") else state.stable
            if state.frozen is not None and not self.on("the newest leader is asked"):
                highs = put(highs, 1, state.frozen)
            yield f"Wire.newest_ends: {highs}", state._replace(check=check._replace(highs=highs))
        else:
            idle = tuple(high if high == before and p < check.listed else NEVER
                         for p, (high, before) in enumerate(zip(check.highs, state.highs, strict=True)))
            yield f"facts.lua: check {check.number} is done, idle at {idle}", state._replace(
                check=None, begun=check.number, done=check.number, idle=idle, highs=check.highs)

    # -- the reducer ----------------------------------------------------------------------------------------------

    def _reduce(self, state: State) -> Iterator[tuple[str, State]]:
        for p in range(state.view):
            if state.merged[p] < state.stable[p]:
                yield f"QueryState.accept: partition {p}, up to {state.merged[p] + 1}", state._replace(
                    merged=put(state.merged, p, state.merged[p] + 1))
        offered = self._offer(state)
        if offered != state:
            yield f"CheckedWatermark.offer: waiting {[w[:2] for w in offered.waiting]}", offered
        if state.closed:
            yield from self._commit(state)
        if state.view != state.known:
            kept = None if self.on("new partitions, committed state") else state.closed
            yield f"Holdings._keep_up: {state.known} partitions", state._replace(
                view=state.known, closed=kept, waiting=() if kept is None else state.waiting)

    def _commit(self, state: State) -> Iterator[tuple[str, State]]:
        if state.view == state.known or not self.on("commit checks the query set"):
            wrong = f"LATE: {state.closed.late} at watermark {state.closed.watermark}" if state.closed.late else ""
            if state.closed.watermark < state.published:
                wrong = f"WENT BACK: from {state.published} to {state.closed.watermark}"
            yield f"KeyPart.commit: watermark {state.closed.watermark}", state._replace(
                published=state.closed.watermark, closed=None, wrong=wrong)

    def _watermark(self, state: State) -> int | None:
        """close.watermark: as the code has it."""
        active, idle = [], []
        for p in range(state.view):
            merged = state.merged[p]
            seen = self.times[p][merged - 1] if merged else None
            at = state.idle[p] == merged or not self.on("own position at the high watermark")
            if state.idle[p] != NEVER and at:
                idle.append(seen)
            elif seen is None:
                return None
            else:
                active.append(seen)
        known = [seen for seen in idle if seen is not None]
        return min(active) if active else max(known, default=None)

    def _offer(self, state: State) -> State:
        """CheckedWatermark.offer and QueryState.close."""
        reached, waiting = self._watermark(state), list(state.waiting)
        if self.on("still reached"):
            waiting = [w for w in waiting if reached is not None and w.watermark <= reached]
        if reached is not None and (not waiting or reached > waiting[-1].watermark):
            waiting.append(Reached(reached, state.begun, state.appended))
        passed = [w for w in waiting if state.done > w.begun or not self.on("a check begins later")]
        kept = tuple(w for w in waiting if w not in passed)
        before = max(state.published, state.closed.watermark if state.closed else 0)
        if not passed or (passed[-1].watermark <= before and self.on("never back")):
            return state._replace(waiting=kept)
        return state._replace(waiting=kept, closed=passed[-1]._replace(late=self._late(state, passed[-1])))

    def _late(self, state: State, reached: Reached) -> str:
        """A tuple that lay in the log when the watermark was reached, and belongs to a window that it closes unmerged."""
        for p, length in enumerate(reached.lengths):
            for offset in range(state.merged[p], length):
                if self.times[p][offset] < reached.watermark:
                    return f"offset {offset} of partition {p}, of time {self.times[p][offset]}"
        return ""


class NewPartitions(Watermarks):
    """The same with a partition that is added, which the reducer hears of late."""

    times = ((1, 2), (2,), (1,))
    safeguards = {
        "checks see partitions first": "TopicWatch.look: done only once whatever is new stands in the query set",
        "commit checks the query set": "set_pointer: its version tells of partitions not known here",
        "new partitions, committed state": "Holdings._keep_up: windows that were closed without them are not committed",
    }

    def start(self) -> State:
        return State(checks=3, additions=1)


class NewLeader(Watermarks):
    """The same with a leader that another one follows."""

    safeguards = {"numbers ascend over leaders": "TopicWatch.look: a new leader's numbers are above all before"}

    def start(self) -> State:
        return State(leaders=1)


class DeposedLeader(Watermarks):
    """The same with a partition whose leader was deposed and answers on: its end stands still for whoever asks it."""

    safeguards = {"the newest leader is asked": "Wire.newest_ends: the latest leader that any broker knows"}

    def start(self) -> State:
        return State(deposals=1)
