"""Users that change queries while claims are in flight (N25)."""

from __future__ import annotations

import contextlib

from mars.errors import MarsError
from tests.nemesis.faults import Fault


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
    """A query comes FROM EARLIEST and goes before it has caught up."""

    number, heals_by_api = "N25", True
    hold_s = (0.5, 4.0)

    def inflict(self) -> None:
        self.has_struck = False
        with contextlib.suppress(MarsError):
            self.instance.api.sql(f"CREATE QUERY {self.stream.name}_guest AS SELECT g, count(*) FROM {self.stream.name} "
                                  "GROUP BY g WINDOWING 10 s FROM EARLIEST")
            self.has_struck = True

    def heal(self) -> None:
        self.stream.drop_query(f"{self.stream.name}_guest")
