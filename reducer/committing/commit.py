"""One commit of a key part: one file, then one ZooKeeper transaction (step 9, rule 3).

The cost of a commit follows from what changed: it writes only the cells merged since the last one (a delta). Now and then
all open cells are written anew (a base), so that the number of segments, and what a restart must read, do not grow.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from mars.adapters.storage import NewFile, Storage
from mars.algebra.cells_wire import encode
from mars.model.commits import Manifest, QueryCommit, Segment
from mars.runtime.system import SYSTEM, Clock
from reducer.committing import results
from reducer.committing.closed import Closed, Late
from reducer.state.computation import computing
from reducer.state.merge import QueryState
from reducer.state.once import Once

DELTAS_MAX = 32


@dataclass
class Prepared:
    """A manifest whose files are durable. For each query that it changes, the cells of its state, one table per
    segment."""

    manifest: Manifest
    segment: Segment
    open: dict[str, list[pa.Table]]


def prepare(storage: Storage, manifest: Manifest, states: dict[str, QueryState], retention_ms: int,
            copied: Iterable[str] = (), clock: Clock = SYSTEM.clock) -> Prepared:
    """Write the next commit: cells, results, and last the manifest that names them, in one file. `manifest` is the last
    one; `states` are the running queries. Their working state is folded, so a second call without new entries writes the
    same again. UncomputableError, for one of them, leaves all as they were. The state of the resting queries `copied` is
    written anew as it is; CorruptFileError if it cannot be read."""
    file = storage.new_file(manifest.folder, "commit")
    after = replace(manifest, commit=manifest.commit + 1, queries=dict(manifest.queries))
    open_: dict[str, list[pa.Table]] = {}
    once = Once()
    writing = results.Writing(storage, file, clock.wall_ms(), retention_ms, once)
    try:
        for id_, state in states.items():
            after.queries[id_] = entry = state.commit.copy()
            if state.changed:
                entry.commits += 1
                with computing(id_):
                    open_[id_] = _add_state(file, state, entry, once)
                closed = _closed(state, once)
                if closed is not None and closed.table.num_rows:
                    writing.add(entry, closed)
                if state.late_cells:
                    writing.add_late(entry, Late.of_tables(state.query.plan, state.stream, state.late_cells, once))
        for id_ in copied:
            after.queries[id_] = entry = manifest.queries[id_].copy()
            entry.state = [file.add(storage.read(segment)) for segment in entry.state]
        segment = file.add(after.dump())
        file.write()
    except Exception:
        for path in writing.beside:  # otherwise each try of a commit that finds no room would take more of it
            with contextlib.suppress(OSError):
                storage.delete(path)
        raise
    return Prepared(after, segment, open_)


def adopt(states: dict[str, QueryState], prepared: Prepared) -> None:
    """The commit is the truth: the working state takes over what it says."""
    for id_, tables in prepared.open.items():
        states[id_].adopt(prepared.manifest.queries[id_], tables)


def _add_state(file: NewFile, state: QueryState, entry: QueryCommit, once: Once) -> list[pa.Table]:
    """Add the cells that this commit must write for a query: those merged since the last commit, or all as a new base.
    Segments whose windows have all closed are left out. A table that several queries hold is written once. Returns the
    tables of the segments that `entry` then names."""
    held, new = state.to_write(DELTAS_MAX)
    kept = state.query.plan.aggregation
    held += [(once.get("write", kept, [table], partial(_written, file, table)), table) for table in new]
    entry.state = [segment for segment, _ in held]
    return [table for _, table in held]


def _written(file: NewFile, table: pa.Table) -> Segment:
    return file.add(encode(table))


def _closed(state: QueryState, once: Once) -> Closed | None:
    """What is kept of the windows that close with this commit; None if none does."""
    with computing(state.query.id, "the rows of its closed windows"):
        closed = state.closed_cells()
        return None if closed is None else Closed.of(state.query.plan, state.stream, closed, once)
