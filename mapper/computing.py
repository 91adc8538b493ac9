"""The computing thread. It parses, spills, registers, aggregates and pushes the batches that the fetching thread
brings."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial

from mapper.batch import CountedBatch, Messages, ParsedBatch, TaskResult
from mapper.handoff import Fetched
from mapper.parsing import Parsing
from mapper.push import (
    ENDS_PROCESS,
    GROUP_BYTES,
    entries,
    groups,
    never_taken,
    too_many_cells,
    unread,
    without_letters,
)
from mapper.records import CorruptRecords, Records
from mapper.shared import Shared
from mapper.steps import Steps
from mapper.stop import state_of, why
from mars import faults
from mars.adapters.exchange import FULL_SHARE, ExchangeFullError, StaleEpochError, StaleGenerationError
from mars.adapters.view import StreamView, stop_queries
from mars.adapters.zookeeper import ZOOKEEPER_AWAY
from mars.computing import refusal
from mars.model.claims import Claim
from mars.model.plan import QueryPlan
from mars.runtime.system import Clock

log = logging.getLogger("mars.mapper")
REFUSED_S = 10.0  # how long a Redis that has room may refuse a push
AWAY_S = 0.5  # the pause after a claim was left to others: the disk may be full, or ZooKeeper away
SWEPT_LEASES = 10  # a local file this many leases old belongs to a worker that is gone


@dataclass
class Refused:
    """A group of tasks that is being pushed, and the time since which Redis has refused it although it had room."""

    group: list[TaskResult]
    clock: Clock
    since_s: float | None = None

    def for_s(self, has_room: bool) -> float:
        """How long it has been refused, including this refusal."""
        now_s = self.clock.monotonic_s()
        self.since_s = (self.since_s or now_s) if has_room else None
        return now_s - self.since_s if self.since_s else 0.0


class Computing:
    """How batches are parsed, and where local files and dead letters go."""

    def __init__(self, shared: Shared, steps: Steps) -> None:
        self.shared, self.config, self.steps = shared, shared.config, steps
        self.spill, self.letters = shared.connections.spill, shared.connections.letters
        self.parsing = Parsing(steps, self.letters, self.config.future_limit_ms)

    def sweep(self) -> None:
        """Delete the local files of mappers that were killed on this host."""
        self.spill.sweep(SWEPT_LEASES * self.config.lease_ms / 1000)

    def compute(self, fetched: Fetched) -> None:
        """Parse, spill, register, aggregate, push. When this returns, the claim is done or no longer ours."""
        view, claim = fetched.view, fetched.claim
        file = claim.file
        try:
            batch = fetched.content
            if isinstance(batch, Messages | Records):
                batch = self._parse(fetched)
                file = self._keep(fetched, batch) if batch is not None else None
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
            if self.shared.stopping.is_set():  # it may not be pushed: then others need not wait for its lease
                self.shared.let_go(view, claim)
            self.shared.leases.drop(view.stream.id, claim)
            self.spill.delete(file)

    def _keep(self, fetched: Fetched, batch: ParsedBatch | CountedBatch) -> dict | None:
        """Write the local file and register it. A range shorter than a batch gets no file, because reading it again from
        Kafka is as fast. A batch whose letters could not be written gets none either: it must be read again, because the
        file cannot give the letters."""
        view, claim = fetched.view, fetched.claim
        if len(batch) < self.config.batch_tuples or not fetched.letters_kept:
            return None
        file = self.spill.write(view.stream, view.generation, claim, batch, fetched.log)
        try:
            faults.point("mapper.spilled")
            self.shared.insist(lambda: self.shared.exchange.register(view.stream.id, view.generation, claim, file))
        except Exception:
            self.spill.delete(file)  # no later holder of the claim would know of this file
            raise
        faults.point("mapper.registered")
        return file

    def _parse(self, fetched: Fetched) -> ParsedBatch | CountedBatch | None:
        """The claim's tuples, their dead letters written; None if its records are corrupt: then its queries are stopped."""
        view, claim = fetched.view, fetched.claim
        faults.poison("reading", claim.partition, claim.start, claim.end)
        try:
            batch = self.parsing.parse(fetched)
        except CorruptRecords as error:
            if not self.shared.exchange.renew(view.stream.id, view.generation, claim, self.config.lease_ms):
                raise StaleEpochError("another has got the claim", f"{claim.id}") from error
            stop_queries(self.shared.zookeeper, view.stream, fetched.plans, state_of(claim, error), why(claim, error))
            fetched.plans = {}
            return None
        if sizes := self.shared.sizes.get(view.stream.id):  # the stream may have just been dropped
            sizes.learn_tuples(claim.end - claim.start, len(batch))
        return batch

    def _push(self, fetched: Fetched, batch: ParsedBatch | CountedBatch | None) -> None:
        view, claim = fetched.view, fetched.claim
        self.shared.insist(partial(self.shared.isolation.compute, view, claim))
        results = self._tasks(fetched, batch)
        if not fetched.letters_kept:
            results = [without_letters(result) for result in results]
        faults.point("mapper.aggregated")
        for group in groups(results):
            refused = Refused(group, self.shared.clock)
            self.shared.insist(lambda: self._push_group(fetched, refused))  # noqa: B023
        faults.point("mapper.pushed")

    def _push_group(self, fetched: Fetched, refused: Refused) -> int:
        """Push a group of tasks. If Redis has room but refuses the push for REFUSED_S, the query with the most cells
        stops, with all that have the same cells, and these are not pushed. Nothing else would end a push that is too large
        beside what Redis already holds."""
        view, claim, greatest = fetched.view, fetched.claim, refused.group[0].max_event_time
        made = entries(claim, refused.group, view.stream.key_parts, greatest, fetched.log)
        tasks = {r.query: claim.tasks[r.query] for r in refused.group}
        try:
            return self.shared.exchange.push(view.stream.id, view.generation, claim, tasks, greatest, made)
        except ExchangeFullError:
            used, limit = self.shared.exchange.memory()
            if refused.for_s(used < FULL_SHARE * limit) < REFUSED_S:
                raise
            largest = max(refused.group, key=lambda result: sum(map(len, result.parts))).parts
            stop_queries(self.shared.zookeeper, view.stream, [r.query for r in refused.group if r.parts is largest],
                         "LIMIT_EXCEEDED", never_taken(claim, sum(map(len, largest)), REFUSED_S, used, limit))
            refused.group = [self._nothing(view, r.query, greatest) if r.parts is largest else r for r in refused.group]
            refused.since_s = None
            raise

    def _tasks(self, fetched: Fetched, batch: ParsedBatch | CountedBatch | None) -> list[TaskResult]:
        """The cells of all tasks. What several of them compute is computed once."""
        view, claim = fetched.view, fetched.claim
        made: dict[bytes, TaskResult] = {}
        results = []
        place = self.steps.share(fetched.plans, view.stream, batch, claim.partition)
        for query in sorted(claim.tasks, key=lambda query: (place.get(query, 0), query)):
            plan = fetched.plans.get(query)
            known = made.get(plan.aggregation.cells_name) if plan else None
            if plan and known and not refusal(plan, view.stream):
                faults.poison(f"computing.{query}", claim.partition, claim.start, claim.end)
                results.append(replace(known, query=query))
                continue
            done = self._task(view, claim, query, plan, batch)
            results.append(done)
            if plan and done.counts:
                made[plan.aggregation.cells_name] = done
        if isinstance(batch, ParsedBatch):
            batch.common = None  # the batch would never be free of what refers to it
        return sorted(results, key=lambda result: result.query)

    def _task(self, view: StreamView, claim: Claim, query: str, plan: QueryPlan | None,
              batch: ParsedBatch | CountedBatch | None) -> TaskResult:
        """One task's cells; none, and no counts, for a dead task. A query that cannot be computed is quarantined and harms
        no other query."""
        nothing = self._nothing(view, query, batch.max_event_time if batch is not None else None)
        if claim.kills == "reading":
            return unread(nothing)
        if plan is None or batch is None:
            return nothing
        if reason := refusal(plan, view.stream):
            stop_queries(self.shared.zookeeper, view.stream, [query], "QUARANTINED", reason)
            return nothing
        faults.poison(f"computing.{query}", claim.partition, claim.start, claim.end)
        try:
            done = self._result(view, claim, query, plan, batch)
        except Exception as error:
            log.exception("query %s cannot be computed", query)
            stop_queries(self.shared.zookeeper, view.stream, [query], "QUARANTINED",
                         f"offsets [{claim.start}, {claim.end}) of partition {claim.partition}: "
                         f"{type(error).__name__}: {error}; RESUME QUERY tries again")
            return nothing
        size = sum(map(len, done.parts))
        told = self.shared.insist(self.shared.exchange.memory) if size > GROUP_BYTES else None
        redis_bytes = told[1] if told else 0
        if excess := too_many_cells(claim, size, self.config, redis_bytes):
            stop_queries(self.shared.zookeeper, view.stream, [query], "LIMIT_EXCEEDED", excess)
            return nothing
        return done

    def _result(self, view: StreamView, claim: Claim, query: str, plan: QueryPlan,
                batch: ParsedBatch | CountedBatch) -> TaskResult:
        if isinstance(batch, CountedBatch):
            return batch.results[query]
        return self.steps.result(query, self.steps.aggregate(plan, view.stream, batch, claim.partition))

    def _nothing(self, view: StreamView, query: str, greatest: int | None) -> TaskResult:
        return TaskResult(query, [b""] * view.stream.key_parts, {}, {}, greatest)
