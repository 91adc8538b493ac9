"""Views by watches: a znode is read once, and again only when ZooKeeper says that it has changed.

A watch fires once and is lost with a connection. So everything is read again after each change of the session's state,
and after NET_S in any case. A watch that did not fire costs at most that time, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kazoo.exceptions import NoNodeError
from kazoo.interfaces import IAsyncResult
from kazoo.protocol.states import WatchedEvent

from mars.adapters.view import StreamView
from mars.adapters.zookeeper import Znode, ZooKeeper
from mars.model import names
from mars.model.plan import Stream
from mars.model.registry import Catalog, QuerySet
from mars.runtime.system import SYSTEM, Runtime

NET_S = 2.0
T = TypeVar("T")


class ViewCache:
    """What a worker has read of ZooKeeper, each part of it as new as the last notice of a change. Thread-safe.

    `on_change` is called, from a thread of ZooKeeper's client, whenever something that was read may have changed. Like a
    view, all this may be old. That is safe, because transactions and scripts check versions.
    """

    def __init__(self, zookeeper: ZooKeeper, on_change: Callable[[], None] = lambda: None,
                 runtime: Runtime = SYSTEM) -> None:
        self._zookeeper = zookeeper
        self._on_change = on_change
        self._clock, self._lock = runtime.clock, runtime.lock()
        self._held: dict[tuple[str, str], tuple[float, Any]] = {}
        self._changes = 0
        self._catalog: tuple[Znode, Catalog] | None = None
        self._views: dict[int, tuple[Stream, Znode, Znode, StreamView]] = {}
        zookeeper.client.add_listener(self._session_changed)

    def get(self, path: str) -> Znode | None:
        """Data and version, or None if there is no such znode."""
        return self._cached("data", path, self._read)

    def get_all(self, paths: list[str]) -> list[Znode | None]:
        """`get` of each path. All that must be read is requested at once, so it takes as long as one. If something
        changed before another thing was read here, the next call reads it again. So if two calls give the same answer,
        the answer is of one moment."""
        began, changes = self._clock.monotonic_s(), self._changes
        held = {path: fresh[1] for path in paths if (fresh := self._fresh(("data", path), began))}
        asked = {path: self._zookeeper.client.get_async(path, watch=self._fired) for path in paths if path not in held}
        found = {path: self._answer(path, asked[path]) for path in asked}
        if asked:
            self._zookeeper.settle()  # before another thread can see this beside older data
        return [self._keep(("data", path), began, changes, found[path]) if path in asked else held[path]
                for path in paths]

    def children(self, path: str) -> list[str]:
        """Names of the children, sorted; empty if there is no such znode."""
        return self._cached("children", path, self._read_children)

    def streams(self) -> dict[int, StreamView]:
        """Every stream of the catalog by its id. A view is the same object as long as nothing in it has changed."""
        node = self.get(names.CATALOG)
        if node is None:
            return {}
        if self._catalog is None or self._catalog[0] != node:
            self._catalog = (node, Catalog.load(node.data))
        views = {}
        for stream in self._catalog[1].streams.values():
            queries, generation = self.get(names.queries(stream.id)), self.get(names.generation(stream.id))
            if queries is not None and generation is not None:
                views[stream.id] = self._view(stream, queries, generation)
        for id_ in list(self._views):  # at once, because another thread may add a new one meanwhile
            if id_ not in views:
                self._views.pop(id_, None)
        return views

    def forget(self) -> None:
        """Read everything again when it is next asked for, because something was refused that these views allow."""
        with self._lock:
            self._changes += 1
            self._held.clear()

    def _view(self, stream: Stream, queries: Znode, generation: Znode) -> StreamView:
        held = self._views.get(stream.id)
        if held is None or held[:3] != (stream, queries, generation):
            view = StreamView(stream, QuerySet.load(queries.data), queries.version, int(generation.data), generation.version)
            held = self._views[stream.id] = (stream, queries, generation, view)
        return held[3]

    def _cached(self, kind: str, path: str, read: Callable[[str], T]) -> T:
        key, began, changes = (kind, path), self._clock.monotonic_s(), self._changes
        held = self._fresh(key, began)
        return held[1] if held else self._keep(key, began, changes, read(path))

    def _fresh(self, key: tuple[str, str], now: float) -> tuple[float, Any] | None:
        held = self._held.get(key)  # one read needs no lock; the result counts only if nothing has changed since
        return held if held and now - held[0] < NET_S else None

    def _keep(self, key: tuple[str, str], began: float, changes: int, value: T) -> T:
        """Keep the answer to a request sent at `began`, when this many changes were known; or keep what another thread
        has read meanwhile."""
        with self._lock:
            newer = self._held.get(key)
            if newer and newer[0] > began:
                return newer[1]  # it must not go back
            if self._changes == changes:
                self._held[key] = (began, value)
        return value

    def _read(self, path: str) -> Znode | None:
        client = self._zookeeper.client
        while True:
            try:
                data, stat = client.get(path, watch=self._fired)
                return Znode(data, stat.version)
            except NoNodeError:
                if client.exists(path, watch=self._fired) is None:
                    return None

    def _answer(self, path: str, asked: IAsyncResult) -> Znode | None:
        try:
            data, stat = asked.get()
            return Znode(data, stat.version)
        except NoNodeError:
            return self._read(path)

    def _read_children(self, path: str) -> list[str]:
        try:
            return sorted(self._zookeeper.client.get_children(path, watch=self._fired))
        except NoNodeError:
            return []

    def _fired(self, event: WatchedEvent) -> None:
        with self._lock:
            self._changes += 1
            if event.path is None:
                self._held.clear()
            for kind in ("data", "children"):
                self._held.pop((kind, event.path), None)
        self._on_change()

    def _session_changed(self, state: str) -> None:
        self.forget()
        self._on_change()
