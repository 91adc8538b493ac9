"""The fetching thread: it claims ranges, reads them from Kafka or a local file, and waits where there is nothing."""

from __future__ import annotations

import logging
import math
import time

from mapper import spill
from mapper.claim import Claimer, Sizes
from mapper.ends import AWAIT_MS
from mapper.fetch import Range, RangeTooLarge, Reader
from mapper.read import open_reader
from mapper.shared import Fetched, Shared
from mapper.stop import STATES, state_of, why
from mars import faults
from mars.adapters.exchange import ExchangeFullError, StaleEpochError, StaleGenerationError
from mars.adapters.kafka.errors import KafkaRefused, KafkaUnreachable, TopicRecreated, UnknownTopic
from mars.adapters.kafka.security import security_of
from mars.adapters.view import StreamView, read_stream, stop_queries
from mars.adapters.zookeeper import ZOOKEEPER_AWAY
from mars.errors import NotReadyError
from mars.model import names
from mars.model.claims import Claim
from mars.model.plan import QueryPlan
from mars.model.registry import RUNNING

log = logging.getLogger("mars.mapper")
BUSY_S = 0.01  # for more of them, or for the computing thread, when there is less than a batch
PAUSE_S, PAUSE_MAX_S = 1.0, 4.0  # of a stream that Kafka does not answer for; each time twice as long
VIEW_AGE_S = 0.5
RETRY_S = 1.0  # so long a stream waits for Kafka at a time: the others wait with it
AWAY_MS = 1_000  # a claim that Kafka does not give rests so long
GIVEN_TO_SPLIT = 2  # a claim that counts as given so often is split when it is given again (mars/lua/claim.lua)
RUNS_MAX = 4  # a range after sparse ones may hold more than its size let expect: so many runs in bytes, then it is split


class Fetching:
    """Streams as this mapper sees them, and what it reads them with."""

    def __init__(self, shared: Shared) -> None:
        self.shared, self.config = shared, shared.config
        self.views: dict[int, StreamView] = {}
        self.views_at = 0.0
        self.claimers: dict[int, Claimer] = {}
        self.readers: dict[int, Reader] = {}
        self.paused_until: dict[int, float] = {}
        self.pauses: dict[int, float] = {}
        self.last_epochs: dict[tuple[int, int], tuple[int, int]] = {}

    def run(self) -> None:
        """Claim and fetch until the mapper stops."""
        while not self.shared.stopping.is_set():
            self._refresh_views()
            worked = [self._fetch_one(view) for view in list(self.views.values())]
            if not any(worked):
                self._await_tuples()

    def _refresh_views(self) -> None:
        """See what has changed in ZooKeeper; while it does not answer, the old view does no harm."""
        is_due = self.shared.news.is_set() or time.monotonic() - self.views_at > VIEW_AGE_S
        if not is_due or not self.shared.zookeeper.usable:
            return
        self.shared.news.clear()
        try:
            if self.shared.cache.get(names.STOP) is not None:
                self.shared.stopping.set()
            self.views = self.shared.cache.streams()
        except ZOOKEEPER_AWAY as error:
            log.warning("waiting: %r", error)
        self.views_at = time.monotonic()
        for gone in self.readers.keys() - self.views.keys():
            self.readers.pop(gone).close()
            self.claimers.pop(gone)
            self.shared.sizes.pop(gone)
            self.paused_until.pop(gone, None)
            self.pauses.pop(gone, None)
            self.last_epochs = {key: held for key, held in self.last_epochs.items() if key[0] != gone}

    def _fetch_one(self, view: StreamView) -> bool:
        """Claim a range of a stream and fetch it, once there is room. False if there was nothing to do."""
        if not self._is_active(view) or not self.shared.room.acquire(timeout=0.2):
            return False
        claim, fetched = None, None
        try:
            claim = self._claim(view)
            self.pauses.pop(view.stream.id, None)
            if claim is None:
                return False
            self.shared.leases.hold(view.stream.id, view.generation, claim)
            faults.point("mapper.claimed")
            self.shared.suspects.begin(view, claim)
            fetched = self._read(view, claim)
            return True
        except (StaleGenerationError, StaleEpochError):
            self.shared.view_was_wrong()
        except (UnknownTopic, TopicRecreated, KafkaRefused, KafkaUnreachable) as error:
            # One stream's topic must not hold the others; the leader gives the queries their state.
            log.warning("stream %s waits: %s", view.stream.name, error)
            self._pause(view.stream.id)
            if claim:
                self.shared.let_go(view, claim)
        except (NotReadyError, ExchangeFullError, *ZOOKEEPER_AWAY) as error:
            log.warning("waiting: %r", error)
            if claim:
                self.shared.let_go(view, claim)
            time.sleep(0.2)
        finally:
            if fetched:
                self.shared.suspects.handed += 1
                self.shared.fetched.put(fetched)
                self.shared.suspects.end(claim)
            else:
                self.shared.room.release()
                if claim:  # it was not read: nobody must hold it any longer
                    self.shared.leases.drop(view.stream.id, claim)
        return False

    def _pause(self, stream_id: int) -> None:
        """Leave a stream alone for a while: each try takes up to RETRY_S, and the others wait for it."""
        self.pauses[stream_id] = min(PAUSE_MAX_S, 2 * self.pauses.get(stream_id, PAUSE_S / 2))
        self.paused_until[stream_id] = time.monotonic() + self.pauses[stream_id]

    def _is_active(self, view: StreamView) -> bool:
        return bool(view.queries.running()) and time.monotonic() >= self.paused_until.get(view.stream.id, 0.0)

    def _await_tuples(self) -> None:
        """There was nothing to claim: wait for tuples of any active stream, each for its share of the time. While the
        computing thread is at work, a short rest lets a batch gather."""
        if not self.shared.rests.is_set():
            self.shared.rests.wait(BUSY_S)
            return
        active = [view for view in self.views.values() if self._is_active(view) and view.stream.id in self.claimers]
        if not active:
            self._await_news(AWAIT_MS / 1000)
        for view in active:
            id_, claimer = view.stream.id, self.claimers[view.stream.id]
            ends = {p: end for p, end in claimer.ends.known.items() if p in claimer.ends.home}
            if not ends:
                self._await_news(AWAIT_MS / len(active) / 1000)
                continue
            epochs = {p: epoch for (stream, p), (end, epoch) in self.last_epochs.items()
                      if stream == id_ and end == ends.get(p)}
            wait_ms, offsets = claimer.ends.patience(claimer.sizes.batch_offsets(self.config))
            try:
                claimer.ends.came(self.readers[id_].await_tuples(ends, epochs, max(1, wait_ms // len(active)), offsets))
            except (NotReadyError, UnknownTopic, TopicRecreated, KafkaRefused) as error:
                log.warning("stream %s waits: %s", view.stream.name, error)
                self._pause(id_)

    def _await_news(self, seconds: float) -> None:
        # While ZooKeeper is away, news cannot be read: waiting for them would not be waiting.
        (self.shared.news if self.shared.zookeeper.usable else self.shared.stopping).wait(seconds)

    def _claim(self, view: StreamView) -> Claim | None:
        stream = view.stream
        if stream.id not in self.readers:
            self.readers[stream.id] = open_reader(
                self.config.reader, self.config.kafka_address, security_of(self.config), stream.topic, stream.topic_id,
                retry_s=RETRY_S)
            self.claimers[stream.id] = Claimer(
                self.shared.exchange, self.config, self.shared.id, self.shared.sizes.setdefault(stream.id, Sizes()))
        claimer = self.claimers[stream.id]
        if claimer.ends.are_old():
            claimer.ends.looked(self.readers[stream.id].last_stable_offsets(), stream.id, self.shared.id,
                                self.shared.cache.children(names.MAPPERS))
        return claimer.next(view, only_batches=not self.shared.rests.is_set())

    def _read(self, view: StreamView, claim: Claim) -> Fetched | None:
        """The claim with its tuples; None if it could not be read (then it is left to its lease)."""
        plans = self.shared.suspects.isolate(view, claim, self._plans(view, claim))
        if not plans:
            return Fetched(view, claim, {}, None)
        batch = spill.read(view.stream, view.generation, claim, {c for plan in plans.values() for c in plan.columns})
        if batch is not None:
            return Fetched(view, claim, plans, batch, spill.log_of(claim))
        try:
            got = self._fetch(view, claim)
        except (NotReadyError, UnknownTopic, KafkaRefused):
            # Nothing in the claim is to blame: it must not be split for it. Meanwhile other ranges get their turn.
            self.shared.give_back(view, claim, min(AWAY_MS, self.config.lease_ms // 2), claim.given - 1)
            raise
        except RangeTooLarge as error:
            self.claimers[view.stream.id].sizes.learn_bytes(error.offsets, error.bytes)
            self.shared.give_back(view, claim, 1, GIVEN_TO_SPLIT)
            return None
        except tuple(STATES) as error:
            if not self.shared.exchange.renew(view.stream.id, view.generation, claim, self.config.lease_ms):
                return None  # another has got the claim meanwhile, and may have read it when that was possible
            stop_queries(self.shared.zookeeper, view.stream, plans, state_of(claim, error), why(claim, error))
            return Fetched(view, claim, {}, None)
        if got is None:
            self.shared.let_go(view, claim)  # we are told to stop
            return None
        # Before the next claim, so that none is larger than it may be.
        self.claimers[view.stream.id].sizes.learn_bytes(claim.end - claim.start, got.bytes)
        faults.point("mapper.fetched")
        return Fetched(view, claim, plans, got.content, got.log)

    def _fetch(self, view: StreamView, claim: Claim) -> Range | None:
        """The claim's range. If this worker read up to its start, the broker is told the leader epoch that was read
        last there, and says so if the log has been rewritten since."""
        key = (view.stream.id, claim.partition)
        read_to, epoch = self.last_epochs.get(key, (-1, -1))
        got = self.readers[view.stream.id].read(
            claim.partition, claim.start, claim.end, self.config.run_bytes_max * 5 // 4,  # and what Kafka adds
            last_epoch=epoch if read_to == claim.start else -1, should_stop=self.shared.stopping.is_set,
            range_bytes_max=math.inf if claim.grouped else RUNS_MAX * self.config.run_bytes_max)
        if got is not None:
            self.last_epochs[key] = (claim.end, got.leader_epoch)
        return got

    def _plans(self, view: StreamView, claim: Claim) -> dict[str, QueryPlan]:
        """The plans of the claim's live tasks. A task that ZooKeeper does not know is either too new for this view,
        which is then read again, or dead: it brings no cells, and its entry is dropped by its incarnation."""
        queries = view.queries.queries
        if any(q not in queries or queries[q].incarnation < i for q, i in claim.tasks.items()):
            self.shared.zookeeper.client.sync(names.CATALOG)
            fresh = read_stream(self.shared.zookeeper, view.stream)
            queries = fresh.queries.queries if fresh else {}
        return {q: queries[q].plan for q, i in claim.tasks.items()
                if q in queries and queries[q].incarnation == i and queries[q].state == RUNNING}
