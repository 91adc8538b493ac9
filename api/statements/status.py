"""What runs and its progress: a query's document, and the state of each dependency."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial

from api.statements.context import Context
from mars.adapters.changes import GLANCE_S, answering
from mars.adapters.storage import CorruptFileError
from mars.errors import MarsError
from mars.model.commits import COUNTERS
from mars.model.plan import Stream
from mars.model.registry import Query
from mars.results.formats import timestamp_text
from mars.workers import KINDS, Kind

ROOM_BYTES = 1024 * 1024  # below this, commits of a busy stream begin to wait


def query_document(context: Context, stream: Stream, query: Query, asked_at: float | None = None) -> dict:
    """A query as `GET /v1/queries/{name}` shows it. `lag` counts everything that was in the topic at `asked_at`
    (monotonic; None: now). It is null while it is not known, and then `lag_unknown` says why. All figures are null if the
    query's commits cannot be read, so that a list of queries still shows the others, and this one's state."""
    document: dict[str, object] = {
        "name": query.name, "id": query.id, "stream": stream.name, "sql": query.plan.sql, "state": query.state,
        "reason": query.reason or None}
    try:
        snapshot = context.snapshots.read(stream, query)
    except CorruptFileError as error:
        document |= {"reason": query.reason or str(error), "watermark": None, "lag": None, "lag_unknown": error.title,
                     "positions": {str(p): None for p in query.start}, "counters": dict.fromkeys(COUNTERS),
                     "bad_reasons": {}, "commit": None}
    else:
        positions = snapshot.positions()
        lag, unknown = _lag(context, stream, positions, asked_at)
        document |= {"watermark": timestamp_text(snapshot.watermark_us), "lag": lag, "lag_unknown": unknown,
                     "positions": {str(p): offset for p, offset in positions.items()}, "counters": snapshot.counters(),
                     "bad_reasons": snapshot.bad_reasons(), "commit": snapshot.commit}
    return document | {"created": timestamp_text(query.created_ms * 1000)}


def query_documents(context: Context) -> list[dict]:
    """All queries, in the order of creation."""
    asked_at = time.monotonic()
    return [query_document(context, stream, query, asked_at) for stream, query in context.catalog.queries()]


def stream_document(stream: Stream, queries: Iterable[str]) -> dict:
    """A stream as `GET /v1/streams` shows it."""
    return {"name": stream.name, "topic": stream.topic, "format": stream.format, "options": stream.options,
            "time_column": stream.time_column, "time_unit": stream.time_unit, "key_parts": stream.key_parts,
            "columns": [{"name": c.name, "type": c.type, **({"path": c.path} if c.path else {})} for c in stream.columns],
            "queries": sorted(queries), "sql": stream.sql}


def streams(context: Context) -> list[tuple[Stream, list[str]]]:
    """All streams by name, each with the names of its queries, sorted."""
    found = sorted(context.catalog.catalog().streams.values(), key=lambda stream: stream.name.lower())
    return [(s, sorted(q.name for q in context.catalog.query_set(s).queries.values())) for s in found]


def stream_documents(context: Context) -> list[dict]:
    """All streams, by name."""
    return [stream_document(stream, queries) for stream, queries in streams(context)]


def _lag(context: Context, stream: Stream, positions: dict[int, int],
         asked_at: float | None) -> tuple[dict | None, str | None]:
    """The lag, or why it is not known."""
    try:
        ends = context.ends.read(stream, positions, asked_at)
    except MarsError as error:
        return None, str(error)
    behind = {p: max(0, ends[p] - position) for p, position in positions.items()}
    return {"tuples": sum(behind.values()), "partitions": {str(p): n for p, n in behind.items()}}, None


def workers(context: Context, kind: Kind) -> list[dict]:
    """The workers of a kind that are alive, as they registered themselves."""
    return answering(context.zk, lambda: context.zk.documents(kind.folder), GLANCE_S)


def dependencies(context: Context) -> dict[str, dict]:
    """Each part by name: {"ready": bool, "detail": text}; all are asked at once, none for longer than some seconds."""
    checks: dict[str, Callable[[], str]] = {
        "zookeeper": lambda: _catalog(context),
        "state folder": lambda: _require_room(context),
        "kafka": lambda: _topics(context),
        "redis": lambda: _ping_redis(context.config.redis_address),
        "spark": lambda: _spark(context),
        **{kind.plural: partial(_alive, context, kind) for kind in KINDS},
    }
    found: dict[str, dict] = {}

    def run(name: str) -> None:
        try:
            found[name] = {"ready": True, "detail": checks[name]()}
        except (MarsError, OSError) as error:
            found[name] = {"ready": False, "detail": str(error)}

    threads = [threading.Thread(target=run, args=(name,), daemon=True) for name in checks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(7.0)
    return {name: found.get(name, {"ready": False, "detail": "no answer in time"}) for name in checks}


def no_room(context: Context) -> str | None:
    """Why nothing can be committed to the state folder; None if that is possible."""
    root = context.storage.root
    try:
        free = shutil.disk_usage(root).free
    except OSError as error:
        return f"{root} cannot be read: {error.strerror}"
    if free < ROOM_BYTES:
        return f"{root} has {free:,} bytes left: a commit that needs more waits until there is room; nothing is lost"
    return None if os.access(root, os.W_OK) else f"{root} cannot be written to: commits wait"


def _require_room(context: Context) -> str:
    if trouble := no_room(context):
        raise MarsError(trouble)
    return str(context.storage.root)


def _catalog(context: Context) -> str:
    context.catalog.catalog()
    return context.config.zookeeper_address


def _topics(context: Context) -> str:
    context.kafka.topics()
    return context.config.kafka_address


def _spark(context: Context) -> str:
    if context.spark is None:
        raise MarsError("the session is not up")
    return str(context.spark.sparkContext.master)


def _alive(context: Context, kind: Kind) -> str:
    needed_by = kind.needed_by
    if needed_by is not None and not answering(context.zk, lambda: context.zk.children(needed_by), GLANCE_S):
        return "none is needed"
    found = workers(context, kind)
    if not found:
        raise MarsError("none is alive")
    return f"{len(found)} alive"


def _ping_redis(address: str) -> str:
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=2.0) as connection:
        connection.sendall(b"PING\r\n")
        answer = connection.recv(64)
    if not answer.startswith(b"+PONG"):
        raise MarsError("Redis does not answer PING", answer.decode(errors="replace").strip())
    return address
