"""Server-sent events: the rows of windows as they become final, resumable by the id of the last event that arrived."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import orjson
import pyarrow as pa
from fastapi.sse import format_sse_event

from api.context import Context
from api.dependencies import instant_us
from api.pages import Selection
from api.pools import TAILS
from api.problems import RequestError
from api.results_format import named_types, rows, timestamp_text
from api.results_rows import Choice, all_rows
from api.results_snapshot import Snapshot
from mars.adapters.storage import CorruptFileError
from mars.errors import MarsError, NotFoundError
from mars.plan import Stream
from mars.registry import Query

CHUNK_ROWS = 5_000
HEARTBEAT_S = 10.0
GATHER_S = 0.005
LOOK_S = 1.0


@dataclass
class Tail:
    """How far one reader is: all rows of windows that close at or before the watermark `above_us` were sent, and `sent`
    rows of those that close in (above_us, bound_us]. Never changing rows make the place mean the same for ever."""

    stream: Stream
    query: Query
    above_us: int | None
    bound_us: int | None = None
    sent: int = 0
    selection: Selection = Selection()
    looked_at: float = 0.0
    snapshot: Snapshot | None = None
    waiting: Iterator[pa.Table] | None = None

    def id(self) -> str:
        """The id of the event that brought the reader here. Commit numbers in it are for people; behind them stands which
        rows were asked for, as `sent` counts these, if not all were."""
        places = ("" if place is None else str(place) for place in (self.above_us, self.bound_us))
        return ":".join([self.query.id, *places, str(self.sent), ",".join(map(str, self.snapshot.vector)), *self.asked()])

    def asked(self) -> list[str]:
        """A short name of the selection, none for all rows."""
        return [] if self.selection == Selection() else [hashlib.sha256(repr(self.selection).encode()).hexdigest()[:12]]


def open_tail(context: Context, name: str, last_event_id: str | None, from_: str | None, where: str | None) -> Tail:
    """Where a reader begins: after the last event that it has, at a time, now, or with all that is kept. SqlError for a
    condition that is refused."""
    stream, query = context.catalog.query(name)
    now = from_ == "now"
    tail = Tail(stream, query, None, selection=Selection(None if now else instant_us("from", from_), where=where))
    Choice.of(query.plan, tail.selection)
    if last_event_id:
        _go_on(tail, last_event_id)
    elif now:
        tail.above_us = context.snapshots.read(stream, query).watermark_us
    return tail


async def stream(context: Context, tail: Tail) -> AsyncIterator[bytes]:
    """The events of a reader until it leaves, the query is dropped, or the server stops. Holds one chunk and what one
    stratum of the result has, however slow the reader is."""
    changed, loop = asyncio.Event(), asyncio.get_running_loop()
    spoke_at = time.monotonic()
    yield format_sse_event(comment="connected", retry=1000)
    with context.snapshots.told(lambda: loop.call_soon_threadsafe(changed.set)):
        while not context.shutdown.is_set():
            changed.clear()
            try:
                event = await TAILS.run(_next_event, context, tail)
            except NotFoundError:
                yield format_sse_event(event="dropped", data_str=orjson.dumps({"query": tail.query.name}).decode())
                return
            except MarsError as error:  # a service is away: the reader waits with us
                event = None
                await asyncio.sleep(LOOK_S)
                yield format_sse_event(comment=f"waiting: {error.title}")
            if event is not None:
                spoke_at = time.monotonic()
                yield event
                continue
            if time.monotonic() - spoke_at > HEARTBEAT_S:
                spoke_at = time.monotonic()
                yield format_sse_event(comment="heartbeat")
            await _wait(changed)


async def _wait(changed: asyncio.Event) -> None:
    """Until something may have changed, at most LOOK_S; many commits at once are one change."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(changed.wait(), LOOK_S)
        await asyncio.sleep(GATHER_S)


def _next_event(context: Context, tail: Tail) -> bytes | None:
    """The next chunk of rows, or None if no further window has closed. NotFoundError if the query was dropped."""
    _look(context, tail)
    try:
        chunk = _next_chunk(context, tail)
    except CorruptFileError:
        # Files are deleted once a newer commit does not need them: begin the chunk again as of that one.
        tail.waiting = None
        return None
    if chunk is None:
        return None
    data = {"columns": named_types(chunk.schema), "rows": rows(chunk), "commit": tail.snapshot.commit,
            "watermark": timestamp_text(tail.bound_us)}
    return format_sse_event(event="result", id=tail.id(), data_str=orjson.dumps(data).decode())


def _next_chunk(context: Context, tail: Tail) -> pa.Table | None:
    while tail.waiting is not None or _begin(context, tail):
        chunk = next(tail.waiting, None)
        if chunk is not None:
            tail.sent += len(chunk)
            return chunk
        tail.above_us, tail.sent, tail.waiting = tail.bound_us, 0, None
    return None


def _begin(context: Context, tail: Tail) -> bool:
    """Open the rows that close in (above, bound], less those already sent. False if there is nothing new."""
    tail.snapshot = context.snapshots.read_whole(tail.stream, tail.query)
    visible = tail.snapshot.watermark_us
    if visible is None:
        return False
    if not tail.sent:
        tail.bound_us = visible
    if tail.above_us is not None and tail.bound_us <= tail.above_us:
        return False
    pieces = context.tables.closed(tail.snapshot, tail.bound_us, tail.above_us, tail.selection.first_us)
    found = all_rows(Choice.of(tail.query.plan, tail.selection), pieces)
    tail.waiting = _chunks(found, tail.sent)
    return True


def _chunks(tables: Iterator[pa.Table], skip: int) -> Iterator[pa.Table]:
    """The tables in slices of at most CHUNK_ROWS, without the first `skip` rows."""
    for table in tables:
        passed = min(skip, len(table))
        skip -= passed
        for start in range(passed, len(table), CHUNK_ROWS):
            yield table.slice(start, CHUNK_ROWS)


def _look(context: Context, tail: Tail) -> None:
    """See now and then whether the query is still the same one, and what has become of it."""
    if time.monotonic() - tail.looked_at < LOOK_S:
        return
    stream, query = context.catalog.query(tail.query.name)
    if query.id != tail.query.id:
        raise NotFoundError("the query was dropped", f"{query.name} is another one now")
    tail.stream, tail.query, tail.looked_at = stream, query, time.monotonic()


def _go_on(tail: Tail, last_event_id: str) -> None:
    try:
        query, above, bound, sent, _, *asked = last_event_id.split(":")
        place = (int(above) if above else None, int(bound) if bound else None, int(sent))
        if len(asked) > 1 or place[2] < 0:
            raise ValueError(last_event_id)
    except ValueError:
        raise RequestError("this is no event id", f"Last-Event-ID is {last_event_id!r}",
                           "send the id of an event of this stream, or none") from None
    if query != tail.query.id:
        raise RequestError("the event id belongs to another query", f"{tail.query.name} was dropped and made anew",
                           "begin again without Last-Event-ID")
    if asked != tail.asked():
        raise RequestError("the event id belongs to other rows", "from or where differs from that of the stream it is of",
                           "give the same from and where, or begin again without Last-Event-ID")
    tail.above_us, tail.bound_us, tail.sent = place
