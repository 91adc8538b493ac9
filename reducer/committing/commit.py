"""One commit of a key part: one file, then one ZooKeeper transaction (design, step 9; rule 3).

A commit costs what changed: each writes the cells merged since the last one (a delta); now and then all open cells are
written anew (a base), so that neither the number of segments nor what a restart must read grows.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

import pyarrow as pa
import pyarrow.compute as pc

from mars.adapters.storage import STATE_AWAY, CorruptFileError, NewFile, StateAwayError, Storage
from mars.algebra import cells_finish
from mars.algebra.cells_wire import encode
from mars.model.commits import Manifest, QueryCommit, ResultSegment, Segment, dump_index
from reducer.committing.history import Point
from reducer.state.merge import QueryState
from reducer.state.uncomputable import computing

log = logging.getLogger("mars.reducer")
DELTAS_MAX = 32
RECENT_MAX = 24  # each commit writes their descriptions anew
RESULTS_BYTES_MAX = 64 << 20  # put together at a time: all of it is held in memory, by readers too
KEEP_UNUSED_S = 120


@dataclass
class Prepared:
    """A manifest whose files are durable, and for each query that it changes the cells of its state, one table for
    each segment."""

    manifest: Manifest
    segment: Segment
    open: dict[str, list[pa.Table]]


def folder(stream_id: int, key_part: int) -> str:
    """Where a key part's files lie, under the state URI."""
    return f"{stream_id}/{key_part}"


def prepare(storage: Storage, manifest: Manifest, states: dict[str, QueryState], retention_ms: int,
            copied: Iterable[str] = ()) -> Prepared:
    """Write the next commit: cells, results, and last the manifest that names them, in one file. `manifest` is the last
    one; `states` are the running queries. Their working state is folded, so that a second call without new entries
    writes the same again; UncomputableError, for one of them, leaves all as they were. Of the resting queries `copied` the
    state is written anew as it is; CorruptFileError if it does not read."""
    file = storage.new_file(folder(manifest.stream_id, manifest.key_part), "commit")
    after = replace(manifest, commit=manifest.commit + 1, queries=dict(manifest.queries))
    open_, beside = {}, []  # `beside`: files that were written for this commit already
    try:
        for id_, state in states.items():
            after.queries[id_] = entry = state.commit.copy()
            if state.changed:
                entry.commits += 1
                with computing(id_):
                    open_[id_] = _add_state(file, state, entry)
                _add_results(storage, file, state, entry, retention_ms, beside)
        for id_ in copied:
            after.queries[id_] = entry = manifest.queries[id_].copy()
            entry.state = [file.add(storage.read(segment)) for segment in entry.state]
        segment = file.add(after.dump())
        file.write()
    except Exception:
        for path in beside:  # else each try of a commit that finds no room takes more of it
            with contextlib.suppress(OSError):
                storage.delete(path)
        raise
    return Prepared(after, segment, open_)


def adopt(states: dict[str, QueryState], prepared: Prepared) -> None:
    """The commit is the truth: the working state takes over what it says."""
    for id_, tables in prepared.open.items():
        states[id_].adopt(prepared.manifest.queries[id_], tables)


def unused_files(storage: Storage, prepared: Prepared, kept: Sequence[Point] = ()) -> list[str]:
    """Files of the key part that neither the prepared commit nor a kept one names, and that are too old for a reader of
    another one."""
    manifest = prepared.manifest
    used = {prepared.segment.path} | {point.earlier.manifest.path for point in kept if point.earlier.manifest}
    oldest = time.time() - KEEP_UNUSED_S
    try:
        named, unread = _named_files(storage, [manifest, *(point.manifest for point in kept)])
        files = list(storage.files(folder(manifest.stream_id, manifest.key_part)))
    except STATE_AWAY as error:  # no reason not to commit
        log.warning("files that nothing names are deleted later: %s", error)
        return []
    return [path for path, modified in files
            if path not in used | named and modified < oldest and not (unread and _is_together(path))]


def _named_files(storage: Storage, manifests: Iterable[Manifest]) -> tuple[set[str], bool]:
    """What the manifests name; and does an index not read? It may be put back from a backup, and names results that were
    put together."""
    named, unread = set(), False
    for entry in [entry for manifest in manifests for entry in manifest.queries.values()]:
        older = _older_results(storage, entry)
        unread = unread or older is None
        named |= {segment.path for segment in entry.state}
        named |= {result.segment.path for result in (*entry.results, *(older or ()))}
        named |= {entry.results_index.path} if entry.results_index else set()
    return named, unread


def _older_results(storage: Storage, entry: QueryCommit) -> list[ResultSegment] | None:
    """What the query's index describes; None if it does not read."""
    try:
        return storage.older_results(entry)
    except CorruptFileError as error:
        log.error("a description of older results does not read, and what it may name is kept: %s", error)
        return None


def _is_together(path: str) -> bool:
    """Is it a file of results that were put together?"""
    return path.rpartition("/")[2].startswith("results-")


def _add_state(file: NewFile, state: QueryState, entry: QueryCommit) -> list[pa.Table]:
    """Add the cells that this commit must write for a query: those merged since the last, or all as a new base. Segments
    of which every window has closed are left out. The tables of the segments that `entry` names now."""
    held, new = state.to_write(DELTAS_MAX)
    held += [(file.add(encode(table)), table) for table in new]
    entry.state = [segment for segment, _ in held]
    return [table for _, table in held]


def _add_results(storage: Storage, file: NewFile, state: QueryState, entry: QueryCommit, retention_ms: int,
                 beside: list[str]) -> None:
    """Add the finished rows of the windows that close with this commit."""
    if not state.closed:
        return
    with computing(state.query.id, "the rows of its closed windows"):
        finished = cells_finish.finish(state.query.plan, state.stream, state.closed_cells())
    if finished.num_rows:
        _tidy_results(storage, file.folder, entry, retention_ms, finished, beside)
        entry.results.append(describe(finished, file.add(_rows_blob(finished))))


def describe(table: pa.Table, segment: Segment) -> ResultSegment:
    """What a manifest says of result rows."""
    ends = pc.min_max(table["window_start"].cast(pa.int64()))
    return ResultSegment(segment, table.num_rows, ends["min"].as_py(), ends["max"].as_py(),
                         pc.max(table["window_end"].cast(pa.int64())).as_py(), int(time.time() * 1000))


def _tidy_results(storage: Storage, folder: str, entry: QueryCommit, retention_ms: int, rows: pa.Table,
                  beside: list[str]) -> None:
    """When many result segments have gathered, put the rows of the first ones into one and its description into the index.
    They have files of their own, which are added to `beside`, so that what is kept for days does not keep the cells of a
    commit. A large segment gets a file by itself, one with each commit.

    What does not read stays described as it is, so that readers of these rows are told the file, and of no others. An
    index that does not read stays too, and what is put together then gathers in the commit, until the index reads again
    or all that it may name is older than the retention. `rows` are some of the query's."""
    held = 1 + max((n for n, r in enumerate(entry.results) if _is_together(r.segment.path)), default=-1)
    if len(entry.results) - held < RECENT_MAX:
        return
    since_ms = int(time.time() * 1000) - retention_ms
    gathered = entry.results[:held]
    try:
        older = _older_results(storage, entry)
        together, new, others = _put_together(storage, entry.results[held:])
    except StateAwayError as error:
        log.warning("results are put together later: %s", error)
        return
    if together:
        [segment] = storage.write(folder, "results", [_rows_blob(together)])
        beside.append(segment.path)
        new.insert(0, describe(together, segment))  # what did not read has windows among its own, and must not go before it
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
    blank = file.add(_rows_blob(rows.slice(0, 0)))
    return [ResultSegment(blank, 0, max(gone), max(gone), max(gone), since_ms), *kept, *new]


def _put_together(storage: Storage, results: list[ResultSegment]
                  ) -> tuple[pa.Table | None, list[ResultSegment], list[ResultSegment]]:
    """The rows of the first segments, of as many as RESULTS_BYTES_MAX hold, but of one at least; those up to there that do
    not read; and the others, which later commits take."""
    tables, unread, held = [], [], 0
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


def _rows_blob(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
