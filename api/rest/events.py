"""Server-sent events: the rows of windows as they become final, and notices of what keeps them from coming."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator

import orjson
from fastapi.sse import format_sse_event

from api.rest.pools import TAILS
from api.rest.problems import of_error
from api.statements.context import Context
from mars.adapters.storage import CorruptFileError
from mars.errors import GoneError, MarsError, NotFoundError, NotReadyError
from mars.results import event_ids
from mars.results.blocks import Block
from mars.results.formats import named_types, rows, timestamp_text
from mars.results.snapshot import FRESH_S
from mars.results.tails import LOOK_S, Tail, next_block

MEDIA_TYPE = "text/event-stream"
TRIES = 3
HEARTBEAT_S = 10.0
GATHER_S = 0.005


class _Troubles:
    """What keeps a reader from its rows: the number of reads in a row that met a damaged file, and what the reader was
    told."""

    def __init__(self) -> None:
        self.failures = 0
        self.told = ""

    def event(self, error: MarsError) -> bytes:
        """An event `error`, once, for a problem that somebody must fix; browsers would hide a comment from a page.
        Otherwise a comment, for example for a service that is away: the reader can only wait."""
        if isinstance(error, NotReadyError) or str(error) == self.told:
            return format_sse_event(comment=f"waiting: {error.title}")
        self.told = str(error)
        return format_sse_event(event="error", data_str=bytes(of_error(error).body).decode())


async def stream(context: Context, tail: Tail) -> AsyncIterator[bytes]:
    """The events of a reader, until it leaves, the query is dropped, rows that it has yet to get are deleted, or the
    server stops. Memory holds one block and one stratum of the result, however slow the reader is."""
    changed, loop, troubles = asyncio.Event(), asyncio.get_running_loop(), _Troubles()
    spoke_at = time.monotonic()
    yield format_sse_event(comment="connected", retry=1000)

    def wake() -> None:
        loop.call_soon_threadsafe(changed.set)

    with context.snapshots.told(wake):
        while not context.shutdown.is_set():
            changed.clear()
            try:
                events = await TAILS.run(_next_events, context, tail, troubles)
            except NotFoundError:
                yield format_sse_event(event="dropped", data_str=orjson.dumps({"query": tail.query.name}).decode())
                return
            except MarsError as error:  # the reader waits with us for a service, or for a file from a backup
                events = None
                await asyncio.sleep(LOOK_S)
                yield troubles.event(error)
                if isinstance(error, GoneError):
                    return
            if events is not None:
                spoke_at = time.monotonic()
                yield events
                continue
            if time.monotonic() - spoke_at > HEARTBEAT_S:
                spoke_at = time.monotonic()
                yield format_sse_event(comment="heartbeat")
            await _wait(changed)


async def _wait(changed: asyncio.Event) -> None:
    """Wait until something may have changed, at most LOOK_S. Many commits at once count as one change."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(changed.wait(), LOOK_S)
        await asyncio.sleep(GATHER_S)


def _next_events(context: Context, tail: Tail, troubles: _Troubles) -> bytes | None:
    """The next events, or None if no further window has closed. NotFoundError and GoneError as next_block; CorruptFileError
    once TRIES reads in a row have met such a file."""
    try:
        block = next_block(context.results, tail)
    except CorruptFileError:
        # Files are deleted once a newer commit does not need them. The next try reads as of that commit.
        troubles.failures += 1
        if troubles.failures >= TRIES:
            raise
        time.sleep(2 * FRESH_S)
        return None
    troubles.failures, troubles.told = 0, ""
    return None if block is None else b"".join(_events(tail, block))


def _events(tail: Tail, block: Block) -> Iterator[bytes]:
    """An event for each chunk of the block, with the commit and the watermark as of which it was read."""
    assert tail.snapshot is not None, tail  # whoever has a block has read it from one
    about = {"columns": named_types(block.table.schema), "commit": tail.snapshot.commit,
             "watermark": timestamp_text(tail.snapshot.watermark_us)}
    # Convert the block at once, because small chunks one by one would take much longer.
    values, begin = rows(block.table), 0
    for chunk in block.chunks:
        data = orjson.dumps({**about, "rows": values[begin:begin + chunk.rows]}).decode()
        id_ = event_ids.dump(tail.query.shown_id, chunk.behind, tail.selection)
        yield format_sse_event(event="result", id=id_, data_str=data)
        begin += chunk.rows
