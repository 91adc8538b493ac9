"""Sweeping a key part's folder without a commit: there may be no room for one, or nothing to commit any more.

A dropped query's files are named by commits that are kept; nobody reads them for it, nor falls back to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from mars.adapters.storage import Storage
from mars.adapters.zookeeper import ZooKeeper
from mars.model.commits import Manifest
from reducer.committing import commit
from reducer.committing.assignment import Assignment
from reducer.committing.history import Point


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
    unused = commit.unused_files(storage, commit.Prepared(living(manifest, queries), assignment.pointer.manifest, {}),
                                 living_points(points, queries))
    # A query that only a newer query set has is not a dropped one: its version is asked for, too.
    if unused and not zookeeper.transact(*assignment.to_prove()):
        return False
    for path in unused:
        storage.delete(path)
    return True
