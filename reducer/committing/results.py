"""Closed windows of a key part: how a manifest describes them, and how those of many commits are merged (step 9).

Each commit that closes windows adds a segment of them (reducer/committing/closed.py). When many have gathered, the first
ones are merged into a file of their own, and an index describes them. So manifests do not grow, and files that are kept for
days hold nothing of open windows.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from itertools import dropwhile

from mars.adapters.storage import CorruptFileError, NewFile, StateAwayError, Storage
from mars.model.commits import ChangingResults, QueryCommit, ResultSegment, Segment, dump_index
from reducer.committing.closed import Closed
from reducer.state.changelog import still_revised
from reducer.state.once import Once

log = logging.getLogger("mars.reducer")
RECENT_MAX = 24  # each commit writes their descriptions anew
RESULTS_BYTES_MAX = 64 << 20  # merged at a time: all of it is held in memory, by readers too


@dataclass
class Writing:
    """Adds closed windows to the file of a commit that is made at `now_ms`. What several queries keep is written once.
    `beside` are other files that were written for it."""

    storage: Storage
    file: NewFile
    now_ms: int
    retention_ms: int
    once: Once
    beside: list[str] = field(default_factory=list)

    def add(self, entry: QueryCommit, closed: Closed) -> None:
        """Add the windows of a query that close with the commit, and describe them in its entry."""
        kept, held = closed.plan.aggregation, (tuple(entry.results), entry.results_index)
        results, entry.results_index = self.once.get("tidy", kept, (), lambda: self._tidied(entry, closed), held)
        segment = self.once.get("closed", kept, [closed.table], lambda: self._written(closed))
        entry.results = [*results, segment]

    def add_late(self, entry: QueryCommit, late: Closed) -> None:
        """Add what has come too late, of a query that keeps it (LATE TO)."""
        beside = entry.of_late
        self.add(beside, late)
        entry.late, entry.late_index = beside.results, beside.results_index

    def _written(self, closed: Closed) -> ResultSegment:
        return closed.describe(self.file.add(closed.blob()), self.now_ms)

    def _tidied(self, entry: QueryCommit, closed: Closed) -> tuple[list[ResultSegment], Segment | None]:
        _tidy_results(self.storage, self.file.folder, entry, closed, self.beside, self.now_ms, self.retention_ms)
        return list(entry.results), entry.results_index


def older_results(storage: Storage, entry: QueryCommit) -> list[ResultSegment] | None:
    """The segments that the query's index describes; None if it cannot be read."""
    try:
        return storage.older_results(entry)
    except CorruptFileError as error:
        log.error("a description of older results does not read, and what it may name is kept: %s", error)
        return None


def is_together(path: str) -> bool:
    """Is it a file of merged results?"""
    return path.rpartition("/")[2].startswith("results-")


def _tidy_results(storage: Storage, folder: str, entry: QueryCommit, closed: Closed, beside: list[str], now_ms: int,
                  retention_ms: int) -> None:
    """When many result segments have gathered, merge the rows of the first ones into one segment, and describe it in the
    index. Both get files of their own, which are added to `beside`, so that files kept for days do not keep the cells of
    a commit. A large segment gets a file by itself, one per commit.

    A segment that cannot be read keeps its description, so that only readers of these rows get an error that names the
    file. An index that cannot be read stays too. Then merged segments gather in the commit, until the index can be read
    again or everything that it may name is older than the retention. `closed` are some of the query's windows."""
    held = 1 + max((n for n, r in enumerate(entry.results) if is_together(r.segment.path)), default=-1)
    if len(entry.results) - held < RECENT_MAX:
        return
    since_ms = now_ms - retention_ms
    gathered = entry.results[:held]
    try:
        older = older_results(storage, entry)
        together, new, others = _put_together(storage, entry.results[held:], closed)
    except StateAwayError as error:
        log.warning("results are put together later: %s", error)
        return
    if together:
        [segment] = storage.write(folder, "results", [together.blob()])
        beside.append(segment.path)
        # The unreadable segment has windows among these, and must not be deleted before them.
        new.insert(0, together.describe(segment, now_ms))
    if older is None and entry.results[0].committed_ms > since_ms:
        entry.results = gathered + new + others
        return
    file = storage.new_file(folder, "index")
    needed = still_revised(closed.plan.aggregation, closed.stream, entry.watermark, [*(older or ()), *gathered])
    entry.results_index = file.add(dump_index(_index(file, older, gathered, new, since_ms, closed, needed)))
    file.write()
    beside.append(file.path)
    entry.results = others


def _index(file: NewFile, older: list[ResultSegment] | None, gathered: list[ResultSegment], new: list[ResultSegment],
           since_ms: int, closed: Closed, needed: list[ResultSegment]) -> list[ResultSegment]:
    """The content of the next index: `new`, and the older segments from the first one on that is young enough, or `needed`
    by the state. If any are
    left out, it begins with the place up to which rows are missing. `older` is None if nobody knows what the last index
    named. `closed` are some of the query's windows."""
    results = [*(older or ()), *gathered]
    kept = list(dropwhile(lambda result: not result.rows or (result.committed_ms <= since_ms and result not in needed),
                          results))
    gone = [result.last_end_us for result in results[:len(results) - len(kept)]]
    if older is None:
        gone.append(min(result.first_start_us for result in gathered + new))
    if not gone:
        return kept + new
    blank = file.add(closed.none().blob())
    until = max(gone)
    described = ResultSegment(blank, 0, until, until, until, since_ms)
    if closed.plan.aggregation.is_changelog:
        changes = max((result.last_change for result in results[:len(results) - len(kept)]), default=0)
        described = ChangingResults(blank, 0, until, until, until, since_ms, changes=(0, changes))
    return [described, *kept, *new]


def _put_together(storage: Storage, results: list[ResultSegment], closed: Closed
                  ) -> tuple[Closed | None, list[ResultSegment], list[ResultSegment]]:
    """Three things: what the first segments hold, as many as have one form and fit in RESULTS_BYTES_MAX, but at least one;
    the segments among them that cannot be read; and the other segments, which later commits take."""
    blobs: list[bytes] = []
    unread: list[ResultSegment] = []
    held, are_cells, others = 0, results[0].are_cells, list[ResultSegment]()
    for number, result in enumerate(results):
        if result.are_cells != are_cells or (blobs and held + result.segment.length > RESULTS_BYTES_MAX):
            others = results[number:]
            break
        try:
            blobs.append(storage.read(result.segment))
            held += result.segment.length
        except CorruptFileError as error:
            log.error("results are left where they are: %s", error)
            unread.append(result)
    return (closed.together(blobs, are_cells) if blobs else None), unread, others
