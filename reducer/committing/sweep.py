"""Deletes the files of a key part that nothing needs: with a commit; or without one, if there is no room for one or
nothing left to commit.

Kept commits may still name a dropped query's files, but nobody reads them or falls back to them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from mars.adapters.storage import STATE_AWAY, Storage
from mars.adapters.zookeeper import ZooKeeper
from mars.model.commits import Manifest, Segment
from mars.runtime.periods import Every
from mars.runtime.system import SYSTEM, Clock
from reducer.committing.assignment import Assignment
from reducer.committing.history import Point
from reducer.committing.results import is_together, older_results

log = logging.getLogger("mars.reducer")
SWEEP_S = 30.0  # each sweep lists the folder, and files that stay this much longer harm nobody
KEEP_UNUSED_S = 120  # for readers of an earlier commit


class SweepTimes:
    """When to look for such files: with a commit every SWEEP_S, and without one only if there is a reason."""

    def __init__(self, clock: Clock = SYSTEM.clock) -> None:
        self._clock, self._looks = clock, Every(SWEEP_S, clock)
        self._looks.begin()
        self._without_s = math.inf

    def are_due(self) -> bool:
        """Is it time to sweep without a commit?"""
        return self._clock.monotonic_s() >= self._without_s

    def with_commit(self) -> bool:
        """Is it time to look with the current commit? A yes counts as the last time."""
        is_time = self._looks.is_due()
        if is_time:
            self._looks.begin()
        return is_time

    def expect_drop(self) -> None:
        """Note that a query was dropped: its last files are too young to be deleted now, and perhaps no commit follows
        that would delete them."""
        self._within(KEEP_UNUSED_S + SWEEP_S)

    def need_room(self) -> None:
        """Note that room is needed. Files that nothing needs may take it, and without room no commit can delete them."""
        self._within(self._looks.due_in_s())

    def begin(self) -> None:
        """A sweep without a commit begins; it is tried again unless it ends well."""
        self._looks.begin()
        self.end()
        self._within(SWEEP_S)

    def end(self) -> None:
        """The sweep is done."""
        self._without_s = math.inf

    def _within(self, seconds: float) -> None:
        self._without_s = min(self._without_s, self._clock.monotonic_s() + seconds)


def living(manifest: Manifest, queries: Collection[str]) -> Manifest:
    """The manifest with only these queries."""
    return replace(manifest, queries={id_: query for id_, query in manifest.queries.items() if id_ in queries})


def living_points(points: Iterable[Point], queries: Collection[str]) -> list[Point]:
    """The earlier commits with only these queries."""
    return [replace(point, manifest=living(point.manifest, queries)) for point in points]


def has_gone(manifests: Iterable[Manifest], queries: Collection[str]) -> bool:
    """Do the manifests name other queries than these?"""
    return any(not manifest.queries.keys() <= set(queries) for manifest in manifests)


def sweep(storage: Storage, zookeeper: ZooKeeper, assignment: Assignment, manifest: Manifest,
          points: Iterable[Point]) -> bool:
    """Delete the files that neither the last commit (`manifest`) nor one to fall back to needs for a query of the query
    set. False if nothing was deleted, because this commit is no longer the truth. The files are listed before that is
    asked, so no file of a successor is among them. StateAwayError if the folder is away."""
    storage.require()
    queries = assignment.view.queries.queries
    assert assignment.pointer is not None, "before the first commit nothing is swept"
    unused = unused_files(storage, living(manifest, queries), assignment.pointer.manifest, living_points(points, queries),
                          zookeeper.clock)
    # A query that only a newer query set has was not dropped, so the query set's version is checked too.
    if unused and not zookeeper.transact(*assignment.to_prove()):
        return False
    for path in unused:
        storage.delete(path)
    return True


def unused_files(storage: Storage, manifest: Manifest, lies_in: Segment, kept: Sequence[Point] = (),
                 clock: Clock = SYSTEM.clock) -> list[str]:
    """Files of the key part that neither this commit (whose manifest `lies_in` one of them) nor a kept one needs, and
    that are too old for a reader of another commit."""
    used = {lies_in.path} | {point.earlier.manifest.path for point in kept if point.earlier.manifest}
    oldest = clock.wall_ms() / 1000 - KEEP_UNUSED_S
    try:
        named, unread = _named_files(storage, [manifest, *(point.manifest for point in kept)])
        files = list(storage.files(manifest.folder))
    except STATE_AWAY as error:  # not a reason to refuse the commit
        log.warning("files that nothing names are deleted later: %s", error)
        return []
    return [path for path, modified in files
            if path not in used | named and modified < oldest and not (unread and is_together(path))]


def _named_files(storage: Storage, manifests: Iterable[Manifest]) -> tuple[set[str], bool]:
    """The files that the manifests name, and whether an index cannot be read. Such an index may come back from a backup,
    and names merged results."""
    named, unread = set(), False
    entries = [entry for manifest in manifests for entry in manifest.queries.values()]
    for entry in [*entries, *(entry.of_late for entry in entries if entry.late or entry.late_index)]:
        older = older_results(storage, entry)
        unread = unread or older is None
        named |= {segment.path for segment in entry.state}
        named |= {result.segment.path for result in (*entry.results, *(older or ()))}
        named |= {entry.results_index.path} if entry.results_index else set()
    return named, unread
