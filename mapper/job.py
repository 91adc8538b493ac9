"""A mapper: one long Spark task that claims, fetches, parses, spills, aggregates and pushes until it is told to stop.

Two threads share the work: one claims and fetches ahead, the other computes; the queue between them holds one batch.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import mapper.warm
import mars.warm
from mapper import spill
from mapper.aggregate import aggregate_task, max_event_time
from mapper.batch import Messages, ParsedBatch
from mapper.claim import Claimer
from mapper.ends import AWAIT_MS
from mapper.fetch import Range, Reader
from mapper.lease import LeaseKeeper
from mapper.letters import LetterBox
from mapper.parse import Parser
from mapper.push import ENDS_PROCESS, TaskResult, entries, groups, too_many_cells, unread, without_letters
from mapper.read import open_reader
from mapper.stop import STATES, why
from mapper.suspect import Suspects
from mars import faults, names
from mars.adapters.exchange import Claim, Exchange, ExchangeFullError, StaleEpochError, StaleGenerationError
from mars.adapters.kafka_errors import KafkaRefused, TopicRecreated, UnknownTopic
from mars.adapters.view import StreamView, read_stream, stop_queries
from mars.adapters.view_cache import ViewCache
from mars.adapters.zookeeper import ZOOKEEPER_AWAY, ZooKeeper
from mars.allocator import keep_large_blocks
from mars.cells_wire import encode
from mars.config import Config
from mars.errors import NotReadyError
from mars.plan import QueryPlan
from mars.registry import RUNNING

log = logging.getLogger("mars.mapper")
BUSY_S = 0.01  # for more of them, or for the computing thread, when there is less than a batch
PAUSE_S = 1.0
VIEW_AGE_S = 0.5


@dataclass
class Fetched:
    """A claim whose tuples are here: as messages, or already parsed if the local file was found."""

    view: StreamView
    claim: Claim
    plans: dict[str, QueryPlan]
    content: Messages | ParsedBatch | None
    leader_epoch: int
    letters_kept: bool = True


def run_mapper(config_json: str, slot: int) -> None:
    """Work as mapper `slot` until the stop znode appears; ends the process if the ZooKeeper session may be lost."""
    config = Config.from_json(config_json)
    faults.arm(config.fault_folder)
    keep_large_blocks()
    # Loading the kernels takes a second; no claim must wait for it.
    mapper.warm.warm(say=lambda *_, **__: None)
    mars.warm.warm()
    worker = Mapper(config, slot)
    try:
        worker.run()
    finally:
        worker.close()


class Mapper:
    """One mapper's connections and buffers."""

    def __init__(self, config: Config, slot: int) -> None:
        self.config = config
        self.id = f"{slot}-{uuid.uuid4().hex[:8]}"
        self.zookeeper = ZooKeeper(config.zookeeper_address, config.zookeeper_session_ms)
        self.exchange = Exchange(config.redis_address)
        self.leases = LeaseKeeper(self.exchange, config.lease_ms)
        self.letters = LetterBox(config)
        self.news = threading.Event()
        self.cache = ViewCache(self.zookeeper, self.news.set)
        self.views: dict[int, StreamView] = {}
        self.views_at = 0.0
        self.claimers: dict[int, Claimer] = {}
        self.readers: dict[int, Reader] = {}
        self.parsers: dict[tuple, Parser] = {}
        self.paused_until: dict[int, float] = {}
        self.last_epochs: dict[tuple[int, int], tuple[int, int]] = {}
        self.fetched: queue.Queue[Fetched] = queue.Queue()
        self.room = threading.Semaphore(2)  # two batches may wait while one is computed
        self.rests = threading.Event()
        self.rests.set()
        self.stopping = threading.Event()
        self.suspects = Suspects(self.zookeeper, self.exchange, self.stopping)
        self.failure: BaseException | None = None
        self.folder = Path(config.data) / "spill"
        spill.sweep(self.folder, set(), older_than_s=10 * config.lease_ms / 1000)
        self.zookeeper.client.create(f"{names.MAPPERS}/{self.id}", json.dumps(
            {"id": self.id, "pid": os.getpid(), "host": spill.HOST, "slot": slot}).encode(),
            ephemeral=True, makepath=True)

    def run(self) -> None:
        """Compute what the fetching thread brings, until stopped. Raises what ended either thread."""
        fetcher = threading.Thread(target=self._fetch_all, name="fetch", daemon=True)
        fetcher.start()
        while not self.stopping.is_set():
            if self.zookeeper.expired:
                raise NotReadyError("the ZooKeeper session may have ended", self.id)
            try:
                fetched = self.fetched.get(timeout=0.2)
            except queue.Empty:
                continue
            self.rests.clear()
            self.room.release()
            self._compute(fetched)
            self.suspects.computed += 1
            if self.fetched.empty():
                self.rests.set()
        fetcher.join(timeout=15)
        if self.failure:
            raise self.failure

    def close(self) -> None:
        """Give the claims back and end the session."""
        self.stopping.set()
        self.leases.stop()
        self.zookeeper.stop()

    # -- the fetching thread --------------------------------------------------------------------------------------

    def _fetch_all(self) -> None:
        try:
            while not self.stopping.is_set():
                self._refresh_views()
                worked = [self._fetch_one(view) for view in list(self.views.values())]
                if not any(worked):
                    self._await_tuples()
        except BaseException as error:  # the computing thread must end with this one
            self.failure = error
        self.stopping.set()

    def _refresh_views(self) -> None:
        """See what has changed in ZooKeeper; while it does not answer, the old view does no harm."""
        is_due = self.news.is_set() or time.monotonic() - self.views_at > VIEW_AGE_S
        if not is_due or not self.zookeeper.usable:
            return
        self.news.clear()
        try:
            if self.cache.get(names.STOP) is not None:
                self.stopping.set()
            self.views = self.cache.streams()
        except ZOOKEEPER_AWAY as error:
            log.warning("waiting: %r", error)
        self.views_at = time.monotonic()
        for gone in self.readers.keys() - self.views.keys():
            self.readers.pop(gone).close()
            self.claimers.pop(gone)
        for key in [key for key in list(self.parsers) if key[0] not in self.views]:
            self.parsers.pop(key, None)

    def _view_was_wrong(self) -> None:
        """Something was refused that the view allows: read it again."""
        self.cache.forget()
        self.news.set()

    def _fetch_one(self, view: StreamView) -> bool:
        """Claim a range of a stream and fetch it, once there is room. False if there was nothing to do."""
        if not self._is_active(view) or not self.room.acquire(timeout=0.2):
            return False
        claim, fetched = None, None
        try:
            claim = self._claim(view)
            if claim is None:
                return False
            self.leases.hold(view.stream.id, view.generation, claim)
            faults.point("mapper.claimed")
            self.suspects.begin(view, claim)
            fetched = self._read(view, claim)
            return True
        except (StaleGenerationError, StaleEpochError):
            self._view_was_wrong()
        except (UnknownTopic, TopicRecreated, KafkaRefused) as error:
            # One stream's topic must not hold the others; the leader gives the queries their state.
            log.warning("stream %s waits: %s", view.stream.name, error)
            self.paused_until[view.stream.id] = time.monotonic() + PAUSE_S
        except (NotReadyError, ExchangeFullError, *ZOOKEEPER_AWAY) as error:
            log.warning("waiting: %r", error)
            time.sleep(0.2)
        finally:
            if fetched:
                self.suspects.handed += 1
                self.fetched.put(fetched)
                self.suspects.end(claim)
            else:
                self.room.release()
                if claim:  # it was not read: nobody must hold it any longer
                    self.leases.drop(view.stream.id, claim)
        return False

    def _is_active(self, view: StreamView) -> bool:
        return bool(view.queries.running()) and time.monotonic() >= self.paused_until.get(view.stream.id, 0.0)

    def _await_tuples(self) -> None:
        """There was nothing to claim: wait for tuples of any active stream, each for its share of the time. While the
        computing thread is at work, a short rest lets a batch gather."""
        if not self.rests.is_set():
            self.rests.wait(BUSY_S)
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
                self.paused_until[id_] = time.monotonic() + PAUSE_S

    def _await_news(self, seconds: float) -> None:
        # While ZooKeeper is away, news cannot be read: waiting for them would not be waiting.
        (self.news if self.zookeeper.usable else self.stopping).wait(seconds)

    def _claim(self, view: StreamView) -> Claim | None:
        stream = view.stream
        if stream.id not in self.readers:
            self.readers[stream.id] = open_reader(
                self.config.reader, self.config.kafka_address, {}, stream.topic, stream.topic_id)
            self.claimers[stream.id] = Claimer(self.exchange, self.config, self.id)
        claimer = self.claimers[stream.id]
        if claimer.ends.are_old():
            claimer.ends.looked(self.readers[stream.id].last_stable_offsets(), stream.id, self.id,
                                self.cache.children(names.MAPPERS))
        return claimer.next(view, only_batches=not self.rests.is_set())

    def _read(self, view: StreamView, claim: Claim) -> Fetched | None:
        """The claim with its tuples; None if it could not be read (then it is left to its lease)."""
        plans = self.suspects.isolate(view, claim, self._plans(view, claim))
        if not plans:
            return Fetched(view, claim, {}, None, -1)
        batch = spill.read(view.stream, view.generation, claim)
        if batch is not None:
            return Fetched(view, claim, plans, batch, -1)
        try:
            got = self._fetch(view, claim)
        except (NotReadyError, UnknownTopic, KafkaRefused):
            self.leases.drop(view.stream.id, claim)
            self.exchange.renew(view.stream.id, view.generation, claim, 200)
            raise
        except tuple(STATES) as error:
            if not self.exchange.renew(view.stream.id, view.generation, claim, self.config.lease_ms):
                return None  # another has got the claim meanwhile, and may have read it when that was possible
            stop_queries(self.zookeeper, view.stream, plans, STATES[type(error)], why(claim, error))
            return Fetched(view, claim, {}, None, -1)
        if got is None:
            return None
        # Before the next claim, so that none is larger than it may be.
        self.claimers[view.stream.id].sizes.learn_bytes(claim.end - claim.start, int(got.messages.length.sum()))
        faults.point("mapper.fetched")
        return Fetched(view, claim, plans, got.messages, got.leader_epoch)

    def _fetch(self, view: StreamView, claim: Claim) -> Range | None:
        """The claim's range. If this worker read up to its start, the broker is told the leader epoch that was read
        last there, and says so if the log has been rewritten since."""
        key = (view.stream.id, claim.partition)
        read_to, epoch = self.last_epochs.get(key, (-1, -1))
        got = self.readers[view.stream.id].read(
            claim.partition, claim.start, claim.end, self.config.run_bytes_max * 5 // 4,  # and what Kafka adds
            last_epoch=epoch if read_to == claim.start else -1, should_stop=self.stopping.is_set)
        if got is not None:
            self.last_epochs[key] = (claim.end, got.leader_epoch)
        return got

    def _plans(self, view: StreamView, claim: Claim) -> dict[str, QueryPlan]:
        """The plans of the claim's live tasks. A task that ZooKeeper does not know is either too new for this view,
        which is then read again, or dead: it brings no cells, and its marker is dropped by its incarnation."""
        queries = view.queries.queries
        if any(q not in queries or queries[q].incarnation < i for q, i in claim.tasks.items()):
            self.zookeeper.client.sync(names.CATALOG)
            fresh = read_stream(self.zookeeper, view.stream)
            queries = fresh.queries.queries if fresh else {}
        return {q: queries[q].plan for q, i in claim.tasks.items()
                if q in queries and queries[q].incarnation == i and queries[q].state == RUNNING}

    # -- the computing thread -------------------------------------------------------------------------------------

    def _compute(self, fetched: Fetched) -> None:
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
            self._view_was_wrong()
        except (OSError, *ZOOKEEPER_AWAY) as error:
            log.warning("the claim is left to others: %r", error)
            time.sleep(0.5)
        finally:
            self.leases.drop(view.stream.id, claim)
            spill.delete(file)

    def _keep(self, fetched: Fetched, batch: ParsedBatch) -> dict | None:
        """Write the local file and register it. What is less than a batch is as soon read again from Kafka; what has no
        letters must be, as the file cannot give them."""
        view, claim = fetched.view, fetched.claim
        if len(batch) < self.config.batch_tuples or not fetched.letters_kept:
            return None
        file = spill.write(self.folder, view.stream, view.generation, claim, batch)
        faults.point("mapper.spilled")
        self._insist(lambda: self.exchange.register(view.stream.id, view.generation, claim, file))
        faults.point("mapper.registered")
        return file

    def _parse(self, fetched: Fetched) -> ParsedBatch:
        stream = fetched.view.stream
        columns = tuple(sorted({c for plan in fetched.plans.values() for c in plan.columns}))
        parser = self.parsers.get((stream.id, columns))
        if parser is None:
            parser = self.parsers[(stream.id, columns)] = Parser(stream, columns)
        claim = fetched.claim
        faults.poison("reading", claim.partition, claim.start, claim.end)
        batch = parser.parse(fetched.content)
        fetched.letters_kept = self.letters.keep(parser, claim, fetched.content, batch)
        claimer = self.claimers.get(stream.id)  # None if the stream has just been dropped
        if claimer is not None:
            claimer.sizes.learn_tuples(claim.end - claim.start, len(batch))
        return batch

    def _push(self, fetched: Fetched, batch: ParsedBatch | None) -> None:
        view, claim = fetched.view, fetched.claim
        limit = self.config.future_limit_ms
        self._insist(partial(self.suspects.compute, view, claim))
        results = [self._task(view, claim, query, fetched.plans.get(query), batch) for query in sorted(claim.tasks)]
        if not fetched.letters_kept:
            results = [without_letters(result) for result in results]
        greatest = max_event_time(view.stream, batch, claim.now_ms, limit) if batch is not None else None
        faults.point("mapper.aggregated")
        for group in groups(results):
            made = entries(claim, group, view.stream.key_parts, greatest, fetched.leader_epoch)
            tasks = {r.query: claim.tasks[r.query] for r in group}
            self._insist(partial(self.exchange.push, view.stream.id, view.generation, claim, tasks, greatest, made))
        faults.point("mapper.pushed")

    def _task(self, view: StreamView, claim: Claim, query: str, plan: QueryPlan | None,
              batch: ParsedBatch | None) -> TaskResult:
        """One task's cells; of a dead task none. A query that cannot be computed is quarantined and harms no other."""
        nothing = TaskResult(query, [b""] * view.stream.key_parts, {}, {})
        if claim.kills == "reading":
            return unread(nothing)
        if plan is None or batch is None:
            return nothing
        faults.poison(f"computing.{query}", claim.partition, claim.start, claim.end)
        try:
            done = aggregate_task(plan, view.stream, batch, claim.partition, claim.now_ms, self.config.future_limit_ms)
        except Exception as error:
            log.exception("query %s cannot be computed", query)
            stop_queries(self.zookeeper, view.stream, [query], "QUARANTINED",
                         f"offsets [{claim.start}, {claim.end}) of partition {claim.partition}: "
                         f"{type(error).__name__}: {error}; RESUME QUERY tries again")
            return nothing
        parts = [encode(part) if part.num_rows else b"" for part in done.parts]
        if (size := sum(map(len, parts))) > self.config.query_cells_bytes_max:
            stop_queries(self.zookeeper, view.stream, [query], "LIMIT_EXCEEDED", too_many_cells(claim, size, self.config))
            return nothing
        return TaskResult(query, parts, done.counts, done.bad_reasons)

    def _insist(self, call: Callable[[], object]) -> object:
        """Repeat a call whose repetition is harmless until Redis answers; the lease keeper decides nothing here."""
        while not self.stopping.is_set():
            try:
                return call()
            except (NotReadyError, ExchangeFullError) as error:
                log.warning("waiting: %s", error)
                time.sleep(0.1)
        return 0
