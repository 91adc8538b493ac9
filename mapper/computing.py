"""The computing thread: it parses, spills and registers, aggregates and pushes what the fetching thread brings."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial

from mapper.batch import Messages, ParsedBatch
from mapper.handoff import Fetched
from mapper.parse import Parser
from mapper.push import (
    ENDS_PROCESS,
    GROUP_BYTES,
    TaskResult,
    entries,
    groups,
    never_taken,
    too_many_cells,
    unread,
    without_letters,
)
from mapper.shared import Shared
from mapper.steps import Steps
from mars import faults
from mars.adapters.exchange import FULL_SHARE, ExchangeFullError, StaleEpochError, StaleGenerationError
from mars.adapters.view import StreamView, stop_queries
from mars.adapters.zookeeper import ZOOKEEPER_AWAY
from mars.computing import refusal
from mars.model.claims import Claim
from mars.model.plan import QueryPlan
from mars.runtime.system import Clock

log = logging.getLogger("mars.mapper")
PARSERS_MAX = 16  # each keeps dictionaries of its columns' texts
REFUSED_S = 10.0  # so long a push may be refused by a Redis that has room
AWAY_S = 0.5  # a rest after a claim was left to others: the disk may be full, or ZooKeeper away
SWEPT_LEASES = 10  # a local file so many leases old is of a worker that is gone; if it is not, the range is fetched again


@dataclass
class Refused:
    """A group of tasks that is being pushed, and since when Redis has refused it while it had room."""

    group: list[TaskResult]
    clock: Clock
    since_s: float | None = None

    def for_s(self, has_room: bool) -> float:
        """For how long it has been refused so, this time included."""
        now_s = self.clock.monotonic_s()
        self.since_s = (self.since_s or now_s) if has_room else None
        return now_s - self.since_s if self.since_s else 0.0


class Computing:
    """Parsers by stream and columns, and where local files and dead letters go."""

    def __init__(self, shared: Shared, steps: Steps) -> None:
        self.shared, self.config, self.steps = shared, shared.config, steps
        self.spill, self.letters = shared.connections.spill, shared.connections.letters
        self.parsers: dict[tuple, Parser] = {}

    def sweep(self) -> None:
        """Delete the local files of mappers that were killed on this host."""
        self.spill.sweep(SWEPT_LEASES * self.config.lease_ms / 1000)

    def compute(self, fetched: Fetched) -> None:
        """Parse, spill and register, aggregate, push; the claim is done or no longer ours when this returns."""
        view, claim = fetched.view, fetched.claim
        file = claim.file
        try:
            batch = fetched.content
            if isinstance(batch, Messages):
                batch = self._parse(fetched)
                file = self._keep(fetched, batch)
            elif claim.kills == "reading":
                fetched.letters_kept = self.letters.keep_unread(view.stream, claim, ENDS_PROCESS)
            self._push(fetched, batch)
        except (StaleGenerationError, StaleEpochError):
            self.shared.view_was_wrong()
        except (OSError, *ZOOKEEPER_AWAY) as error:
            log.warning("the claim is left to others: %r", error)
            self.shared.let_go(view, claim)
            self.shared.clock.sleep(AWAY_S)
        finally:
            self.shared.leases.drop(view.stream.id, claim)
            self.spill.delete(file)

    def _keep(self, fetched: Fetched, batch: ParsedBatch) -> dict | None:
        """Write the local file and register it. What is less than a batch is as soon read again from Kafka; what has no
        letters must be, as the file cannot give them."""
        view, claim = fetched.view, fetched.claim
        if len(batch) < self.config.batch_tuples or not fetched.letters_kept:
            return None
        file = self.spill.write(view.stream, view.generation, claim, batch, fetched.log)
        try:
            faults.point("mapper.spilled")
            self.shared.insist(lambda: self.shared.exchange.register(view.stream.id, view.generation, claim, file))
        except Exception:
            self.spill.delete(file)  # nobody who gets the claim is told of it
            raise
        faults.point("mapper.registered")
        return file

    def _parse(self, fetched: Fetched) -> ParsedBatch:
        stream = fetched.view.stream
        columns = tuple(sorted({c for plan in fetched.plans.values() for c in plan.aggregation.columns}))
        parser = self.parsers.pop((stream.id, columns), None) or self.steps.parser(stream, columns)
        self.parsers[(stream.id, columns)] = parser  # the last one used is the last one here
        if len(self.parsers) > PARSERS_MAX:
            del self.parsers[next(iter(self.parsers))]
        claim = fetched.claim
        faults.poison("reading", claim.partition, claim.start, claim.end)
        batch = self.steps.judge(stream, parser.parse(fetched.content), fetched.content, self.config.future_limit_ms)
        fetched.letters_kept = self.letters.keep(parser, claim, fetched.content, batch)
        if sizes := self.shared.sizes.get(stream.id):  # the stream may just have been dropped
            sizes.learn_tuples(claim.end - claim.start, len(batch))
        return batch

    def _push(self, fetched: Fetched, batch: ParsedBatch | None) -> None:
        view, claim = fetched.view, fetched.claim
        self.shared.insist(partial(self.shared.isolation.compute, view, claim))
        results = [self._task(view, claim, query, fetched.plans.get(query), batch) for query in sorted(claim.tasks)]
        if not fetched.letters_kept:
            results = [without_letters(result) for result in results]
        greatest = batch.max_event_time if batch is not None else None
        faults.point("mapper.aggregated")
        for group in groups(results):
            refused = Refused(group, self.shared.clock)
            self.shared.insist(lambda: self._push_group(fetched, refused, greatest))  # noqa: B023
        faults.point("mapper.pushed")

    def _push_group(self, fetched: Fetched, refused: Refused, greatest: int | None) -> int:
        """Push a group of tasks. If Redis has room and refuses it for REFUSED_S, the query with the most cells stops, and
        they are not pushed: nothing else ends a push that is too large for what Redis holds besides."""
        view, claim = fetched.view, fetched.claim
        made = entries(claim, refused.group, view.stream.key_parts, greatest, fetched.log)
        tasks = {r.query: claim.tasks[r.query] for r in refused.group}
        try:
            return self.shared.exchange.push(view.stream.id, view.generation, claim, tasks, greatest, made)
        except ExchangeFullError:
            used, limit = self.shared.exchange.memory()
            if refused.for_s(used < FULL_SHARE * limit) < REFUSED_S:
                raise
            largest = max(refused.group, key=lambda result: sum(map(len, result.parts)))
            stop_queries(self.shared.zookeeper, view.stream, [largest.query], "LIMIT_EXCEEDED",
                         never_taken(claim, sum(map(len, largest.parts)), REFUSED_S, used, limit))
            refused.group = [self._nothing(view, r.query) if r is largest else r for r in refused.group]
            refused.since_s = None
            raise

    def _task(self, view: StreamView, claim: Claim, query: str, plan: QueryPlan | None,
              batch: ParsedBatch | None) -> TaskResult:
        """One task's cells; of a dead task none. A query that cannot be computed is quarantined and harms no other."""
        nothing = self._nothing(view, query)
        if claim.kills == "reading":
            return unread(nothing)
        if plan is None or batch is None:
            return nothing
        if reason := refusal(plan, view.stream):
            stop_queries(self.shared.zookeeper, view.stream, [query], "QUARANTINED", reason)
            return nothing
        faults.poison(f"computing.{query}", claim.partition, claim.start, claim.end)
        try:
            done = self.steps.aggregate(plan, view.stream, batch, claim.partition)
        except Exception as error:
            log.exception("query %s cannot be computed", query)
            stop_queries(self.shared.zookeeper, view.stream, [query], "QUARANTINED",
                         f"offsets [{claim.start}, {claim.end}) of partition {claim.partition}: "
                         f"{type(error).__name__}: {error}; RESUME QUERY tries again")
            return nothing
        parts = [self.steps.encode(part) if part.num_rows else b"" for part in done.parts]
        size = sum(map(len, parts))
        _, redis_bytes = (self.shared.insist(self.shared.exchange.memory) if size > GROUP_BYTES else None) or (0, 0)
        if reason := too_many_cells(claim, size, self.config, redis_bytes):
            stop_queries(self.shared.zookeeper, view.stream, [query], "LIMIT_EXCEEDED", reason)
            return nothing
        return TaskResult(query, parts, done.counts, done.bad_reasons)

    def _nothing(self, view: StreamView, query: str) -> TaskResult:
        return TaskResult(query, [b""] * view.stream.key_parts, {}, {})
