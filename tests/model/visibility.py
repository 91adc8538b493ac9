"""What a reader and a sink see: windows that every key part has passed, whole, and never another way afterwards.

Two key parts, one window of which each key part holds one row; twice a commit may be found damaged and an earlier one taken.
The reader reads one pointer after the other. The sink writes rows and its progress, and may be killed between the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Model, put

KEY_PARTS = (0, 1)
GROUPS = (True, False)  # key part 1 has no group in the window: only its position and watermark move


class Commit(NamedTuple):
    """What a pointer names: the number of commits, whether the window's tuples are merged, the published watermark, how
    often the window's row stands in the results, and the watermark that readers knew while lost rows are made again."""

    number: int = 0
    merged: bool = False
    watermark: int = 0
    rows: int = 0
    published: int = 0


class State(NamedTuple):
    """Working and committed key parts, the commits before them, what a reader has read of its present round, what it saw
    (rows, or -1: the window was not visible yet); the sink's rows and progress, and whether it is between the two."""

    parts: tuple[Commit, Commit] = (Commit(), Commit())
    committed: tuple[Commit, Commit] = (Commit(), Commit())
    earlier: tuple[Commit, Commit] = (Commit(), Commit())
    reading: tuple[Commit, ...] = ()
    saw: int = -1
    sink: int = 0
    progress: int = 0
    writing: bool = False
    damages: int = 2
    kills: int = 1
    wrong: str = ""


class Visibility(Model[State]):
    """Closing, committing, falling back, reading, delivering to a sink."""

    rules = (21, 24, 25, 27)
    safeguards = {
        "every key part has passed": "mars/results/pages.py: a window shows once all pointers are past it",
        "commit when only positions moved": "KeyPart.due_in_s: a key part without groups must not hide a window",
        "closed windows stay closed": "cells.late_split: rows at or below the published watermark are not written again",
        "readers wait for lost rows": "SnapshotReader.read_whole: what they have seen is made again first",
        "a second fall-back remembers too": "history.pointer_to: the watermark that readers knew before the first one",
        "sink's progress with its rows": "PostgresTarget.deliver, KafkaTarget.deliver: one transaction in the target",
        "sink waits for all key parts": "tails.next_block: windows are given when they are visible",
    }

    def start(self) -> State:
        return State()

    def broken(self, state: State) -> str | None:
        return state.wrong or None

    def done(self, state: State) -> bool:
        return state.saw == 1 and state.sink >= 1 and state.progress == 1

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        for k in KEY_PARTS:
            yield from self._reduce(state, k)
        yield from self._read(state)
        yield from self._feed(state)

    # -- reducers -------------------------------------------------------------------------------------------------

    def _reduce(self, state: State, k: int) -> Iterator[tuple[str, State]]:
        part = state.parts[k]
        if not part.merged:
            yield f"QueryState.accept: key part {k} has the window's tuples", self._set(state, k, part._replace(merged=True))
        again = not self.on("closed windows stay closed") and part.merged and part.rows < 2 and state.damages == 0
        if part.merged and (not part.watermark or again):
            rows = part.rows + GROUPS[k] if not part.rows or again else part.rows
            yield f"QueryState.close: key part {k} closes the window", self._set(
                state, k, part._replace(watermark=1, rows=rows, published=0))
        due = part.rows != state.committed[k].rows or (part != state.committed[k] and (
            self.on("commit when only positions moved") or GROUPS[k]))
        if due:
            made = part._replace(number=part.number + 1)
            yield f"KeyPart.commit: key part {k}, commit {made.number}", self._set(state, k, made)._replace(
                committed=put(state.committed, k, made), earlier=put(state.earlier, k, state.committed[k]))
        if state.damages and state.committed[k] != state.earlier[k]:
            yield from self._fall_back(state, k)

    @staticmethod
    def _set(state: State, k: int, part: Commit) -> State:
        return state._replace(parts=put(state.parts, k, part))

    def _fall_back(self, state: State, k: int) -> Iterator[tuple[str, State]]:
        lost, before = state.committed[k], state.earlier[k]
        known = max(lost.watermark, lost.published if self.on("a second fall-back remembers too") else 0)
        waits = known > before.watermark and self.on("readers wait for lost rows")
        again = before._replace(number=lost.number + 1, published=known if waits else 0)
        yield (f"fall_back: key part {k}: a file is damaged, from commit {lost.number} to {before.number}",
               self._set(state, k, again)._replace(committed=put(state.committed, k, again), damages=state.damages - 1))

    # -- readers and sinks ----------------------------------------------------------------------------------------

    def _visible(self, commits: tuple[Commit, ...], safeguard: str) -> bool:
        passed = [commit.watermark >= 1 for commit in commits]
        return all(passed) if self.on(safeguard) else any(passed)

    def _read(self, state: State) -> Iterator[tuple[str, State]]:
        if len(state.reading) < len(KEY_PARTS):
            k = len(state.reading)
            yield f"Results: reads the pointer of key part {k}", state._replace(reading=(*state.reading, state.committed[k]))
            return
        if any(commit.published for commit in state.reading):
            yield "Results: waits", state._replace(reading=())
            return
        saw = -1
        if self._visible(state.reading, "every key part has passed"):
            saw = sum(commit.rows for commit in state.reading)
        wrong = ""
        if saw not in (-1, sum(GROUPS)):
            wrong = f"TORN: the window is shown with {saw} rows of {sum(GROUPS)}"
        elif saw < state.saw:
            wrong = "WENT BACK: the window was visible and is not any more"
        yield f"Results: {'the window is not visible' if saw < 0 else f'{saw} rows'}", state._replace(
            reading=(), saw=saw, wrong=wrong)

    def _feed(self, state: State) -> Iterator[tuple[str, State]]:
        rows = sum(commit.rows for commit in state.committed)
        if state.writing:
            yield "(sink) writes its progress", state._replace(progress=1, writing=False)
            if state.kills:
                yield "the reducer is killed", state._replace(writing=False, kills=0)
        elif not state.progress and self._visible(state.committed, "sink waits for all key parts"):
            wrong = "" if state.sink + rows == sum(GROUPS) else f"DOUBLED or LOST in the sink: {state.sink + rows} rows"
            if self.on("sink's progress with its rows"):
                yield "(sink) writes rows and progress", state._replace(sink=rows, progress=1, wrong=wrong)
            else:
                yield "(sink) writes rows", state._replace(sink=state.sink + rows, writing=True, wrong=wrong)
