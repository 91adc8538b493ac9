"""A log that is cut and written again between claims: is it noticed, and never where nothing was cut?

One partition. Whoever claims reads on from where anybody has read, without knowing of which log that was. What was read may
be merged long after; what the leader tells of the log may be older than it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mars.model.log_epochs import Epochs, compare, note
from tests.model.explore import Model

LENGTH, CUTS = 2, 2


class State(NamedTuple):
    """The broker: the epoch of each record, and where epochs begin. Pieces that are pushed: start and epochs of their
    records. The owner: epochs of the records it has counted, what it has noted, whether it is to compare. What the leader
    has told: the current epoch, and the ends of earlier ones."""

    log: tuple[int, ...] = ()
    begins: tuple[tuple[int, int], ...] = ((0, 0),)
    claimed: int = 0
    pieces: tuple[tuple[int, tuple[int, ...]], ...] = ()
    counted: tuple[int, ...] = ()
    noted: tuple[tuple[int, int], ...] = ()
    compares: bool = False
    told: tuple[int, tuple[tuple[int, int], ...]] | None = None
    stopped: str = ""
    cuts: int = CUTS

    @property
    def epoch(self) -> int:
        """Of the broker that leads."""
        return self.begins[-1][0]

    @property
    def differs(self) -> bool:
        """Has something been counted that is not in the log?"""
        return self.log[:len(self.counted)] != self.counted

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """Earlier epochs of which there are records, with their ends; before them, one for all that are forgotten."""
        first, begin = self.begins[0]
        forgotten = ((first - 1, begin),) if first else ()
        return forgotten + tuple((epoch, self.begins[i + 1][1]) for i, (epoch, _) in enumerate(self.begins[:-1]))


class Truncating(Model[State]):
    """What the leader asks the broker, what commits note, and when owners compare both."""

    rules = (12,)
    safeguards = {
        "each epoch is noted": "log_epochs.note: also of what was read before the last epoch began",
        "compared when the leader tells": "Logs.replaced: also where nothing more is read",
        "compared when more is merged": "Logs.replaced: also what was read before the log was cut, and is merged after",
        "asked for each leader": "TopicWatch._logs: whenever the leader epoch is another one",
        "only of earlier epochs": "Epochs.differs_from: what is told may be older than what was read",
    }

    def start(self) -> State:
        return State()

    def broken(self, state: State) -> str | None:
        if state.stopped == "falsely":
            return "FALSE ALARM: the query stopped, and the log has all that it has counted"
        knows = state.told is not None and state.told[0] == state.epoch and not state.compares and not state.pieces
        if knows and state.differs and not state.stopped:
            return f"SILENT: counted {state.counted}, the log has {state.log}"
        return None

    def done(self, state: State) -> bool:
        return state.stopped != "" or (not state.differs and len(state.counted) == LENGTH)

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        if state.stopped:
            return
        if len(state.log) < LENGTH:
            yield "a record is written", state._replace(log=(*state.log, state.epoch))
        for left in range(len(state.log) if state.cuts else 0):
            yield f"the log is cut at {left}", state._replace(
                log=state.log[:left], cuts=state.cuts - 1,
                begins=(*(pair for pair in state.begins if pair[1] < left), (state.epoch + 1, left)))
        if state.claimed < len(state.log):
            yield "Fetching._fetch: all that is new", state._replace(
                pieces=(*state.pieces, (state.claimed, state.log[state.claimed:])), claimed=len(state.log))
        if state.told is None or (state.told[0] != state.epoch and self.on("asked for each leader")):
            yield "TopicWatch._logs", state._replace(
                told=(state.epoch, state.ends), compares=state.compares or self.on("compared when the leader tells"))
        if state.pieces:
            yield "QueryState._merge", self._merge(state)
        if state.compares and state.told is not None:
            yield "Logs.replaced", self._compare(state)

    def _merge(self, state: State) -> State:
        (start, records), *pieces = state.pieces
        noted = list(state.noted) if self.on("each epoch is noted") else []
        note(noted, records[-1], start + len(records))
        return state._replace(pieces=tuple(pieces), counted=state.counted + records, noted=tuple(noted),
                              compares=state.compares or self.on("compared when more is merged"))

    def _compare(self, state: State) -> State:
        current, ends = state.told
        noted = list(state.noted)
        found = compare(noted, Epochs(current if self.on("only of earlier epochs") else CUTS + 1, ends))
        stopped = "" if found is None else "rightly" if state.differs else "falsely"
        return state._replace(noted=tuple(noted), compares=False, stopped=stopped)
