"""What sinks are shown as: SHOW SINKS, EXPLAIN SINK, and a sink's document."""

from __future__ import annotations

from collections.abc import Collection

import orjson

from api.statements.answers import Answer, listing
from api.statements.context import Context
from mars.adapters.changes import GLANCE_S, answering
from mars.adapters.storage import CorruptFileError
from mars.errors import NotFoundError
from mars.model import names
from mars.model.connections import ICEBERG, KAFKA, POSTGRES
from mars.model.registry import RUNNING as QUERY_RUNNING
from mars.model.sinks import PARQUET, RUNNING, STARTING, WAITING, WEBHOOK, Sink, SinkStatus
from mars.results.formats import timestamp_text
from mars.results.snapshot import Snapshot
from mars.results.waits import what_it_waits_for
from sql import statements as kinds

GUARANTEES = {KAFKA: "each row once, for consumers with isolation.level=read_committed; the place is the text beside a "
                     "committed offset of the sink's consumer group",
              POSTGRES: "each row once: rows and place are written in one transaction; the place is in mars_sinks, in the "
                        "table's schema",
              ICEBERG: "each row once: rows and place come by one commit; the place is a property of the snapshot",
              PARQUET: "each row once: a file shows once a manifest in .mars names it with the place",
              WEBHOOK: "each row at least once: a message that comes again has the same webhook-id and body; the place is "
                       "in ZooKeeper"}


def show_sinks(context: Context, _statement: kinds.ShowSinks) -> Answer:
    """One row for each sink."""
    lines = [(d["name"], d["query"], d["into"], d["state"], d["reason"], d["delivered_until"], d["behind_s"], d["rows"])
             for d in documents(context)]
    text = "STRING"
    return Answer("rows", table=listing(
        {"name": text, "query": text, "into": text, "state": text, "reason": text, "delivered_until": text,
         "behind_s": "DOUBLE", "rows": "BIGINT"}, lines))


def explain_sink(context: Context, statement: kinds.ExplainSink) -> Answer:
    """What a sink does, and why it is where it is."""
    sink = context.sinks.sink(statement.name.text)
    found = document(context, sink)
    lines = [f"sink      {sink.name} from query {sink.query}", f"into      {found['into']}",
             f"rows      {_which(sink)}",
             f"gives     {GUARANTEES[sink.into.kind]}",
             f"state     {found['state']}" + (f": {found['reason']}" if found["reason"] else ""),
             f"delivered {found['rows']} rows, up to {found['delivered_until'] or 'no window yet'}"]
    if found["behind_s"]:
        lines.append(f"behind    {found['behind_s']:g} s of event time")
    if found["last_error"]:
        lines.append(f"error     {found['last_error']}")
    snapshot = _snapshot(context, sink)
    if snapshot is not None and snapshot.query.state != QUERY_RUNNING:
        lines.append(f"query     {snapshot.query.state}: {snapshot.query.reason or 'no window closes'}")
    elif snapshot is not None and not found["behind_s"]:
        lines.append(f"next      {what_it_waits_for(snapshot)}")
    return Answer("plan", table=listing({"plan": "STRING"}, [(line,) for line in lines]))


def documents(context: Context) -> list[dict]:
    """All sinks, in the order of creation."""
    found = context.sinks.read().sinks.values()
    alive = _publishers(context) if found else []
    return [_document(context, sink, alive) for sink in sorted(found, key=lambda sink: (sink.created_ms, sink.id))]


def document(context: Context, sink: Sink) -> dict:
    """A sink as `GET /v1/sinks/{name}` shows it. `delivered_until`: windows that end there or before are in the target;
    `behind_s`: how much event time further its query's closed windows go. Both are null while nobody knows."""
    return _document(context, sink, _publishers(context))


def _document(context: Context, sink: Sink, alive: Collection[str]) -> dict:
    status = context.sinks.status(sink)
    state, reason = _state(context, sink, status, alive)
    snapshot = _snapshot(context, sink)
    behind_s = None
    if snapshot is not None and snapshot.watermark_us is not None and status.until_us is not None:
        behind_s = max(0, snapshot.watermark_us - snapshot.delay_us - status.until_us) / 1e6
    is_waiting = state == WAITING
    return {"name": sink.name, "id": sink.id, "query": sink.query, "into": sink.into.shown(), "where": sink.where,
            "state": state, "reason": reason, "delivered_until": timestamp_text(status.until_us), "behind_s": behind_s,
            "rows": status.mark.rows if status.mark else 0,
            "last_error": status.last_error or None if is_waiting else reason if sink.state != RUNNING else None,
            "next_try": _time(status.next_try_ms) if is_waiting else None,
            "publisher": status.publisher or None, "sql": sink.sql, "created": _time(sink.created_ms)}


def _state(context: Context, sink: Sink, status: SinkStatus, alive: Collection[str]) -> tuple[str, str | None]:
    if sink.state != RUNNING:
        return sink.state, sink.reason or None
    if status.attempt != sink.attempt or not _is_owned(context, sink, alive):
        return STARTING, "no publisher has taken it yet"
    if status.state == WAITING:
        return WAITING, (f"waits for the target since {_time(status.since_ms)}, next try {_time(status.next_try_ms)}: "
                         f"{status.last_error}")
    return status.state, None


def _is_owned(context: Context, sink: Sink, alive: Collection[str]) -> bool:
    """Is the sink's owner among these publishers?"""
    owner = answering(context.zk, lambda: context.zk.get(names.sink_owner(sink.id)), GLANCE_S)
    return owner is not None and bool(owner.data) and orjson.loads(owner.data)["id"] in alive


def _publishers(context: Context) -> list[str]:
    """Those that are alive."""
    return answering(context.zk, lambda: context.zk.children(names.PUBLISHERS), GLANCE_S)


def _snapshot(context: Context, sink: Sink) -> Snapshot | None:
    """The sink's query as of its last commit; None if it was dropped, or does not read."""
    try:
        stream, query = context.catalog.query(sink.query)
        return context.snapshots.read(stream, query) if query.id == sink.query_id else None
    except (NotFoundError, CorruptFileError):
        return None


def _which(sink: Sink) -> str:
    """Which rows it delivers."""
    rows = "all" if sink.where is None else f"those with {sink.where}"
    if sink.since is not None:
        return f"{rows}, as they have changed since the sink was made"
    if sink.first_us is not None:
        return f"{rows}, of windows that start at {timestamp_text(sink.first_us)} or later"
    return rows if sink.above_us is None else f"{rows}, of windows that closed after {timestamp_text(sink.above_us)}"


def _time(time_ms: int | None) -> str | None:
    return None if time_ms is None else timestamp_text(time_ms * 1000)
