"""One commit of a key part: files, manifest, one ZooKeeper transaction (design, step 9; rule 3).

A commit costs what changed: each writes the cells merged since the last one (a delta); now and then all open cells are
written anew (a base), so that neither the number of segments nor what a restart must read grows.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mars import cells, cells_finish
from mars.adapters.storage import Storage
from mars.cells_wire import encode
from mars.commits import Manifest, QueryCommit, ResultSegment, Segment, dump_index, load_index
from reducer.merge import QueryState

DELTAS_MAX = 32
RECENT_MAX = 64
KEEP_UNUSED_S = 120


@dataclass
class Prepared:
    """A manifest whose files are durable, and which queries' state it holds as a new base."""

    manifest: Manifest
    segment: Segment


def folder(stream_id: int, key_part: int) -> str:
    """Where a key part's files lie, under the state URI."""
    return f"{stream_id}/{key_part}"


def prepare(storage: Storage, manifest: Manifest, states: dict[str, QueryState], retention_ms: int) -> Prepared:
    """Write the files of the next commit. `manifest` is the last one; `states` are the running queries. Their working
    state is folded, so that a second call without new entries writes the same again."""
    place = folder(manifest.stream_id, manifest.key_part)
    after = copy.copy(manifest)
    after.commit += 1
    after.queries = dict(manifest.queries)
    blobs, users = [], []
    for id_, state in states.items():
        after.queries[id_] = entry = copy.deepcopy(state.commit)
        if not state.changed:
            continue
        entry.commits += 1
        blob = _fold(state, entry)
        if blob:
            blobs.append(blob)
            users.append(entry)
    for entry, segment in zip(users, storage.write(place, "state", blobs) if blobs else [], strict=True):
        entry.state.append(segment)
    _write_results(storage, place, states, after)
    for id_ in states:
        _tidy_results(storage, place, after.queries[id_], retention_ms)
    [segment] = storage.write(place, "manifest", [after.dump()])
    return Prepared(after, segment)


def adopt(states: dict[str, QueryState], prepared: Prepared) -> None:
    """The commit is the truth: the working state takes over what it says."""
    for id_, state in states.items():
        state.commit = copy.deepcopy(prepared.manifest.queries[id_])
        state.open += state.delta
        state.delta, state.closed, state.changed = [], [], False


def unused_files(storage: Storage, prepared: Prepared) -> list[str]:
    """Files of the key part that the prepared commit does not name and that are too old for a reader of an earlier one."""
    manifest = prepared.manifest
    used = {prepared.segment.path}
    for entry in manifest.queries.values():
        used |= {segment.path for segment in entry.state}
        used |= {result.segment.path for result in storage.result_segments(entry)}
        used |= {entry.results_index.path} if entry.results_index else set()
    oldest = time.time() - KEEP_UNUSED_S
    place = folder(manifest.stream_id, manifest.key_part)
    return [path for path, modified in storage.files(place) if path not in used and modified < oldest]


def _fold(state: QueryState, entry: QueryCommit) -> bytes:
    """The cells that this commit must write for a query: those merged since the last, or all as a new base."""
    plan, stream = state.query.plan, state.stream
    state.delta = [cells.merge(plan, stream, state.delta)] if state.delta else []
    if len(entry.state) >= DELTAS_MAX:
        state.delta = [cells.merge(plan, stream, state.open + state.delta)]
        state.open, entry.state = [], []
    if not any(table.num_rows for table in state.open + state.delta):
        entry.state = []
        return b""
    return encode(state.delta[0]) if state.delta and state.delta[0].num_rows else b""


def _write_results(storage: Storage, place: str, states: dict[str, QueryState], after: Manifest) -> None:
    """Write the finished rows of the windows that close with this commit, apart from the state."""
    rows = {}
    for id_, state in states.items():
        if state.closed:
            plan = state.query.plan
            state.closed = [cells.merge(plan, state.stream, state.closed)]
            finished = cells_finish.finish(plan, state.stream, state.closed[0])
            if finished.num_rows:
                rows[id_] = finished
    if rows:
        segments = storage.write(place, "results", [_rows_blob(table) for table in rows.values()])
        for (id_, table), segment in zip(rows.items(), segments, strict=True):
            after.queries[id_].results.append(describe(table, segment))


def describe(table: pa.Table, segment: Segment) -> ResultSegment:
    """What a manifest says of result rows."""
    ends = pc.min_max(table["window_start"].cast(pa.int64()))
    return ResultSegment(segment, table.num_rows, ends["min"].as_py(), ends["max"].as_py(),
                         pc.max(table["window_end"].cast(pa.int64())).as_py(), int(time.time() * 1000))


def _tidy_results(storage: Storage, place: str, entry: QueryCommit, retention_ms: int) -> None:
    """When many result segments have gathered, put their rows into one and their description into the index."""
    if len(entry.results) <= RECENT_MAX:
        return
    older = load_index(storage.read(entry.results_index)) if entry.results_index else []
    kept = [r for r in older if r.committed_ms > time.time() * 1000 - retention_ms]
    tables = [pa.ipc.open_stream(storage.read(r.segment)).read_all() for r in entry.results]
    together = pa.concat_tables(tables)
    [segment] = storage.write(place, "results", [_rows_blob(together)])
    kept.append(describe(together, segment))
    [entry.results_index] = storage.write(place, "index", [dump_index(kept)])
    entry.results = []


def _rows_blob(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
