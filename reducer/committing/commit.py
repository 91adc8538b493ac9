"""One commit of a key part: one file, then one ZooKeeper transaction (design, step 9; rule 3).

A commit costs what changed: each writes the cells merged since the last one (a delta); now and then all open cells are
written anew (a base), so that neither the number of segments nor what a restart must read grows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from mars.adapters.storage import NewFile, Storage
from mars.algebra import cells_finish
from mars.algebra.cells_wire import encode
from mars.model.commits import Manifest, QueryCommit, Segment
from mars.runtime.system import SYSTEM, Clock
from reducer.committing import results
from reducer.state.computation import computing
from reducer.state.merge import QueryState

DELTAS_MAX = 32


@dataclass
class Prepared:
    """A manifest whose files are durable, and for each query that it changes the cells of its state, one table for
    each segment."""

    manifest: Manifest
    segment: Segment
    open: dict[str, list[pa.Table]]


def prepare(storage: Storage, manifest: Manifest, states: dict[str, QueryState], retention_ms: int,
            copied: Iterable[str] = (), clock: Clock = SYSTEM.clock) -> Prepared:
    """Write the next commit: cells, results, and last the manifest that names them, in one file. `manifest` is the last
    one; `states` are the running queries. Their working state is folded, so that a second call without new entries writes
    the same again; UncomputableError, for one of them, leaves all as they were. Of the resting queries `copied` the state
    is written anew as it is; CorruptFileError if it cannot be read."""
    file = storage.new_file(manifest.folder, "commit")
    after = replace(manifest, commit=manifest.commit + 1, queries=dict(manifest.queries))
    open_: dict[str, list[pa.Table]] = {}
    beside: list[str] = []  # files that were written for this commit already
    try:
        for id_, state in states.items():
            after.queries[id_] = entry = state.commit.copy()
            if state.changed:
                entry.commits += 1
                with computing(id_):
                    open_[id_] = _add_state(file, state, entry)
                rows = _finished(state)
                if rows is not None and rows.num_rows:
                    results.add_rows(storage, file, entry, rows, beside, clock.wall_ms(), retention_ms)
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


def _add_state(file: NewFile, state: QueryState, entry: QueryCommit) -> list[pa.Table]:
    """Add the cells that this commit must write for a query: those merged since the last, or all as a new base. Segments
    of which every window has closed are left out. The tables of the segments that `entry` names now."""
    held, new = state.to_write(DELTAS_MAX)
    held += [(file.add(encode(table)), table) for table in new]
    entry.state = [segment for segment, _ in held]
    return [table for _, table in held]


def _finished(state: QueryState) -> pa.Table | None:
    """The finished rows of the windows that close with this commit; None if none does."""
    if not state.closed:
        return None
    with computing(state.query.id, "the rows of its closed windows"):
        return cells_finish.finish(state.query.plan, state.stream, state.closed_cells())
