"""A whole Mars for tests, without Spark: worker processes that run the very functions that Spark's tasks run.

A cluster has a ZooKeeper and a Redis of its own, which it may empty, and uses the Kafka of the shared stack. It keeps
each worker slot alive, as the server's jobs do, and speaks to Mars as REST does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import redis
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from api.instance.identity import admit
from api.instance.services import redis as redis_service
from api.instance.services import zookeeper as zookeeper_service
from api.instance.services.process import Child
from api.statements.context import Context, connect
from api.statements.dispatch import execute
from mars import faults
from mars.config import Config
from mars.model import names
from mars.results.cursors import LIMIT_MAX, Selection
from mars.results.pages import page as result_page
from mars.results.snapshot import Snapshot
from mars.workers import KINDS
from tests.conftest import Stack

ROOT = Path(__file__).parent.parent
LOG_LINES = 12
POLL_S = 0.1
ENTRY = """
import logging, sys
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
logging.getLogger("kafka").setLevel(logging.ERROR)
from mars.workers import KINDS
{{kind.name: kind for kind in KINDS}}["{kind}"].load()(sys.argv[1], {number})
"""


@dataclass
class Slot:
    """One worker's place; `starts` counts the processes that it has had."""

    kind: str
    number: int
    child: Child | None = None
    starts: int = 0
    logs: list[Path] = field(default_factory=list)


class Cluster:
    """Mappers, reducers and publishers under the names ('mapper', 0), ('reducer', 1), ...; stop it with `close`."""

    def __init__(self, stack: Stack, folder: Path, mappers: int = 2, reducers: int = 2, publishers: int = 0,
                 **settings: object) -> None:
        self.folder = folder
        self.orders = folder / "faults"
        self.orders.mkdir(parents=True)
        own = stack.config.model_copy(update={"data": folder, "redis_address": "", "zookeeper_address": "",
                                              "fault_folder": str(self.orders)})
        self.services = [redis_service.start(own, folder), zookeeper_service.start(own, folder)]
        addresses = {f"{service.name}_address": service.address for service in self.services}
        self.config: Config = own.model_copy(update={**addresses, **settings})
        patient = self.config.model_copy(update={"zookeeper_session_ms": 10_000})
        self.context = Context(patient, connect(patient))
        if publishers:  # transactions of sinks have the instance's id in their names, and the Kafka is everybody's
            admit(self.config, self.context.zk, self.context.storage)
        host, port = self.config.redis_address.split(":")
        self.redis = redis.Redis(host=host, port=int(port))
        self.slots: dict[tuple[str, int], Slot] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.scale(mappers, reducers, publishers)
        threading.Thread(target=self._keep_alive, name="keep-alive", daemon=True).start()

    def close(self) -> None:
        """Kill the workers and stop the services."""
        self._closing.set()
        with self._lock:
            for slot in self.slots.values():
                slot.child.stop(0)
        self.context.close()
        for service in self.services:
            service.stop()

    # -- workers --------------------------------------------------------------------------------------------------

    def scale(self, mappers: int, reducers: int, publishers: int = 0, **settings: object) -> None:
        """Let so many workers run from now on; other settings end those that ran before by SIGKILL."""
        counts = {"mapper": mappers, "reducer": reducers, "publisher": publishers}
        wanted = {(kind, n) for kind, count in counts.items() for n in range(count)}
        with self._lock:
            self.config = self.config.model_copy(update=settings)
            for key in [key for key in self.slots if settings or key not in wanted]:
                self.slots.pop(key).child.stop(0)
            for kind, number in sorted(wanted - self.slots.keys()):
                self._start(Slot(kind, number))

    def _start(self, slot: Slot) -> None:
        log = self.folder / "logs" / f"{slot.kind}-{slot.number}.{slot.starts}.{time.monotonic_ns()}.log"
        code = ENTRY.format(kind=slot.kind, number=slot.number)
        slot.child = Child(f"{slot.kind} {slot.number}", [sys.executable, "-c", code, self.config.to_json()], log,
                           environment={"PYTHONPATH": str(ROOT)})
        slot.starts += 1
        slot.logs.append(log)
        self.slots[slot.kind, slot.number] = slot

    def _keep_alive(self) -> None:
        while not self._closing.wait(POLL_S):
            with self._lock:
                for slot in self.slots.values():
                    if slot.child.exit_code() is not None and not self._closing.is_set():
                        self._start(slot)

    def pid(self, kind: str, number: int) -> int:
        """The process that runs in a slot now."""
        return self.slots[kind, number].child.pid

    def kill(self, kind: str, number: int) -> None:
        """SIGKILL; the slot gets a new process. It may have died a moment ago, at a crash point."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid(kind, number), signal.SIGKILL)

    @contextlib.contextmanager
    def paused(self, kind: str, number: int):
        """SIGSTOP, and SIGCONT at the end of the block: what wakes up then is a zombie if it slept too long."""
        pid = self.pid(kind, number)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def leader(self) -> int:
        """The number of the reducer that leads."""
        def find() -> int | None:
            first = min(self.context.zk.children(names.ELECTION), default=None)
            node = self.context.zk.get(f"{names.ELECTION}/{first}") if first else None
            return int(node.data.split(b"-")[0]) if node else None

        return self.wait(find, 20, "nobody stands for leader")

    def wait_for_workers(self, timeout_s: float = 100) -> None:
        """Return once every slot's process has told ZooKeeper that it lives."""
        def present() -> bool:
            zk = self.context.zk
            kinds = [(kind.name, kind.folder) for kind in KINDS]
            living = {(kind, int(id_.split("-")[0])) for kind, path in kinds if zk.get(path) for id_ in zk.children(path)}
            return self.slots.keys() <= living

        self.wait(present, timeout_s, "not every worker has come")

    # -- faults ---------------------------------------------------------------------------------------------------

    def arm(self, point: str, action: str = "") -> None:
        """Let the next process that reaches the crash point die there, or stand still there if `action` is faults.STOP."""
        assert point in faults.POINTS, point
        (self.orders / point).write_text(action)

    def died_at(self, point: str) -> bool:
        """Has a process taken the order?"""
        return not (self.orders / point).exists() and any(self.orders.glob(f"{point}.*"))

    def disarm(self) -> None:
        """Take all orders back, those that were taken too."""
        for order in self.orders.iterdir():
            order.unlink(missing_ok=True)

    def flush_redis(self) -> None:
        """Redis forgets everything."""
        self.redis.flushall()

    # -- statements and data --------------------------------------------------------------------------------------

    def sql(self, statement: str) -> None:
        """Run a statement as POST /v1/sql does."""
        execute(self.context, statement)

    def create_topic(self, name: str, partitions: int) -> None:
        """An empty topic."""
        self.context.kafka.create(name, partitions)

    def delete_topic(self, name: str) -> None:
        """Kafka forgets the topic."""
        admin = AdminClient({"bootstrap.servers": self.config.kafka_address})
        admin.delete_topics([name])[name].result(10)

    def produce(self, messages: Iterable[tuple[str, int, bytes | None]]) -> None:
        """Append (topic, partition, value) in their order; they are readable when this returns."""
        producer = Producer({"bootstrap.servers": self.config.kafka_address, "linger.ms": 20,
                             "queue.buffering.max.messages": 1_000_000})
        for topic, partition, value in messages:
            producer.produce(topic, value, partition=partition)
        assert producer.flush(30) == 0

    # -- results --------------------------------------------------------------------------------------------------

    def snapshot(self, query: str) -> Snapshot:
        """The query as of its last commits."""
        stream, found = self.context.catalog.query(query)
        return self.context.snapshots.read(stream, found)

    def rows(self, query: str) -> pa.Table:
        """The rows of all closed windows, in result order, page by page."""
        page = result_page(self.context.results, query, Selection(), LIMIT_MAX)
        pages = [page.rows]
        while page.next:
            page = result_page(self.context.results, query, Selection(), LIMIT_MAX, page.next)
            pages.append(page.rows)
        return pa.concat_tables(pages)

    def has_read_all(self, query: str, snapshot: Snapshot | None = None) -> bool:
        """Is every position at the end of its partition, now or as of a snapshot?"""
        snapshot = snapshot or self.snapshot(query)
        ends = self.context.kafka.end_offsets(snapshot.stream.topic, snapshot.query.start)
        return snapshot.positions() == ends

    def wait(self, condition: Callable[[], object], timeout_s: float, otherwise: str, queries: Iterable[str] = ()):
        """The condition's value once it is neither None nor False. After `timeout_s`: an AssertionError with what the
        queries and the logs say.
        """
        deadline = time.monotonic() + timeout_s
        while (value := condition()) is None or value is False:
            if time.monotonic() > deadline:
                raise AssertionError(f"{otherwise} after {timeout_s:.0f} s\n{self.report(queries)}")
            time.sleep(POLL_S)
        return value

    def report(self, queries: Iterable[str] = ()) -> str:
        """Where the queries stand, and the last lines of each worker's last logs."""
        lines = []
        for query in queries:
            snapshot = self.snapshot(query)
            lines.append(f"{query}: {snapshot.query.state} {snapshot.query.reason} commit {snapshot.vector} "
                         f"watermark {snapshot.watermark} positions {snapshot.positions()} of "
                         f"{self.context.kafka.end_offsets(snapshot.stream.topic, snapshot.query.start)} "
                         f"event times {snapshot.max_event_times()} {snapshot.counters()}")
        for log in (log for slot in self.slots.values() for log in slot.logs[-2:]):
            lines += [f"-- {log.name}", *log.read_text(errors="replace").splitlines()[-LOG_LINES:]]
        return "\n".join(lines)
