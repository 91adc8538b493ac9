"""What readers must be shown: exactly what the commits hold, of which every one was compared with the topic before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from mars.model.commits import Manifest, QueryCommit
from mars.results.cursors import Selection
from mars.results.formats import timestamp_text
from mars.results.pages import Page
from mars.results.snapshot import Snapshot
from tests.simulate import cells
from tests.simulate.check import Broken

Row = tuple[int, int, bool]  # start of the window in ms, id, is the window still open?
Parts = tuple[QueryCommit | None, ...]


class Shown:
    """Each query as of each of its commit numbers. `held` gives all cells of one key part's commit."""

    def __init__(self, key_parts: int, held: Callable[[QueryCommit], list[int]]) -> None:
        self.key_parts, self.held = key_parts, held
        self.parts: dict[tuple[str, int], Parts] = {}
        self.last: dict[str, int] = {}

    def note(self, query: str, manifests: dict[int, Manifest]) -> None:
        """A commit of some key part has changed the query."""
        known = [manifests.get(k) for k in range(self.key_parts)]
        parts = tuple(manifest.queries.get(query) if manifest else None for manifest in known)
        self.last[query] = sum(part.commits for part in parts if part)
        self.parts[query, self.last[query]] = parts

    def newest(self, query: str) -> int:
        """The number of the last commit."""
        return self.last.get(query, 0)

    def rows(self, parts: Parts) -> tuple[list[Row], int | None]:
        """All rows in their order, and the watermark."""
        marks = [(part.watermark if part.published is None else part.published) if part else None for part in parts]
        bound = None if None in marks else min(marks)
        found = [cell for part in parts if part for cell in self.held(part)]
        return [(cell >> cells.ID_BITS, cell & cells.IDS, bound is None or (cell >> cells.ID_BITS) + cells.WINDOW_MS > bound)
                for cell in sorted(found)], bound

    def compare(self, query: str, selection: Selection, first: Page, rows: list[Row], is_all: bool) -> None:
        """The rows of some pages against those of the commit that the first one is of; all of them, or as many as there are.
        Raises Broken."""
        parts = self.parts.get((query, first.commit), (None,) * self.key_parts if not first.commit else None)
        if parts is None:
            raise Broken(f"I5: a page of {query} is of commit {first.commit}, which never was")
        wanted, bound = self.rows(parts)
        if first.watermark != timestamp_text(None if bound is None else bound * 1000):
            raise Broken(f"I5: a page of {query} of commit {first.commit} is of watermark {first.watermark}, not {bound}")
        if any(part and part.published is not None for part in parts):
            raise Broken(f"I5: a page of {query} shows commit {first.commit}, in which closed windows are made again")
        if not selection.partial:
            wanted = [row for row in wanted if not row[2]]
        if selection.descending:
            wanted.reverse()
        if rows != (wanted if is_all else wanted[:len(rows)]):
            self._explain(query, first.commit, rows, wanted)

    def follow(self, query: str, rows: list[Row], snapshot: Snapshot | None) -> None:
        """The rows of all events so far; of `snapshot` the last ones were. Raises Broken."""
        if snapshot is None:
            return
        parts = self.parts.get((query, snapshot.commit), (None,) * self.key_parts)
        wanted, _bound = self.rows(parts)
        closed = [row for row in wanted if not row[2]]
        if rows[:len(closed)] != closed:  # those behind are of an API that knows a newer commit
            self._explain(query, snapshot.commit, rows, closed)

    def _explain(self, query: str, commit: int, rows: list[Row], wanted: list[Row]) -> None:
        doubled = [row for row, count in Counter(row[:2] for row in rows).items() if count > 1]
        if doubled:
            raise Broken(f"I4: readers of {query} are shown tuples twice at commit {commit}: {doubled}")
        missing, extra = sorted(set(wanted) - set(rows)), sorted(set(rows) - set(wanted))
        raise Broken(f"I2: readers of {query} are shown other rows than commit {commit} holds: missing {missing}, "
                     f"extra {extra}, order {rows} instead of {wanted}")
