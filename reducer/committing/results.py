"""Result rows of a key part: what a manifest says of them, and how those of many commits are put together (design, step 9).

Each commit that closes windows adds a segment of rows. When many have gathered, the first ones get a file of their own and
their description goes into an index, so that manifests do not grow and what is kept for days keeps no cells.
"""

from __future__ import annotations

import logging
from itertools import dropwhile

import pyarrow as pa
import pyarrow.compute as pc

from mars.adapters.storage import CorruptFileError, NewFile, StateAwayError, Storage
from mars.model.commits import QueryCommit, ResultSegment, Segment, dump_index

log = logging.getLogger("mars.reducer")
RECENT_MAX = 24  # each commit writes their descriptions anew
RESULTS_BYTES_MAX = 64 << 20  # put together at a time: all of it is held in memory, by readers too


def add_rows(storage: Storage, file: NewFile, entry: QueryCommit, rows: pa.Table, beside: list[str], now_ms: int,
             retention_ms: int) -> None:
    """Add the finished rows of the windows that close with a commit to its file, and to what it says of the query. Files
    that are written for it besides are added to `beside`."""
    _tidy_results(storage, file.folder, entry, rows, beside, now_ms, retention_ms)
    entry.results.append(describe(rows, file.add(rows_blob(rows)), now_ms))


def older_results(storage: Storage, entry: QueryCommit) -> list[ResultSegment] | None:
    """What the query's index describes; None if it does not read."""
    try:
        return storage.older_results(entry)
    except CorruptFileError as error:
        log.error("a description of older results does not read, and what it may name is kept: %s", error)
        return None


def is_together(path: str) -> bool:
    """Is it a file of results that were put together?"""
    return path.rpartition("/")[2].startswith("results-")


def describe(table: pa.Table, segment: Segment, now_ms: int) -> ResultSegment:
    """What a manifest says of result rows that are committed now."""
    starts, ends = (pc.min_max(table[name].cast(pa.int64())) for name in ("window_start", "window_end"))
    return ResultSegment(segment, table.num_rows, starts["min"].as_py(), starts["max"].as_py(), ends["max"].as_py(), now_ms,
                         ends["min"].as_py())


def _tidy_results(storage: Storage, folder: str, entry: QueryCommit, rows: pa.Table, beside: list[str], now_ms: int,
                  retention_ms: int) -> None:
    """When many result segments have gathered, put the rows of the first ones into one and its description into the index.
    They have files of their own, which are added to `beside`, so that what is kept for days does not keep the cells of a
    commit. A large segment gets a file by itself, one with each commit.

    What does not read stays described as it is, so that readers of these rows are told the file, and of no others. An
    index that does not read stays too, and what is put together then gathers in the commit, until the index reads again
    or all that it may name is older than the retention. `rows` are some of the query's."""
    held = 1 + max((n for n, r in enumerate(entry.results) if is_together(r.segment.path)), default=-1)
    if len(entry.results) - held < RECENT_MAX:
        return
    since_ms = now_ms - retention_ms
    gathered = entry.results[:held]
    try:
        older = older_results(storage, entry)
        together, new, others = _put_together(storage, entry.results[held:])
    except StateAwayError as error:
        log.warning("results are put together later: %s", error)
        return
    if together:
        [segment] = storage.write(folder, "results", [rows_blob(together)])
        beside.append(segment.path)
        # What did not read has windows among its own, and must not go before it.
        new.insert(0, describe(together, segment, now_ms))
    if older is None and entry.results[0].committed_ms > since_ms:
        entry.results = gathered + new + others
        return
    file = storage.new_file(folder, "index")
    entry.results_index = file.add(dump_index(_index(file, older, gathered, new, since_ms, rows)))
    file.write()
    beside.append(file.path)
    entry.results = others


def _index(file: NewFile, older: list[ResultSegment] | None, gathered: list[ResultSegment], new: list[ResultSegment],
           since_ms: int, rows: pa.Table) -> list[ResultSegment]:
    """What the next index says: `new`, and of the others those from the first one on that is young enough; before them, if
    that leaves out any, up to where rows are missing. `older` None: nobody knows what the last index named.
    `rows` are some of the query's."""
    results = [*(older or ()), *gathered]
    kept = list(dropwhile(lambda result: not result.rows or result.committed_ms <= since_ms, results))
    gone = [result.last_end_us for result in results[:len(results) - len(kept)]]
    if older is None:
        gone.append(min(result.first_start_us for result in gathered + new))
    if not gone:
        return kept + new
    blank = file.add(rows_blob(rows.slice(0, 0)))
    return [ResultSegment(blank, 0, max(gone), max(gone), max(gone), since_ms), *kept, *new]


def _put_together(storage: Storage, results: list[ResultSegment]
                  ) -> tuple[pa.Table | None, list[ResultSegment], list[ResultSegment]]:
    """The rows of the first segments, of as many as RESULTS_BYTES_MAX hold, but of one at least; those up to there that do
    not read; and the others, which later commits take."""
    tables: list[pa.Table] = []
    unread: list[ResultSegment] = []
    held = 0
    for number, result in enumerate(results):
        if tables and held + result.segment.length > RESULTS_BYTES_MAX:
            return pa.concat_tables(tables), unread, results[number:]
        try:
            tables.append(pa.ipc.open_stream(storage.read(result.segment)).read_all())
            held += result.segment.length
        except CorruptFileError as error:
            log.error("results are left where they are: %s", error)
            unread.append(result)
    return (pa.concat_tables(tables) if tables else None), unread, []


def rows_blob(table: pa.Table) -> bytes:
    """Result rows as they lie in a file."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
