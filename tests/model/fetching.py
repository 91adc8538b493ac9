"""Fetching a claimed range: when is it complete, and is it still the log that the claim was made of?

One partition, a claim of [0, 2). Answers of the broker may be empty because it throttles, because another partition took
the room, or because an open transaction holds the last stable offset back; the topic may be deleted and made anew, the log
may be cut and written again by an unclean election.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Model

END = 2


class State(NamedTuple):
    """The broker: which topic it is (`topic`) and which life of its log (`epoch`), how much is stable, whether records of
    the range remain (not all offsets hold one). The reader: how far it is, from which log, whether it is through."""

    topic: int = 1
    epoch: int = 1
    start: int = 0
    records: tuple[int, ...] = (0, 1)
    stable: int = 1
    at: int = 0
    read: tuple[tuple[int, int, int], ...] = ()
    through: str = ""
    faults: int = 1


class Fetching(Model[State]):
    """Reader.read and what the fetch request carries."""

    rules = (12, 16)
    safeguards = {
        "throttled answers are no end": "Reader._next: an empty answer counts only if it was not throttled",
        "asked alone": "Reader._next: an empty answer counts only for a partition asked alone",
        "last stable offset at the end": "Reader._next: an empty answer counts only with all of the range stable",
        "topic id in the request": "wire.Wire.fetch: a topic made anew is another one",
        "leader epoch in the request": "wire.Wire.fetch: a log that was cut and written again says so",
        "no reset": "errors.OffsetOutOfRange: a position that is gone is an error, never the nearest other one",
    }

    def start(self) -> State:
        return State()

    def broken(self, state: State) -> str | None:
        if len({entry[:2] for entry in state.read}) > 1:
            return f"MIXED: one batch of two logs, {state.read}"
        read = tuple(entry[2] for entry in state.read)
        wanted = tuple(offset for offset in (0, 1) if offset < END)
        if state.through == "complete" and read != wanted:
            return f"LOST: the batch is complete with {read}"
        return None

    def done(self, state: State) -> bool:
        return state.through != ""

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        if state.through:
            return
        if state.stable < END:
            yield "the open transaction ends", state._replace(stable=END)
        yield from self._empty(state)
        yield from self._fetch(state)
        if state.faults:
            yield "the topic is deleted and made anew", state._replace(topic=2, epoch=1, faults=0)
            yield "the log is cut at 0 and written again", state._replace(epoch=2, faults=0)
            yield "retention deletes offset 0", state._replace(start=1, faults=0)

    def _empty(self, state: State) -> Iterator[tuple[str, State]]:
        complete = state._replace(through="complete")
        for safeguard, text in (("throttled answers are no end", "throttled"),
                                ("asked alone", "another partition was larger")):
            yield f"Reader._next: empty, {text}", state if self.on(safeguard) else complete
        if state.stable < END and state.at >= state.stable:
            known = self.on("last stable offset at the end")
            yield "Reader._next: empty up to the last stable offset", state if known else complete

    def _fetch(self, state: State) -> Iterator[tuple[str, State]]:
        first = state.read[0][:2] if state.read else (1, 1)
        if state.topic != 1 and self.on("topic id in the request"):
            yield "TopicRecreated: the queries stop", state._replace(through="TOPIC_RECREATED")
        elif state.epoch != first[1] and state.topic == 1 and self.on("leader epoch in the request"):
            yield "LogTruncated: the queries stop", state._replace(through="LOG_TRUNCATED")
        elif state.at < state.start and self.on("no reset"):
            yield "OffsetOutOfRange: the queries stop", state._replace(through="DATA_LOSS")
        elif state.at < state.stable:
            at = max(state.at, state.start)
            read = (*state.read, (state.topic, state.epoch, at))
            yield f"Reader._next: offset {at}", state._replace(
                at=at + 1, read=read, through="complete" if at + 1 >= END else "")
