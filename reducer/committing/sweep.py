"""Deleting the files of a key part that nothing needs: with a commit, or without one, where there is no room for one or
nothing to commit any more.

A dropped query's files are named by commits that are kept; nobody reads them for it, nor falls back to them.
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
SWEEP_S = 30.0  # each sweep lists the folder, and what lies there so much longer harms nobody
KEEP_UNUSED_S = 120  # for readers of a commit before


class SweepTimes:
    """When files are looked through: with a commit every SWEEP_S, and without one only if there is a reason."""

    def __init__(self, clock: Clock = SYSTEM.clock) -> None:
        self._clock, self._looks = clock, Every(SWEEP_S, clock)
        self._looks.begin()
        self._without_s = math.inf

    def are_due(self) -> bool:
        """Is it time to sweep without a commit?"""
        return self._clock.monotonic_s() >= self._without_s

    def with_commit(self) -> bool:
        """Is it time to look with the commit under way? Then that counts as the last time."""
        is_time = self._looks.is_due()
        if is_time:
            self._looks.begin()
        return is_time

    def expect_drop(self) -> None:
        """A query was dropped: its last files are too young to be deleted now, and no commit may follow that would do it."""
        self._within(KEEP_UNUSED_S + SWEEP_S)

    def need_room(self) -> None:
        """There may be some in files that nothing needs any more, and only a commit would delete them."""
        self._within(self._looks.due_in_s())

    def begin(self) -> None:
        """A sweep without a commit begins; unless it ends well, it is tried again."""
        self._looks.begin()
        self.end()
        self._within(SWEEP_S)

    def end(self) -> None:
        """It is done."""
        self._without_s = math.inf

    def _within(self, seconds: float) -> None:
        self._without_s = min(self._without_s, self._clock.monotonic_s() + seconds)


def living(manifest: Manifest, queries: Collection[str]) -> Manifest:
    """What a manifest says of these queries."""
    return replace(manifest, queries={id_: query for id_, query in manifest.queries.items() if id_ in queries})


def living_points(points: Iterable[Point], queries: Collection[str]) -> list[Point]:
    """The earlier commits, with these queries alone."""
    return [replace(point, manifest=living(point.manifest, queries)) for point in points]


def has_gone(manifests: Iterable[Manifest], queries: Collection[str]) -> bool:
    """Do the manifests name other queries than these?"""
    return any(not manifest.queries.keys() <= set(queries) for manifest in manifests)


def sweep(storage: Storage, zookeeper: ZooKeeper, assignment: Assignment, manifest: Manifest,
          points: Iterable[Point]) -> bool:
    """Delete the files that neither the last commit (`manifest`) nor one to fall back to needs for a query of the query set.
    False if nothing was deleted, as this is not the truth any more. They are listed before that is asked, so that no file of
    a successor is among them. StateAwayError where the folder is away."""
    storage.require()
    queries = assignment.view.queries.queries
    assert assignment.pointer is not None, "before the first commit nothing is swept"
    unused = unused_files(storage, living(manifest, queries), assignment.pointer.manifest, living_points(points, queries),
                          zookeeper.clock)
    # A query that only a newer query set has is not a dropped one: its version is asked for, too.
    if unused and not zookeeper.transact(*assignment.to_prove()):
        return False
    for path in unused:
        storage.delete(path)
    return True


def unused_files(storage: Storage, manifest: Manifest, lies_in: Segment, kept: Sequence[Point] = (),
                 clock: Clock = SYSTEM.clock) -> list[str]:
    """Files of the key part that neither this commit, whose manifest `lies_in` one of them, nor a kept one needs, and that
    are too old for a reader of another one."""
    used = {lies_in.path} | {point.earlier.manifest.path for point in kept if point.earlier.manifest}
    oldest = clock.wall_ms() / 1000 - KEEP_UNUSED_S
    try:
        named, unread = _named_files(storage, [manifest, *(point.manifest for point in kept)])
        files = list(storage.files(manifest.folder))
    except STATE_AWAY as error:  # no reason not to commit
        log.warning("files that nothing names are deleted later: %s", error)
        return []
    return [path for path, modified in files
            if path not in used | named and modified < oldest and not (unread and is_together(path))]


def _named_files(storage: Storage, manifests: Iterable[Manifest]) -> tuple[set[str], bool]:
    """What the manifests name; and does an index not read? It may be put back from a backup, and names results that were
    put together."""
    named, unread = set(), False
    for entry in [entry for manifest in manifests for entry in manifest.queries.values()]:
        older = older_results(storage, entry)
        unread = unread or older is None
        named |= {segment.path for segment in entry.state}
        named |= {result.segment.path for result in (*entry.results, *(older or ()))}
        named |= {entry.results_index.path} if entry.results_index else set()
    return named, unread
