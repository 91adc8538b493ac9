"""Isolates claims that were given before, to find what kills worker after worker (rule 10).

A mapper holds several claims, and if it dies, nothing tells which of them killed it. So each of them is suspect. The next
holder works on it with nothing else at work, and marks in Redis whether it reads or computes. The claim script splits a
suspect, until it can say that reading one offset, or computing one query over it, kills.
"""

from __future__ import annotations

import logging

from mapper.handoff import Handoff
from mars.adapters.exchange import Exchange
from mars.adapters.view import StreamView, stop_queries
from mars.adapters.zookeeper import ZooKeeper
from mars.model.claims import Claim
from mars.model.plan import QueryPlan
from mars.runtime.system import Event

log = logging.getLogger("mars.mapper")
LOOK_S = 0.2  # how often a wait for the computing thread checks whether the mapper stops


class Isolation:
    """Keeps a suspect alone in its mapper, and writes its marks to Redis."""

    def __init__(self, zookeeper: ZooKeeper, exchange: Exchange, handoff: Handoff, stopping: Event) -> None:
        self.zookeeper, self.exchange = zookeeper, exchange
        self._handoff, self._stopping = handoff, stopping

    def begin(self, view: StreamView, claim: Claim) -> None:
        """Called by the fetching thread before it reads. From here on a suspect is alone; other claims pass at once."""
        if not claim.is_suspect:
            return
        self._wait_until_alone()
        if not claim.kills:
            self.exchange.mark(view.stream.id, view.generation, claim, "reading")

    def end(self, claim: Claim) -> None:
        """Called by the fetching thread once the claim's batch was handed over. A suspect stays alone until it is
        computed."""
        if claim.is_suspect:
            self._wait_until_alone()

    def compute(self, view: StreamView, claim: Claim) -> None:
        """Called by the computing thread: the claim was read, and will now be computed."""
        if claim.is_suspect and not claim.kills:
            self.exchange.mark(view.stream.id, view.generation, claim, "computing")

    def plans(self, view: StreamView, claim: Claim, plans: dict[str, QueryPlan]) -> dict[str, QueryPlan]:
        """The plans to compute: all of them, or none for a claim that kills every worker. A query whose computing kills
        is quarantined. An offset whose reading kills is pushed as one bad tuple."""
        if not claim.kills:
            return plans
        place = f"partition {claim.partition}, offset {claim.start}" if claim.end - claim.start == 1 else \
            f"partition {claim.partition}, offsets [{claim.start}, {claim.end})"
        log.error("stream %s: %s ended each worker that was %s it", view.stream.name, place, claim.kills)
        if claim.kills == "computing":
            stop_queries(self.zookeeper, view.stream, plans, "QUARANTINED",
                         f"{place}: computing it ended the worker process each time; RESUME QUERY tries again from the "
                         "committed position, DROP QUERY and CREATE QUERY ... FROM LATEST leave it out")
        return {}

    def _wait_until_alone(self) -> None:
        while not self._handoff.wait_idle(LOOK_S) and not self._stopping.is_set():
            pass
