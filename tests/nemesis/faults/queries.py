"""Users that change queries while claims are in flight (N25)."""

from __future__ import annotations

import contextlib
import signal
import time

from mars.errors import MarsError
from tests.nemesis.faults import Fault
from tests.nemesis.tuples import STATISTICS
from tests.nemesis.visitors import VISITORS


class QueryPaused(Fault):
    """One of the stream's queries is paused for a while: it goes on on a lane of its own."""

    number, weight, heals_by_api = "N25", 2.0, True
    hold_s = (0.5, 3.0)

    def inflict(self) -> None:
        self.query = self.rng.choice(sorted(self.stream.queries.values()))
        self.has_struck = False
        with contextlib.suppress(MarsError):
            self.instance.api.sql(f"PAUSE QUERY {self.query}")
            self.has_struck = True

    def heal(self) -> None:
        if hasattr(self, "query"):
            self.stream.resume(self.query)


class QueryMadeAndDropped(Fault):
    """A query, of whatever windows and emission, comes FROM EARLIEST and goes before it has caught up."""

    number, heals_by_api = "N25", True
    hold_s = (0.5, 4.0)

    def inflict(self) -> None:
        self.has_struck = False
        with contextlib.suppress(MarsError):
            visitor = self.rng.choice(VISITORS)
            self.instance.api.sql(visitor.create(f"{self.stream.name}_guest", self.stream.name, "EARLIEST"))
            self.has_struck = True

    def heal(self) -> None:
        self.stream.drop_query(f"{self.stream.name}_guest")


class QueryMadeWhileKeyPartsMove(Fault):
    """A reducer dies, and while its key parts go to another one a query comes FROM LATEST. It stays, and is judged with the
    others; the oldest of too many is dropped at the same moment."""

    number, weight = "N25", 3.0
    hold_s = (3.0, 6.0)

    def inflict(self) -> None:
        pids = sorted(self.instance.workers("reducer"))
        self.instance.signal(self.rng.choice(pids) if pids else None, signal.SIGKILL)
        time.sleep(self.rng.uniform(0.0, 5.0))
        self.has_struck = self.stream.invite(self.rng.choice(STATISTICS[:2]))
