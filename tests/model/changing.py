"""What a reader of rows that change has: the rows of the last commit, wherever it goes on and whatever is lost meanwhile.

One key part, three tuples of two rows, and a window that closes behind them. The owner may lose what it has not committed,
and once the last commit may be found damaged and the one before it taken. The reader takes one row at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Model, put

ROW_OF = (0, 1, 0)  # of each tuple
WHOLE = len(set(ROW_OF))


class Cell(NamedTuple):
    """A row as it is kept: its tuples, whether it is final, and the commit that changed it last."""

    tuples: int = 0
    final: bool = False
    changed: int = 0


class Commit(NamedTuple):
    """The number of the commit, how many tuples are merged, and the rows."""

    number: int = 0
    position: int = 0
    cells: tuple[Cell, ...] = (Cell(),) * WHOLE


class State(NamedTuple):
    """The working state, the last commit and the one before; the reader's place, a commit and how many rows of it, and the
    tuples of each row that it has, and whether it is final."""

    now: Commit = Commit()
    committed: Commit = Commit()
    earlier: Commit = Commit()
    place: tuple[int, int] = (0, WHOLE)
    has: tuple[tuple[int, bool], ...] = ((0, False),) * WHOLE
    damages: int = 1


class Changing(Model[State]):
    """Stamping, committing, falling back, reading."""

    rules = (24, 25)
    safeguards = {
        "stamped with the next commit": "ChangingState._cells: no reader has the changes of a commit that is not made yet",
        "the greatest stamp counts": "stamps._merge: a row that changes again comes again",
        "closing is a change": "ChangingState.closed_cells: a row that is read already becomes final",
        "a place may be inside a commit": "changes._slices: what of a commit was not given yet comes next",
        "numbers are never used again": "fallback._choose: what is merged again is behind every reader's place",
    }

    def start(self) -> State:
        return State()

    def broken(self, state: State) -> str | None:
        """A reader behind the last commit has its rows. After a fall-back it may have more, until that is merged again."""
        rows = tuple((cell.tuples, cell.final) for cell in state.committed.cells)
        is_behind = state.place == (state.committed.number, WHOLE)
        return f"MISSED: it has {state.has}" if state.damages and is_behind and state.has != rows else None

    def done(self, state: State) -> bool:
        return state.has == tuple((ROW_OF.count(row), True) for row in range(WHOLE))

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        now, last = state.now, state.committed
        number = last.number + self.on("stamped with the next commit")
        if now.position < len(ROW_OF):
            row = ROW_OF[now.position]
            before = now.cells[row]
            changed = number if self.on("the greatest stamp counts") or not before.tuples else before.changed
            cells = put(now.cells, row, before._replace(tuples=before.tuples + 1, changed=changed))
            yield f"QueryState.accept: tuple {now.position} of row {row}", state._replace(
                now=now._replace(position=now.position + 1, cells=cells))
        elif not all(cell.final for cell in now.cells):
            closing = {"changed": last.number + 1} if self.on("closing is a change") else {}
            cells = tuple(cell._replace(final=True, **closing) for cell in now.cells)
            yield "QueryState.close: the window closes", state._replace(now=now._replace(cells=cells))
        if (now.position, now.cells) != (last.position, last.cells):
            made = now._replace(number=last.number + 1)
            yield f"KeyPart.commit: commit {made.number}", state._replace(now=made, committed=made, earlier=last)
            yield "the owner is killed: what was not committed is merged again", state._replace(now=last)
        if state.damages and last != state.earlier:
            again = state.earlier._replace(
                number=last.number + 1 if self.on("numbers are never used again") else state.earlier.number)
            yield f"fall_back: from commit {last.number} to {state.earlier.number}", state._replace(
                now=again, committed=again, earlier=again, damages=0)
        yield from self._read(state)

    def _read(self, state: State) -> Iterator[tuple[str, State]]:
        """The next change behind the place; behind the last one the place is the whole commit."""
        found = sorted((cell.changed, row) for row, cell in enumerate(state.committed.cells)
                       if cell.tuples and (cell.changed, row) >= state.place)
        if not found:
            if state.place < (state.committed.number, WHOLE):
                yield "changes.changed: nothing more", state._replace(place=(state.committed.number, WHOLE))
            return
        commit, row = found[0]
        cell = state.committed.cells[row]
        place = (commit, row + 1 if self.on("a place may be inside a commit") else WHOLE)
        yield f"changes.changed: row {row} of commit {commit}", state._replace(
            place=place, has=put(state.has, row, (cell.tuples, cell.final)))
