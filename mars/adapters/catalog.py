"""The catalog and the query sets in ZooKeeper: what exists, changed by compare-and-set only (rules 1 and 2).

Each change is one transaction over the catalog and the stream's znodes, so nobody ever sees half of it. Redis is never
written here: the reducers' leader watches these znodes and attaches or detaches the queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from mars import computing
from mars.adapters.catalog_names import find_stream, late_place, query_place, require_free, require_free_late, unknown
from mars.adapters.changes import Change, answering, change
from mars.adapters.view_cache import ViewCache
from mars.adapters.zookeeper import ZooKeeper
from mars.errors import ConflictError, NotFoundError
from mars.model import names
from mars.model.identifiers import identifier
from mars.model.plan import QueryPlan, Stream
from mars.model.registry import PAUSED, RUNNING, Catalog, Query, QuerySet

T = TypeVar("T")
Source = ZooKeeper | ViewCache
Beside = Callable[[Query], list[tuple]]  # what else happens in the transaction that makes or drops a query
PARSED = 64
CREATED_BYTES_MAX = 700_000  # ZooKeeper takes 1 MB, and query sets grow by partitions that are added and reasons of stops


class CatalogStore:
    """Reads and changes the catalog; may be used from several threads.

    Every method raises NotReadyError when ZooKeeper does not answer for `patience_s`. After that a change may or may not
    have happened; within that time Mars looks whether a change of unknown outcome was made, and makes it if it was not.

    With a `cache`, what is read is as new as ZooKeeper's last notice of a change: a change is seen some milliseconds
    after it was made. Callers must not modify what is read. `changed` is called after each change of ours, even if its
    outcome is unknown; if it makes a cache forget, the cache has the change at once.
    """

    def __init__(self, zk: ZooKeeper, patience_s: float = 0.0, cache: ViewCache | None = None,
                 changed: Callable[[], None] = lambda: None) -> None:
        self.zk = zk
        self.patience_s = patience_s
        self.cache = cache
        self.changed = changed
        self._guard(self._begin)

    def _begin(self) -> None:
        self.zk.ensure(names.CATALOG, Catalog().dump())
        self.zk.ensure(names.STREAMS)
        self.zk.ensure(names.CHANGES)

    # Reading

    def catalog(self) -> Catalog:
        """All names."""
        return self._catalog(self.cache or self.zk)

    def stream(self, name: str) -> Stream:
        """The stream of that name in any case; NotFoundError with a did-you-mean."""
        return self._found(lambda source: find_stream(self._catalog(source), name))

    def query(self, name: str) -> tuple[Stream, Query]:
        """The query of that name in any case, and its stream; NotFoundError with a did-you-mean."""
        return self._found(lambda source: self._query(source, name))

    def late(self, name: str) -> tuple[Stream, Query]:
        """The query whose late tuples have that name (LATE TO), in any case, and its stream; NotFoundError with a
        did-you-mean."""
        return self._found(lambda source: self._query(source, name, late_place))

    def query_set(self, stream: Stream) -> QuerySet:
        """All queries of a stream; an empty set if it was dropped meanwhile."""
        return self._query_set(self.cache or self.zk, stream)

    def queries(self) -> list[tuple[Stream, Query]]:
        """Every query with its stream, in the order of creation."""
        streams = self.catalog().streams.values()
        pairs = [(stream, query) for stream in streams for query in self.query_set(stream).queries.values()]
        return sorted(pairs, key=lambda pair: (pair[1].created_ms, pair[1].id))

    def _found(self, find: Callable[[Source], T]) -> T:
        """The result of `find`. If the cache does not know the name, ZooKeeper is asked: another process may have just
        made it."""
        try:
            return find(self.cache or self.zk)
        except NotFoundError:
            if self.cache is None:
                raise
            return find(self.zk)

    def _query(self, source: Source, name: str, place: Callable[[Catalog, str], tuple[Stream, str]] = query_place
               ) -> tuple[Stream, Query]:
        catalog = self._catalog(source)
        stream, id_ = place(catalog, name)
        found = self._query_set(source, stream).queries.get(id_)
        if found is None:
            raise unknown("query", name, catalog)
        return stream, found

    def _catalog(self, source: Source) -> Catalog:
        znode = self._guard(lambda: source.get(names.CATALOG))
        assert znode is not None  # made by the constructor, and never deleted
        return _parsed(Catalog.load, znode.data)

    def _query_set(self, source: Source, stream: Stream) -> QuerySet:
        znode = self._guard(lambda: source.get(names.queries(stream.id)))
        return _parsed(QuerySet.load, znode.data) if znode else QuerySet()

    # Changing

    def create_stream(self, stream: Stream, partitions: Iterable[int]) -> Stream:
        """Make the stream with a new id and all its znodes; `stream.id` is ignored. ConflictError if the name exists,
        or if ZooKeeper has no room for this."""
        query_set = QuerySet(partitions=tuple(sorted(partitions)))

        def prepare() -> Change[Stream]:
            catalog, version = self._read_catalog()
            require_free(catalog, stream.name)
            made = replace(stream, id=catalog.next_id)
            catalog.next_id += 1
            catalog.streams[stream.name.lower()] = made
            return made, _with_room([("set", names.CATALOG, catalog.dump(), version), *_stream_znodes(made, query_set)])

        return self._change(prepare)

    def drop_stream(self, name: str) -> Stream:
        """Delete the stream and its znodes. ConflictError names its queries while there are any."""

        def prepare() -> Change[Stream]:
            catalog, version = self._read_catalog()
            stream = find_stream(catalog, name)
            self._require_unused(catalog, stream)
            del catalog.streams[stream.name.lower()]
            deletions = [("delete", path) for path in self._tree(names.stream(stream.id))]
            return stream, [("set", names.CATALOG, catalog.dump(), version), *deletions]

        return self._change(prepare)

    def create_query(self, name: str, plan: QueryPlan, start: dict[int, int], beside: Beside = lambda _: []) -> Query:
        """Make a running query that starts at the given offsets, and what is made `beside` it. ConflictError if the name
        exists, or if ZooKeeper has no room for this."""

        def prepare() -> Change[Query]:
            catalog, version = self._read_catalog()
            require_free(catalog, name)
            stream = find_stream(catalog, plan.aggregation.stream)
            require_free_late(catalog, name, plan.late_to)
            queries, queries_version = self._read_queries(stream)
            query = Query(f"q{catalog.next_id}", name, plan, queries.next_incarnation, dict(start),
                          created_ms=self.zk.clock.wall_ms())
            queries.next_incarnation += 1
            queries.queries[query.id] = query
            catalog.next_id += 1
            catalog.queries[name.lower()] = (stream.name, query.id)
            if plan.late_to is not None:
                catalog.late[plan.late_to.lower()] = (stream.name, query.id)
            return query, _with_room([*_writes(stream, catalog, version, queries, queries_version), *beside(query)])

        return self._change(prepare)

    def drop_query(self, name: str, beside: Beside = lambda _: []) -> Query:
        """Delete the query, and what goes `beside` it; its incarnation is never used again."""

        def prepare() -> Change[Query]:
            catalog, version = self._read_catalog()
            stream, id_ = query_place(catalog, name)
            queries, queries_version = self._read_queries(stream)
            query = _present(queries, id_, name)
            del queries.queries[id_]
            del catalog.queries[name.lower()]
            if query.plan.late_to is not None:
                catalog.late.pop(query.plan.late_to.lower(), None)
            return query, [*_writes(stream, catalog, version, queries, queries_version), *beside(query)]

        return self._change(prepare)

    def alter_query(self, name: str, made: Callable[[Query], QueryPlan], beside: Beside = lambda _: []) -> Query:
        """Give the query the plan that `made` makes of it, which keeps the same cells. So it stays in its incarnation."""

        def prepare() -> Change[Query]:
            stream, id_ = query_place(self._read_catalog()[0], name)
            queries, version = self._read_queries(stream)
            query = _present(queries, id_, name)
            plan = made(query)
            assert plan.aggregation.cells_name == query.plan.aggregation.cells_name, name
            query.plan, query.altered = plan, query.altered + 1
            return query, _with_room([("set", names.queries(stream.id), queries.dump(), version), *beside(query)])

        return self._change(prepare)

    def pause(self, name: str) -> Query:
        """Stop a running query where it is. ConflictError in any other state."""
        return self._change_state(name, PAUSED, lambda query: query.state == RUNNING,
                                  "only a RUNNING query can be paused")

    def resume(self, name: str) -> Query:
        """Resume a query that is paused or was stopped by a fault. ConflictError if it runs, or if this code must not
        compute it."""
        return self._change_state(name, RUNNING, lambda query: query.state != RUNNING, "it is running already")

    def _change_state(self, name: str, state: str, allowed: Callable[[Query], bool], refusal: str) -> Query:
        def prepare() -> Change[Query]:
            stream, id_ = query_place(self._read_catalog()[0], name)
            queries, version = self._read_queries(stream)
            query = _present(queries, id_, name)
            if not allowed(query):
                raise ConflictError("wrong state", f"query {query.name} is {query.state}: {refusal}",
                                    f"see `DESCRIBE {query.name}`")
            if state == RUNNING and (reason := computing.refusal(query.plan, stream)):
                raise ConflictError("this Mars would change the query's answers", reason, f"see `DESCRIBE {query.name}`")
            queries.raise_incarnation(id_, state)
            return query, [("set", names.queries(stream.id), queries.dump(), version)]

        return self._change(prepare)

    # ZooKeeper

    def _read_catalog(self) -> tuple[Catalog, int]:
        znode = self.zk.get(names.CATALOG)
        assert znode is not None  # made by the constructor, and never deleted
        return Catalog.load(znode.data), znode.version

    def _read_queries(self, stream: Stream) -> tuple[QuerySet, int]:
        znode = self.zk.get(names.queries(stream.id))
        if znode is None:
            raise NotFoundError("unknown stream", f"{stream.name} was dropped meanwhile")
        return QuerySet.load(znode.data), znode.version

    def _require_unused(self, catalog: Catalog, stream: Stream) -> None:
        live = {id_ for of, id_ in catalog.queries.values() if of.lower() == stream.name.lower()}
        if live:
            queries = self._read_queries(stream)[0].queries
            listed = sorted(queries[id_].name for id_ in live if id_ in queries)
            raise ConflictError("the stream is in use", f"queries of {stream.name}: {', '.join(listed)}",
                                f"drop them first: {'; '.join(f'DROP QUERY {identifier(name)}' for name in listed)}")

    def _tree(self, path: str) -> list[str]:
        """A znode and all below it, children before parents."""
        below = [found for child in self.zk.children(path) for found in self._tree(f"{path}/{child}")]
        return [*below, path]

    def _change(self, prepare: Callable[[], Change[T]]) -> T:
        try:
            return change(self.zk, prepare, self.patience_s)
        finally:
            self.changed()

    def _guard(self, call: Callable[[], T]) -> T:
        return answering(self.zk, call, self.patience_s)


@lru_cache(PARSED)
def _parsed(load: Callable[[bytes], T], data: bytes) -> T:
    return load(data)


def _present(queries: QuerySet, id_: str, name: str) -> Query:
    """The query that the catalog has just named; NotFoundError if it was dropped between the two reads."""
    query = queries.queries.get(id_)
    if query is None:
        raise NotFoundError("unknown query", f"{name} was dropped meanwhile", "`SHOW QUERIES` lists them all")
    return query


def _with_room(operations: list[tuple]) -> list[tuple]:
    """The operations of a statement that makes something. ConflictError unless ZooKeeper has room to change it
    afterwards."""
    size = sum(len(part) for operation in operations for part in operation if isinstance(part, (str, bytes)))
    if size > CREATED_BYTES_MAX:
        raise ConflictError("ZooKeeper has no room for this",
                            f"the catalog and the stream's queries would take {size:,} bytes, "
                            f"the limit is {CREATED_BYTES_MAX:,}", "drop queries or streams that nobody needs; a "
                            "stream of its own for some of the queries makes room where its partitions are many")
    return operations


def _writes(stream: Stream, catalog: Catalog, version: int, queries: QuerySet, queries_version: int) -> list[tuple]:
    """A change of the catalog together with the stream's query set."""
    return [("set", names.CATALOG, catalog.dump(), version),
            ("set", names.queries(stream.id), queries.dump(), queries_version)]


def _stream_znodes(stream: Stream, queries: QuerySet) -> list[tuple]:
    """The operations that create everything of one stream, parents first."""
    root = names.stream(stream.id)
    creations = [("create", root, b""), ("create", names.generation(stream.id), b"1"),
                 ("create", names.queries(stream.id), queries.dump()), ("create", f"{root}/parts", b"")]
    for part in range(stream.key_parts):
        creations += [("create", f"{root}/parts/{part}", b""), ("create", names.owner(stream.id, part), b""),
                      ("create", names.pointer(stream.id, part), b"")]
    return creations
