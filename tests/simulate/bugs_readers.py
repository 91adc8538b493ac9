"""Planted bugs of readers: of the caches that the requests of an API share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

from mars.adapters import view_cache
from mars.adapters.view_cache import ViewCache
from mars.model.commits import QueryCommit
from mars.results.open_windows import OpenWindows
from mars.results.snapshot import Snapshot, SnapshotReader
from tests.simulate.planted import bug
from tests.simulate.readers import APIS
from tests.simulate.world import World


@bug
def readers_go_on_from_newer_cells(world: World) -> Iterator[None]:
    """Found by attacking it: a reader with an older commit took another one's newer cells for its own, and kept them."""
    real = OpenWindows._keep

    def rows(windows: OpenWindows, snapshot: Snapshot, number: int, part: QueryCommit) -> object:
        return found(windows, snapshot, number, replace(part, commits=0))

    def keep(windows: OpenWindows, key: tuple[str, int], found: object) -> None:
        real(windows, key, replace(found, commits=0))

    found = OpenWindows.rows
    with patch.object(OpenWindows, "rows", rows), patch.object(OpenWindows, "_keep", keep):
        yield


@bug
def a_fall_back_leaves_cells_in_the_cache(world: World) -> Iterator[None]:
    """Readers go on from cells of a commit that was fallen back from."""
    real = OpenWindows.rows

    def rows(windows: OpenWindows, snapshot: Snapshot, number: int, part: QueryCommit) -> object:
        return real(windows, snapshot, number, replace(part, fell_at=0))

    with patch.object(OpenWindows, "rows", rows):
        yield


@bug
def key_parts_are_read_at_different_moments(world: World) -> Iterator[None]:
    """One look at each pointer, though one may move while another is read."""

    def read(reader: SnapshotReader, stream: object, query: object) -> Snapshot:
        manifests = reader._manifests(stream)
        return Snapshot(stream, query, tuple(m.queries.get(query.id) if m else None for m in manifests))

    with patch.object(SnapshotReader, "_read", read):
        yield


@bug
def readers_see_windows_that_are_made_again(world: World) -> Iterator[None]:
    """Nobody waits until what a fall-back took is there again."""
    with patch.object(SnapshotReader, "read_whole", SnapshotReader.read):
        yield


@bug
def readers_keep_what_they_know_after_a_notice(world: World) -> Iterator[None]:
    """A connection that was lost takes the watches with it, and what was read before is not read again."""
    real = ViewCache.forget

    def forget(cache: ViewCache) -> None:
        if world.scheduler.current.node not in APIS:
            real(cache)

    with patch.object(ViewCache, "forget", forget), patch.object(view_cache, "NET_S", 1e9):
        yield
