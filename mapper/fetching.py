"""The fetching thread. It claims ranges, reads them from Kafka or a local file, and waits if there is nothing."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field

from mapper.claim import Claimer, Sizes
from mapper.ends import AWAIT_MS
from mapper.fetch import Range, RangeTooLarge, Reader
from mapper.handoff import Fetched
from mapper.shared import Shared
from mapper.spill import log_of
from mapper.stop import STOPS, state_of, why
from mapper.timing import Limits
from mars import faults
from mars.adapters.exchange import ExchangeFullError, StaleEpochError, StaleGenerationError
from mars.adapters.kafka.errors import KafkaRefused, KafkaUnreachable, TopicRecreated, UnknownTopic
from mars.adapters.view import StreamView, read_stream, stop_queries
from mars.adapters.workforce import is_retired
from mars.adapters.zookeeper import ZOOKEEPER_AWAY
from mars.config import Config
from mars.errors import NotReadyError
from mars.model import names
from mars.model.claims import Claim
from mars.model.plan import QueryPlan
from mars.model.registry import RUNNING
from mars.runtime.periods import Backoff, Every

log = logging.getLogger("mars.mapper")
BUSY_S = 0.01  # the wait for more tuples, or for the computing thread, when there is less than a batch
PAUSE_S, PAUSE_MAX_S = 1.0, 4.0  # pauses of a stream about which Kafka does not answer; each is twice as long as the last
PLACE_S = 0.2  # how often a wait for room checks whether the mapper stops
VIEW_AGE_S = 0.5  # how old a view may be without news, because ZooKeeper's notices may be lost
REST_S = 0.2  # the pause after ZooKeeper or Redis did not answer
AWAY_MS = 1_000  # how long a claim rests that Kafka does not give
GIVEN_TO_SPLIT = 2  # a claim that counts as given this often is split when it is given again (mars/lua/claim.lua)
FINISH_S = 10.0  # how long a mapper that retires may compute the batch at hand; then others may have it, too
RUNS_MAX = 4  # a range after sparse ones may hold more than expected: above this many runs in bytes, it is split


@dataclass
class Reading:
    """What reads one stream: its claimer, its reader, and a pause whenever Kafka has not answered. `read_to` has, for
    each partition, the end of the range that was read last, and the leader epoch before it."""

    reader: Reader
    claimer: Claimer
    pause: Backoff
    read_to: dict[int, tuple[int, int]] = field(default_factory=dict)


class Fetching:
    """The streams as this mapper sees them, and what reads them."""

    def __init__(self, shared: Shared) -> None:
        self.shared, self.config, self.clock = shared, shared.config, shared.clock
        self.views: dict[int, StreamView] = {}
        self.readings: dict[int, Reading] = {}
        self._looks = Every(VIEW_AGE_S, shared.clock)

    def run(self) -> None:
        """Claim and fetch until the mapper stops, or retires. Then others may have what waits for the computing thread."""
        while not self.shared.is_ending():
            self._refresh_views()
            worked = [self._fetch_one(view, self._reading(view)) for view in self.views.values()]
            if not any(worked):
                self._await_tuples()
        if self.shared.retiring.is_set():
            for fetched in self.shared.handoff.take_back():
                self.shared.hand_over(fetched.view, fetched.claim)
            self.shared.handoff.wait_idle(FINISH_S)
        for reading in self.readings.values():
            reading.reader.close()

    def _refresh_views(self) -> None:
        """Look for changes in ZooKeeper. While it does not answer, the old view does no harm."""
        if not (self.shared.news.is_set() or self._looks.is_due()) or not self.shared.zookeeper.usable:
            return
        self.shared.news.clear()
        try:
            if self.shared.cache.get(names.STOP) is not None:
                self.shared.stopping.set()
            if is_retired(self.shared.cache, self.shared.path):
                self.shared.retiring.set()
            self.views = self.shared.cache.streams()
        except ZOOKEEPER_AWAY as error:
            log.warning("waiting: %r", error)
        self._looks.begin()
        for gone in self.readings.keys() - self.views.keys():
            self.readings.pop(gone).reader.close()
            self.shared.sizes.pop(gone)

    def _fetch_one(self, view: StreamView, reading: Reading) -> bool:
        """Claim a range of a stream and fetch it, once there is room. False if there was nothing to do."""
        if self.shared.is_ending() or not _is_active(view, reading) or not self.shared.handoff.reserve(PLACE_S):
            return False
        claim, fetched = None, None
        try:
            claim = self._claim(view, reading)
            reading.pause.reset()
            if claim is None:
                return False
            self.shared.leases.hold(view.stream.id, view.generation, claim)
            faults.point("mapper.claimed")
            self.shared.isolation.begin(view, claim)
            fetched = self._read(view, reading, claim)
            return True
        except (StaleGenerationError, StaleEpochError):
            self.shared.view_was_wrong()
        except (UnknownTopic, TopicRecreated, KafkaRefused, KafkaUnreachable) as error:
            # One stream's topic must not hold up the others; the leader sets the queries' states.
            log.warning("stream %s waits: %s", view.stream.name, error)
            reading.pause.begin()
            if claim:
                self.shared.let_go(view, claim)
        except (NotReadyError, ExchangeFullError, *ZOOKEEPER_AWAY) as error:
            log.warning("waiting: %r", error)
            if claim:
                self.shared.let_go(view, claim)
            self.clock.sleep(REST_S)
        finally:
            if fetched:
                fetched.small = _is_small(fetched.claim, reading, self.config)
                self.shared.handoff.put(fetched)
                self.shared.isolation.end(fetched.claim)
            else:
                self.shared.handoff.release()
                if claim:  # it was not read, so nobody must hold it any longer
                    self.shared.leases.drop(view.stream.id, claim)
        return False

    def _reading(self, view: StreamView) -> Reading:
        stream, shared = view.stream, self.shared
        if stream.id not in self.readings:
            sizes = shared.sizes.setdefault(stream.id, Sizes())
            claimer = Claimer(shared.exchange, self.config, shared.id, sizes, self.clock)
            pause = Backoff(PAUSE_S, PAUSE_MAX_S, self.clock)
            self.readings[stream.id] = Reading(shared.connections.open_reader(stream), claimer, pause)
        return self.readings[stream.id]

    def _await_tuples(self) -> None:
        """Called when there is nothing to claim. Wait for tuples of all active streams in turn, each for an equal part of
        the time. While the computing thread is at work, a short rest lets a batch gather."""
        if not self.shared.handoff.is_idle():
            self.shared.handoff.wait_idle(BUSY_S)
            return
        found = [(view, self._reading(view)) for view in self.views.values()]
        active = [(view, reading) for view, reading in found if _is_active(view, reading)]
        if not active:
            self._await_news(AWAIT_MS / 1000)
        for view, reading in active:
            claimer = reading.claimer
            ends = {p: end for p, end in claimer.ends.known.items() if p in claimer.ends.home}
            if not ends:
                self._await_news(AWAIT_MS / len(active) / 1000)
                continue
            epochs = {p: epoch for p, (end, epoch) in reading.read_to.items() if end == ends.get(p)}
            wait_ms, offsets = claimer.ends.patience(claimer.sizes.batch_offsets(self.config))
            try:
                claimer.ends.came(reading.reader.await_tuples(ends, epochs, max(1, wait_ms // len(active)), offsets))
            except (NotReadyError, UnknownTopic, TopicRecreated, KafkaRefused) as error:
                log.warning("stream %s waits: %s", view.stream.name, error)
                reading.pause.begin()

    def _await_news(self, seconds: float) -> None:
        # While ZooKeeper is away, news cannot be read, and waiting for them would return at once.
        (self.shared.news if self.shared.zookeeper.usable else self.shared.stopping).wait(seconds)

    def _claim(self, view: StreamView, reading: Reading) -> Claim | None:
        ends = reading.claimer.ends
        if ends.are_old():
            ends.looked(reading.reader.last_stable_offsets(), view.stream.id, self.shared.id,
                        self.shared.cache.children(names.MAPPERS))
            reading.claimer.fronts.begin({p: ends.known[p] for p in ends.home})
        return reading.claimer.next(view, only_batches=not self.shared.handoff.is_idle())

    def _read(self, view: StreamView, reading: Reading, claim: Claim) -> Fetched | None:
        """The claim with its tuples; None if it could not be read (then it is left to its lease)."""
        plans = self.shared.isolation.plans(view, claim, self._plans(view, claim))
        if not plans:
            return Fetched(view, claim, {}, None)
        columns = {c for plan in plans.values() for c in plan.aggregation.columns}
        limits = Limits.of(plans.values(), self.config.future_limit_ms)
        batch = self.shared.connections.spill.read(view.stream, view.generation, claim, columns, limits.own_ms)
        if batch is not None:
            return Fetched(view, claim, plans, batch, log_of(claim))
        try:
            got = self._fetch(reading, claim)
        except (NotReadyError, UnknownTopic, KafkaRefused):
            # Nothing in the claim is to blame, so it must not be split. Meanwhile other ranges get their turn.
            self.shared.give_back(view, claim, min(AWAY_MS, self.config.lease_ms // 2), claim.given - 1)
            raise
        except RangeTooLarge as error:
            reading.claimer.sizes.learn_bytes(error.offsets, error.bytes)
            self.shared.give_back(view, claim, 1, GIVEN_TO_SPLIT)
            return None
        except STOPS as error:
            if not self.shared.exchange.renew(view.stream.id, view.generation, claim, self.config.lease_ms):
                return None  # another mapper got the claim meanwhile, and may have read it when that was possible
            stop_queries(self.shared.zookeeper, view.stream, plans, state_of(claim, error), why(claim, error))
            return Fetched(view, claim, {}, None)
        if got is None:
            self.shared.hand_over(view, claim)  # the mapper is told to stop
            return None
        # Learn the size before the next claim, so that no claim is too large.
        reading.claimer.sizes.learn_bytes(claim.end - claim.start, got.bytes)
        faults.point("mapper.fetched")
        return Fetched(view, claim, plans, got.content, got.log)

    def _fetch(self, reading: Reading, claim: Claim) -> Range | None:
        """The claim's range. If this worker has read up to its start, it tells the broker the last leader epoch that it
        read there. The broker then says whether the log was rewritten since."""
        read_to, epoch = reading.read_to.get(claim.partition, (-1, -1))
        got = reading.reader.read(
            claim.partition, claim.start, claim.end, self.config.run_bytes_max * 5 // 4,  # and the bytes that Kafka adds
            last_epoch=epoch if read_to == claim.start else -1, should_stop=self.shared.is_ending,
            range_bytes_max=math.inf if claim.grouped else RUNS_MAX * self.config.run_bytes_max)
        if got is not None:
            reading.read_to[claim.partition] = (claim.end, got.leader_epoch)
        return got

    def _plans(self, view: StreamView, claim: Claim) -> dict[str, QueryPlan]:
        """The plans of the claim's live tasks. A task that this view does not know is either too new, and then the view
        is read again; or it is dead. A dead task brings no cells, and reducers drop it by its incarnation."""
        queries = view.queries.queries
        if any(q not in queries or queries[q].incarnation < i for q, i in claim.tasks.items()):
            self.shared.zookeeper.client.sync(names.CATALOG)
            fresh = read_stream(self.shared.zookeeper, view.stream)
            queries = fresh.queries.queries if fresh else {}
        return {q: queries[q].plan for q, i in claim.tasks.items()
                if q in queries and queries[q].incarnation == i and queries[q].state == RUNNING}


def _is_active(view: StreamView, reading: Reading) -> bool:
    """Does a query run, and has Kafka not just failed to answer? (Each try takes a while, and other streams wait for
    it.)"""
    return bool(view.queries.running()) and reading.pause.is_due()


def _is_small(claim: Claim, reading: Reading, config: Config) -> bool:
    """Has it no more tuples than a batch?"""
    return claim.end - claim.start <= reading.claimer.sizes.batch_offsets(config)
