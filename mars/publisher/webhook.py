"""A sink's way to a webhook: at least once, each message under an id that stays the same.

A message has rows of one window. They are cut at the same rows wherever a delivery begins (mars/results/tails.py), so a
message that is sent again has the same id and the same body. There is nobody at the other end who keeps the mark: it is
ZooKeeper's copy alone, and is written once the messages before it were taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import pairwise

import numpy as np
import pyarrow as pa

from mars import faults
from mars.adapters.addresses import Reach
from mars.adapters.webhook import Hook
from mars.model.connections import Connection
from mars.model.sinks import Mark, Sink
from mars.publisher.target import WINDOW, Pace, Way
from mars.results.formats import timestamp_text, to_json
from mars.results.rows import times
from mars.runtime.system import SYSTEM, Clock


class WebhookTarget:
    """One address. Its rows come block by block, so that little is sent again after a fault."""

    pace, keeps_mark = Pace(rows_max=1), False

    def __init__(self, way: Way, sink: Sink, connection: Connection, clock: Clock = SYSTEM.clock) -> None:
        self.hook = Hook(connection, way.secret, Reach.of(way.config))
        self.sink, self.clock = sink, clock
        self.id = f"{way.instance}.{sink.id}"
        self.mark = Mark(0)

    def prepare(self, may_make: bool) -> bool:
        """As Target.prepare; there is nothing to make, and whether rows fit is seen when they come."""
        self.hook.addresses()
        return False

    def claim(self, fresh: Mark, is_known: bool) -> Mark:
        """As Target.claim: the mark is the copy's."""
        self.mark = fresh
        return fresh

    def deliver(self, rows: pa.Table, mark: Mark) -> None:
        """As Target.deliver, message by message; those before one that fails were taken."""
        faults.point("publisher.staged")
        for id_, body in messages(self.id, self.sink.query, rows, self.mark, mark):
            self.hook.send(id_, body, self.clock.wall_ms() // 1000)
        faults.point("publisher.committing")
        self.mark = mark

    def close(self) -> None:
        """As Target.close."""
        self.hook.close()


def messages(sink: str, query: str, rows: pa.Table, before: Mark, behind: Mark | None = None) -> Iterator[tuple[str, bytes]]:
    """(id, body) of each window of the rows, which come after the mark `before`. Where rows change, the id says up to where
    they go, `behind`: what comes again under it has no row that has not come under it."""
    changes = None if behind is None or behind.changes is None else sha256(repr(behind.changes).encode()).hexdigest()[:16]
    starts, ends = (times(rows, column) for column in WINDOW)
    edges = np.flatnonzero(np.diff(starts).astype(bool) | np.diff(ends).astype(bool)) + 1
    for first, last in pairwise([0, *edges.tolist(), len(rows)] if len(rows) else []):
        window = int(starts[first]), int(ends[first])
        skipped = before.place[2] if before.place is not None and before.place[:2] == window else 0
        document = {"query": query, "window_start": timestamp_text(window[0]), "window_end": timestamp_text(window[1]),
                    "columns": rows.column_names}
        yield f"{sink}.{window[0]}.{window[1]}.{changes or skipped}", to_json(document, rows.slice(first, last - first))
