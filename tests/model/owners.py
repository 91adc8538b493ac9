"""Owners of a key part that change: commits in steps, unknown outcomes, files, trimming, and the bound on claims.

One key part, one partition of N offsets, two reducers of which either may be paused at any step and go on as a zombie.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Model, put

N, BOUND = 3, 1


class Part(NamedTuple):
    """A KeyPart in a reducer. `step`: '' | 'loading' | 'written' | 'unknown' | 'committed' | 'trimmed'; `file` is the
    manifest that a commit under way has written, `unused` the files that it has listed to be deleted afterwards."""

    owner: int
    pointer: int = -1
    committed: int = 0
    position: int = 0
    told: bool = False
    step: str = ""
    file: int = 0
    unused: tuple[int, ...] = ()


class State(NamedTuple):
    """ZooKeeper: who owns (`assigned`, `owner` version) and the pointer (version, position, file); `late` is a transaction
    still on its way. Files of the state URI, and those of them that are not durable (`loose`). Redis: how far claims went,
    the log from there back to what was trimmed, the position told, the owner seen last."""

    assigned: int = 0
    owner: int = 1
    pointer: tuple[int, int, int] = (0, 0, 0)
    late: Part | None = None
    files: tuple[int, ...] = (0,)
    loose: tuple[int, ...] = ()
    names: int = 1
    cursor: int = 0
    log: tuple[int, ...] = ()
    told: int = 0
    seen: int = 0
    parts: tuple[Part | None, Part | None] = (None, None)
    assignments: int = 1
    faults: int = 1
    wrong: str = ""


class Owners(Model[State]):
    """KeyPart.load, commit and _tell of two reducers against each other."""

    rules = (3, 8, 14, 24)
    safeguards = {
        "commit checks the assignment": "set_pointer: the owner znode's version",
        "commit checks the pointer": "set_pointer: the pointer is set against its version",
        "unknown outcome compared": "outcome: sync, read the pointer, compare",
        "trim after the commit": "KeyPart.commit: entries are deleted once the pointer is set",
        "trim refuses older owners": "trim.lua: by the assignment's epoch",
        "new owner tells first": "KeyPart.step: the committed positions lift the bound",
        "durable before the pointer": "Storage.write: fsync of file and folder",
        "listed before the commit": "Truth._unused_files: what a successor writes is not on the list",
    }
    def start(self) -> State:
        return State()

    def broken(self, state: State) -> str | None:
        if state.pointer[2] not in state.files:
            return "LOST: the file that the pointer names is gone"
        return state.wrong or None

    def done(self, state: State) -> bool:
        return state.pointer[1] == N

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        if state.cursor < min(N, state.told + BOUND):
            yield f"claim.lua, push.lua: [{state.cursor},{state.cursor + 1})", state._replace(
                cursor=state.cursor + 1, log=(*state.log, state.cursor))
        if state.assignments:
            yield f"Leader._assign: to reducer {1 - state.assigned}", state._replace(
                assigned=1 - state.assigned, owner=state.owner + 1, assignments=state.assignments - 1)
        if state.late:
            yield "ZooKeeper: the late transaction arrives", self._transact(state, state.late)._replace(late=None)
            yield "ZooKeeper: the late transaction is lost", state._replace(late=None)
        for i, part in enumerate(state.parts):
            if part is None:
                if state.assigned == i:
                    yield f"Holdings._keep_up: {i} is the owner", self._set(state, i, Part(state.owner, step="loading"))
                continue
            for step, after in self._reducer(state, i, part):
                yield f"{step} (reducer {i})", after
            if state.faults:
                yield f"reducer {i} is killed", self._set(state, i, None)._replace(
                    faults=state.faults - 1, loose=(), files=tuple(f for f in state.files if f not in state.loose))

    @staticmethod
    def _set(state: State, i: int, part: Part | None) -> State:
        return state._replace(parts=put(state.parts, i, part))

    def _reducer(self, state: State, i: int, part: Part) -> Iterator[tuple[str, State]]:
        if part.step == "loading":
            version, position, _ = state.pointer
            told = not self.on("new owner tells first")
            yield f"KeyPart.load: at {position}", self._set(state, i, Part(part.owner, version, position, position, told))
        elif part.step == "written":
            yield from self._point(state, i, part)
        elif part.step == "unknown":
            if part.file == state.pointer[2] or not self.on("unknown outcome compared"):
                yield "outcome: it is done", self._set(state, i, self._is_truth(part))
            else:
                yield "outcome: it is not done", self._set(state, i, None)
        elif part.step == "trimmed":
            yield from self._delete(state, i, part)
        elif part.step == "committed" or not part.told:
            yield from self._tell(state, i, part)
        else:
            yield from self._work(state, i, part)

    def _work(self, state: State, i: int, part: Part) -> Iterator[tuple[str, State]]:
        if state.owner != part.owner:
            yield "Reducer._follow: lets go", self._set(state, i, None)
        if part.position in state.log:
            merged = part._replace(position=part.position + 1)
            yield f"QueryState.accept: [{part.position},{merged.position})", self._set(state, i, merged)
        if part.position != part.committed:
            file, unused = state.names, tuple(f for f in state.files if f != state.pointer[2])
            written = self._set(state, i, part._replace(step="written", file=file, unused=unused))
            loose = () if self.on("durable before the pointer") else (file,)
            log = state.log if self.on("trim after the commit") else self._left(state, part.position)
            yield f"commit.prepare: {part.position} as file {file}", written._replace(
                names=file + 1, files=(*state.files, file), loose=loose, log=log)

    def _point(self, state: State, i: int, part: Part) -> Iterator[tuple[str, State]]:
        after = self._transact(state, part)
        done = after is not state
        yield f"set_pointer: {part.position} {'is the truth' if done else 'is refused'}", self._set(
            after, i, self._is_truth(part) if done else None)
        if state.faults:
            lost = "set_pointer: the connection is lost"
            unknown = state._replace(faults=state.faults - 1, parts=put(state.parts, i, part._replace(step="unknown")))
            yield f"{lost} after it arrived", self._transact(unknown, part)
            yield f"{lost} while it is under way", unknown._replace(late=part)

    def _transact(self, state: State, part: Part) -> State:
        """ZooKeeper.transact: the state afterwards, the same if a check fails."""
        if ((part.owner != state.owner and self.on("commit checks the assignment"))
                or (part.pointer != state.pointer[0] and self.on("commit checks the pointer"))):
            return state
        wrong = f"WENT BACK: from {state.pointer[1]} to {part.position}" if part.position < state.pointer[1] else state.wrong
        return state._replace(pointer=(state.pointer[0] + 1, part.position, part.file), wrong=wrong)

    @staticmethod
    def _is_truth(part: Part) -> Part:
        return part._replace(step="committed", pointer=part.pointer + 1, committed=part.position)

    def _tell(self, state: State, i: int, part: Part) -> Iterator[tuple[str, State]]:
        if state.seen > part.owner and self.on("trim refuses older owners"):
            yield "trim.lua: refused", self._set(state, i, None)
        else:
            step = "trimmed" if part.step == "committed" else ""
            yield f"trim.lua: up to {part.committed}", self._set(state, i, part._replace(told=True, step=step))._replace(
                log=self._left(state, part.committed), told=part.committed, seen=max(state.seen, part.owner))

    def _delete(self, state: State, i: int, part: Part) -> Iterator[tuple[str, State]]:
        """Old files of the state URI. A zombie may do it late."""
        gone = part.unused
        if not self.on("listed before the commit"):
            gone = tuple(f for f in state.files if f != part.file)
        yield f"Storage.delete: files {gone}", self._set(state, i, part._replace(step="", unused=()))._replace(
            files=tuple(f for f in state.files if f not in gone))

    @staticmethod
    def _left(state: State, position: int) -> tuple[int, ...]:
        return tuple(offset for offset in state.log if offset >= position)
