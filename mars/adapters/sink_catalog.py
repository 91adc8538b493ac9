"""Sinks and connections in ZooKeeper: what exists, changed by compare-and-set only; and what owners say of their sinks.

Beside the catalog and not in it, so that who counts tuples never reads or waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from mars.adapters.catalog_names import did_you_mean
from mars.adapters.changes import Change, answering, change
from mars.adapters.zookeeper import ZooKeeper
from mars.errors import ConflictError, NotFoundError
from mars.model import names
from mars.model.connections import Connection
from mars.model.identifiers import identifier
from mars.model.registry import Query
from mars.model.sinks import PAUSED, RUNNING, Sink, SinkSet, SinkStatus

T = TypeVar("T")


class SinkStore:
    """Reads and changes sinks and connections; may be used from several threads. Every method raises NotReadyError when
    ZooKeeper does not answer for `patience_s`."""

    def __init__(self, zk: ZooKeeper, patience_s: float = 0.0) -> None:
        self.zk = zk
        self.patience_s = patience_s

    # Reading

    def read(self) -> SinkSet:
        """All of them."""
        return self._guard(lambda: self._read()[0])

    def sink(self, name: str) -> Sink:
        """The sink of that name in any case; NotFoundError with a did-you-mean."""
        return _found(self.read(), name)

    def connection(self, name: str) -> Connection:
        """The connection of that name in any case; NotFoundError with a did-you-mean."""
        return _connection(self.read(), name)

    def status(self, sink: Sink) -> SinkStatus:
        """What its owner said last."""
        znode = self._guard(lambda: self.zk.get(names.sink_status(sink.id)))
        return SinkStatus.load(znode.data) if znode else SinkStatus()

    # Changing

    def create(self, sink: Sink) -> Sink:
        """Make a sink of a query that exists; its id is ignored. ConflictError if the name exists."""
        def prepare() -> Change[Sink]:
            sinks, version = self._read()
            return _create(sinks, version, sink, self.zk.clock.wall_ms())

        return change(self.zk, prepare, self.patience_s)

    def with_query(self, sink: Sink) -> Callable[[Query], list[tuple]]:
        """For CatalogStore.create_query: what else its transaction does, so that query and sink are made together."""
        def beside(query: Query) -> list[tuple]:
            sinks, version = self._read()
            made = replace(sink, query=query.name, query_id=query.id, with_query=True)
            return _create(sinks, version, made, self.zk.clock.wall_ms())[1]

        return beside

    def drop_with_query(self, query: Query) -> list[tuple]:
        """For CatalogStore.drop_query: drops the sink that was made with the query. ConflictError that names any others."""
        sinks, version = self._read()
        others = [sink for sink in sinks.of_query(query.id) if not sink.with_query]
        if others:
            drops = "; ".join(f"DROP SINK {identifier(sink.name)}" for sink in others)
            raise ConflictError("the query has sinks", f"of {query.name}: {', '.join(sink.name for sink in others)}",
                                f"drop them first: {drops}")
        gone = sinks.of_query(query.id)
        return [("check", names.SINKS, version)] if not gone else self._drop(sinks, version, gone[0])

    def require_none(self, query: Query) -> list[tuple]:
        """For CatalogStore.alter_query: ConflictError that names the query's sinks, if it has any."""
        sinks, version = self._read()
        if there := sinks.of_query(query.id):
            drops = "; ".join(f"DROP SINK {identifier(sink.name)}" for sink in there)
            raise ConflictError("the query has sinks", f"of {query.name}: {', '.join(sink.name for sink in there)}; what "
                                "they have delivered stays as it was", f"drop them first, and make them again: {drops}")
        return [("check", names.SINKS, version)]

    def drop(self, name: str) -> Sink:
        """End a sink; what it has delivered stays in the target."""
        def prepare() -> Change[Sink]:
            sinks, version = self._read()
            sink = _found(sinks, name)
            return sink, self._drop(sinks, version, sink)

        return change(self.zk, prepare, self.patience_s)

    def pause(self, name: str) -> Sink:
        """Stop a running sink where it is. ConflictError in any other state."""
        return self._change_state(name, PAUSED, lambda sink: sink.state == RUNNING, "only a RUNNING sink can be paused")

    def resume(self, name: str) -> Sink:
        """Let a sink that is paused or was stopped by a fault go on. Whoever resumes one that has lost something accepts the
        loss. ConflictError if it runs."""
        return self._change_state(name, RUNNING, lambda sink: sink.state != RUNNING, "it runs already")

    def replay(self, name: str, first_us: int | None, gone_us: int | None) -> Sink:
        """Let a sink begin anew with windows that start at `first_us`; as Sink.replayed."""
        return self._change_sink(name, lambda sink: sink.replayed(first_us, gone_us))

    def stop(self, sink: Sink, state: str, reason: str) -> None:
        """Put a running sink into a fault state, unless somebody has changed it since."""
        self._change_unchanged(sink, lambda there: there.changed(state, reason))

    def accepted(self, sink: Sink) -> Sink:
        """The loss with which somebody has resumed a sink is made good: a further one stops it again."""
        return self._change_unchanged(sink, lambda there: replace(there, accepts="")) or replace(sink, accepts="")

    def create_connection(self, connection: Connection) -> Connection:
        """Keep where a target is. ConflictError if the name exists."""
        made = replace(connection, created_ms=self.zk.clock.wall_ms())

        def prepare() -> Change[Connection]:
            sinks, version = self._read()
            key = connection.name.lower()
            if key in sinks.connections:
                raise ConflictError("the name exists", f"{sinks.connections[key].name} is a connection already",
                                    f"choose another name, or DROP CONNECTION {identifier(connection.name)} first")
            sinks.connections[key] = made
            return made, [("set", names.SINKS, sinks.dump(), version)]

        return change(self.zk, prepare, self.patience_s)

    def drop_connection(self, name: str) -> Connection:
        """Forget it. ConflictError that names the sinks that use it."""
        def prepare() -> Change[Connection]:
            sinks, version = self._read()
            connection = _connection(sinks, name)
            if users := sinks.users(name):
                raise ConflictError("the connection is in use", f"sinks of {connection.name}: {', '.join(users)}",
                                    f"drop them first: {'; '.join(f'DROP SINK {identifier(user)}' for user in users)}")
            del sinks.connections[name.lower()]
            return connection, [("set", names.SINKS, sinks.dump(), version)]

        return change(self.zk, prepare, self.patience_s)

    def _change_state(self, name: str, state: str, allowed: Callable[[Sink], bool], refusal: str) -> Sink:
        def changed(sink: Sink) -> Sink:
            if not allowed(sink):
                raise ConflictError("wrong state", f"sink {sink.name} is {sink.state}: {refusal}",
                                    f"see `EXPLAIN SINK {identifier(sink.name)} WHY`")
            return sink.changed(state, accepts=sink.state if state == RUNNING else sink.accepts)

        return self._change_sink(name, changed)

    def _change_sink(self, name: str, changed: Callable[[Sink], Sink]) -> Sink:
        """Put what `changed` makes of the sink of that name in its place."""
        def prepare() -> Change[Sink]:
            sinks, version = self._read()
            sink = _found(sinks, name)
            sinks.sinks[sink.id] = made = changed(sink)
            return made, [("set", names.SINKS, sinks.dump(), version)]

        return change(self.zk, prepare, self.patience_s)

    def _change_unchanged(self, sink: Sink, changed: Callable[[Sink], Sink]) -> Sink | None:
        """Put what `changed` makes of a sink in its place. None, and nothing happens, if somebody has changed or dropped it
        since its attempt began."""
        def prepare() -> Change[Sink | None]:
            sinks, version = self._read()
            there = sinks.sinks.get(sink.id)
            if there is None or there.attempt != sink.attempt:
                return None, [("check", names.SINKS, version)]
            sinks.sinks[sink.id] = made = changed(there)
            return made, [("set", names.SINKS, sinks.dump(), version)]

        return change(self.zk, prepare, self.patience_s)

    def _drop(self, sinks: SinkSet, version: int, sink: Sink) -> list[tuple]:
        del sinks.sinks[sink.id]
        return [("set", names.SINKS, sinks.dump(), version), ("delete", names.sink_owner(sink.id)),
                ("delete", names.sink_status(sink.id))]

    def _read(self) -> tuple[SinkSet, int]:
        znode = self.zk.get(names.SINKS)
        if znode is None:
            self.zk.ensure(names.SINKS)
            self.zk.ensure(names.CHANGES)
            znode = self.zk.get(names.SINKS)
        assert znode is not None  # it is never deleted
        return SinkSet.load(znode.data), znode.version

    def _guard(self, call: Callable[[], T]) -> T:
        return answering(self.zk, call, self.patience_s)


def _create(sinks: SinkSet, version: int, sink: Sink, now_ms: int) -> Change[Sink]:
    require_new(sinks, sink.name)
    made = replace(sink, id=f"s{sinks.next_id}", created_ms=now_ms)
    sinks.next_id += 1
    sinks.sinks[made.id] = made
    return made, [("set", names.SINKS, sinks.dump(), version), ("create", names.sink_status(made.id), b""),
                  ("create", names.sink_owner(made.id), b"")]


def require_new(sinks: SinkSet, name: str) -> None:
    """ConflictError if a sink has the name, in any case."""
    there = sinks.find(name)
    if there is not None:
        raise ConflictError("the name exists", f"{there.name} is a sink already",
                            f"choose another name, or DROP SINK {identifier(there.name)} first")


def _found(sinks: SinkSet, name: str) -> Sink:
    sink = sinks.find(name)
    if sink is None:
        near = did_you_mean(name, [each.name for each in sinks.sinks.values()])
        raise NotFoundError("unknown sink", f"there is no sink {name}", f"{near}`SHOW SINKS` lists them all")
    return sink


def _connection(sinks: SinkSet, name: str) -> Connection:
    connection = sinks.connections.get(name.lower())
    if connection is None:
        near = did_you_mean(name, [each.name for each in sinks.connections.values()])
        raise NotFoundError("unknown connection", f"there is no connection {name}",
                            f"{near}`SHOW CONNECTIONS` lists them all")
    return connection
