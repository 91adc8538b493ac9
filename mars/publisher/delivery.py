"""One sink's delivery: from the mark that the target has, all rows behind it, batch by batch, for as long as the sink runs.

Whatever goes wrong, the target is closed, and delivery begins again at the mark that the target then has.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from mars import faults
from mars.adapters.target_errors import FencedError, ProgressLostError, TargetAwayError
from mars.errors import GoneError, MarsError, NotFoundError, NotReadyError
from mars.model import expressions
from mars.model.plan import QueryPlan, Stream
from mars.model.registry import Query
from mars.model.sinks import (
    BEHIND_RETENTION,
    DELIVERING,
    FAILED,
    PROGRESS_LOST,
    WAITING,
    Mark,
    Sink,
    SinkStatus,
)
from mars.publisher.batch import Batch
from mars.publisher.desk import Desk, Stopped, behind, lacks_first_rows
from mars.publisher.target import Shape, Target
from mars.publisher.targets import open_target
from mars.results.blocks import Block
from mars.results.cursors import Selection
from mars.results.formats import timestamp_text
from mars.results.places import Changes, Place
from mars.results.schema import schema_of
from mars.results.snapshot import Snapshot
from mars.results.tails import LOOK_S as QUERY_LOOK_S
from mars.results.tails import Tail, next_block
from mars.runtime.periods import Backoff, Every
from mars.runtime.system import SYSTEM, Runtime, Thread

T = TypeVar("T")
log = logging.getLogger("mars.publisher")
LOOK_S, TELL_S = 5.0, 1.0  # news wake a delivery; it looks by itself in case some are lost
BACKOFF_S, BACKOFF_MAX_S = 0.5, 60.0
RENEW_S = 3_600.0  # Kafka forgets the mark of a group that is idle; and what WHERE leaves out counts as delivered


class Delivery:
    """One owner's delivery for a sink as of one attempt, in a thread of its own, from `start` until `stop` or a fault."""

    def __init__(self, desk: Desk, sink: Sink, epoch: int, runtime: Runtime = SYSTEM) -> None:
        self.desk, self.sink, self.epoch, self.runtime = desk, sink, epoch, runtime
        self.wake, self.stopping = runtime.event(), runtime.event()
        self.thread: Thread | None = None
        self.backoff = Backoff(BACKOFF_S, BACKOFF_MAX_S, runtime.clock)
        self.tells, self.renewals = Every(TELL_S, runtime.clock), Every(RENEW_S, runtime.clock)
        self.status: SinkStatus | None = None  # until what the owner before has said is read, which goes on in it
        self.source = desk.source
        condition = expressions.from_json(sink.condition)
        if condition is not None:
            self.source = replace(desk.source, compile_condition=lambda _text, _columns: condition)

    def start(self) -> None:
        """Begin."""
        self.thread = self.runtime.start(self._run, f"sink-{self.sink.id}")

    def stop(self) -> None:
        """End soon; what is under way in the target is committed or undone."""
        self.stopping.set()
        self.wake.set()

    def is_alive(self) -> bool:
        """Does its thread run?"""
        return self.thread is not None and self.thread.is_alive()

    def join(self, timeout_s: float) -> None:
        """Wait for its end, but no longer than that."""
        if self.thread is not None:
            self.thread.join(timeout_s)

    def _run(self) -> None:
        while not self.stopping.is_set():
            try:
                self._deliver()
            except FencedError as error:
                log.warning("sink %s: %s", self.sink.name, error)
                return
            except Stopped as end:
                log.warning("sink %s is %s: %s", self.sink.name, end.state, end.reason)
                if self._stopped(end):
                    return
            except NotReadyError as error:
                self._wait(error)
            except Exception as error:
                log.exception("sink %s", self.sink.name)
                self._wait(error)

    def _stopped(self, end: Stopped) -> bool:
        try:
            self.desk.store.stop(self.sink, end.state, end.reason)
            return True
        except MarsError as error:  # ZooKeeper is away: the same fault is met again
            self._wait(error)
            return False

    def _deliver(self) -> None:
        """From opening the target to the stop, or an error."""
        stream, query = self._query()
        self.status = self.status or replace(self.desk.store.status(self.sink), state=DELIVERING, last_error="",
                                             attempt=self.sink.attempt, since_ms=self._now_ms(), next_try_ms=None,
                                             publisher=self.desk.publisher)
        self.desk.tell(self.sink, self.epoch, self.status)  # opening a target shuts others out: only its owner may
        target = self._opened(query.plan)
        try:
            mark = self._claimed(target, query.plan)
            faults.point("publisher.claimed")
            tail = self._tail(stream, query, mark)
            self.renewals.begin()
            batch = Batch(target.pace, schema_of(query.plan), self.runtime.clock)
            while not self.stopping.is_set():
                self.wake.clear()
                self._fill(batch, tail)
                if not batch.is_due() and not self.renewals.is_due():
                    self._rest(tail, mark, batch)
                    continue
                mark = replace(mark, place=_triple(tail.place), rows=mark.rows + batch.rows, above_us=tail.above_us,
                               changes=None if tail.changes is None else tail.changes.parts)
                self._guarded(partial(target.deliver, batch.take(), mark))
                faults.point("publisher.committed")
                if not target.keeps_mark:
                    self._answered()
                    self._keep(mark)
                self.renewals.begin()
                self._say(mark, None if tail.place is None else tail.place.start_us)
        finally:
            target.close()

    def _query(self) -> tuple[Stream, Query]:
        dropped = Stopped(FAILED, f"its query {self.sink.query} was dropped; DROP the sink, too")
        try:
            stream, query = self.source.catalog.query(self.sink.query)
        except NotFoundError:
            raise dropped from None
        if query.id != self.sink.query_id:
            raise dropped
        return stream, query

    def _opened(self, plan: QueryPlan) -> Target:
        name = self.sink.into.connection
        connection = None if name is None else self._guarded(lambda: self.desk.store.connection(name))
        return self._guarded(lambda: open_target(self.desk.way, self.sink, Shape.of(plan), connection))

    def _claimed(self, target: Target, plan: QueryPlan) -> Mark:
        """The mark, once nobody else can move it: the target's, or where a replay begins of which the target does not know
        yet. ZooKeeper has a copy of it before anything is delivered."""
        assert self.status is not None
        copy = self.status.mark
        accepts = self.sink.accepts == PROGRESS_LOST
        has_delivered = copy is not None and copy.rows > 0
        self._guarded(lambda: target.prepare(may_make=accepts or not has_delivered))
        since = self.sink.since
        first = Mark(self.epoch, above_us=self.sink.above_us, replay=self.sink.replay,
                     changes=None if since is None else Changes.of(since).parts)
        goes_by_copy = accepts or not target.keeps_mark
        fresh = replace(copy, epoch=self.epoch) if copy and goes_by_copy else first
        mark = self._guarded(lambda: target.claim(fresh, is_known=copy is not None and not goes_by_copy))
        if mark.replay < self.sink.replay:
            mark = replace(first, rows=mark.rows)
            self._guarded(partial(target.deliver, schema_of(plan).empty_table(), mark))
        if accepts:
            self.sink = self.desk.store.accepted(self.sink)
        self.status = replace(self.status, mark=mark)
        if target.keeps_mark:
            self._answered()
        self.desk.tell(self.sink, self.epoch, self.status)
        return mark

    def _answered(self) -> bool:
        """The target has taken something, or nothing waits for it. A target that keeps no mark was not asked by `claim`, so
        only its first delivery shows whether it is back. True if that is another status, which is to be told."""
        assert self.status is not None
        self.backoff.reset()
        if self.status.state == DELIVERING and not self.status.last_error:
            return False
        self.status = replace(self.status, state=DELIVERING, last_error="", since_ms=self._now_ms(), next_try_ms=None)
        return True

    def _guarded(self, call: Callable[[], T]) -> T:
        """The call's result. What no retry changes stops the sink."""
        try:
            return call()
        except ProgressLostError as error:
            copy = self.status and self.status.mark
            raise Stopped(PROGRESS_LOST, f"{error}. RESUME SINK goes on behind the {copy.rows if copy else 0} rows that "
                          "ZooKeeper knows of, and may repeat the last ones; or DROP it and CREATE it anew") from error
        except (FencedError, NotReadyError):
            raise
        except MarsError as error:
            raise Stopped(FAILED, f"{error}. {error.hint}; then RESUME SINK" if error.hint else str(error)) from error

    def _tail(self, stream: Stream, query: Query, mark: Mark) -> Tail:
        place = None if mark.place is None else Place(*mark.place)
        selection = Selection(self.sink.first_us, where=self.sink.where)
        return Tail(stream, query, selection, Every(QUERY_LOOK_S, self.source.clock), mark.above_us, place,
                    changes=None if mark.changes is None else Changes(mark.changes))

    def _fill(self, batch: Batch, tail: Tail) -> None:
        """Add the next rows until the batch is full; none if there are none now."""
        before = batch.rows
        while not batch.is_full() and (block := self._next(tail)) is not None:
            batch.add(block.table)
        if batch.rows > before:
            faults.point("publisher.read")

    def _next(self, tail: Tail) -> Block | None:
        is_first = tail.place is None and tail.above_us is None and tail.changes is None
        try:
            block = next_block(self.source, tail)
        except GoneError as error:
            if self.sink.accepts != BEHIND_RETENTION:
                raise behind(error.detail) from error
            self.sink = self.desk.store.accepted(self.sink)
            tail.place = tail.above_us = tail.changes = None
            return next_block(self.source, tail)
        except NotFoundError as error:
            raise Stopped(FAILED, f"{error}; DROP the sink, too") from error
        if is_first and tail.snapshot is not None:
            self._require_nothing_lost(tail.snapshot)
        return block

    def _require_nothing_lost(self, snapshot: Snapshot) -> None:
        gone_us = self.source.tables.gone_us(snapshot)
        if gone_us is None or not lacks_first_rows(self.sink, gone_us):
            return
        if self.sink.accepts != BEHIND_RETENTION:
            raise behind(f"result_retention_days have passed for windows up to {timestamp_text(gone_us)}, of which none was "
                         "delivered")
        self.sink = replace(self.desk.store.accepted(self.sink), gone_us=gone_us)

    def _rest(self, tail: Tail, mark: Mark, batch: Batch) -> None:
        """Wait for rows, or for the time of those that are held."""
        if batch.rows:
            self.wake.wait(min(LOOK_S, batch.due_in_s()))
            return
        if self._answered():
            assert self.status is not None
            self.desk.tell(self.sink, self.epoch, self.status)
        until_us = None if tail.place is None else tail.place.start_us
        if tail.above_us is not None and tail.snapshot is not None:
            until_us = tail.above_us - tail.snapshot.delay_us
        elif tail.changes is not None and tail.snapshot is not None and tail.snapshot.watermark_us is not None:
            until_us = tail.snapshot.watermark_us - tail.snapshot.delay_us
        self._say(mark, until_us)
        self.wake.wait(LOOK_S)

    def _keep(self, mark: Mark) -> None:
        """Write the mark of a target that keeps none into ZooKeeper, before anything else is delivered."""
        assert self.status is not None
        said = replace(self.status, mark=mark)
        self.desk.tell(self.sink, self.epoch, said)
        self.status = said

    def _say(self, mark: Mark, until_us: int | None) -> None:
        """Copy the mark to ZooKeeper, now and then: it is for people."""
        assert self.status is not None
        said = replace(self.status, mark=mark, until_us=until_us if until_us is not None else self.status.until_us)
        if said == self.status or not self.tells.is_due():
            return
        try:
            self.desk.tell(self.sink, self.epoch, said)
            self.status = said
            self.tells.begin()
        except NotReadyError as error:
            log.info("sink %s: the copy of its mark waits: %s", self.sink.name, error)

    def _wait(self, error: Exception) -> None:
        """Say what is waited for, and wait; longer each time."""
        pause_s = max(self.backoff.begin(), error.after_s if isinstance(error, TargetAwayError) else 0.0)
        said = str(error) if isinstance(error, MarsError) else repr(error)
        log.warning("sink %s waits %.1f s: %s", self.sink.name, pause_s, said)
        if self.status is not None:
            since_ms = self.status.since_ms if self.status.state == WAITING else self._now_ms()
            self.status = replace(self.status, state=WAITING, last_error=said, since_ms=since_ms,
                                  next_try_ms=self._now_ms() + int(pause_s * 1000))
            try:
                self.desk.tell(self.sink, self.epoch, self.status)
            except (NotReadyError, FencedError) as away:  # whoever is fenced learns it when it begins again
                log.info("sink %s: %s", self.sink.name, away)
        self.stopping.wait(pause_s)

    def _now_ms(self) -> int:
        return self.runtime.clock.wall_ms()


def _triple(place: Place | None) -> tuple[int, int, int] | None:
    return None if place is None else (place.start_us, place.end_us, place.skip)
