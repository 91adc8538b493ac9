"""One system under cuts: produced, cut off, healed, read out, compared with the independent count."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from api.instance.services import kafka
from benchmarks import exactness, topics
from benchmarks.accuracy_figures import Curve, Cut, CutFigures, figures
from benchmarks.clusters.entrants import Cluster
from benchmarks.contenders.protocol import Job
from benchmarks.exactness import Exactness
from benchmarks.generator import WINDOW_S
from benchmarks.parts import output
from benchmarks.side_by_side import WATERMARK_MS
from mars import config as configuration
from mars.errors import MarsError

PARTITIONS = 6
POLL_S, SETTLE_S, SAY_S = 0.25, 1.0, 15.0
LIMIT_S, SHOW_S = 120.0, 20.0  # to read all after the last tuple; and then at least, to show the last window
Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """So many tuples, at so many a second, with `cuts` cuts of `cut_s` each, made in this way."""

    tuples: int
    rate: int
    cuts: int
    cut_s: float
    way: str

    def slowed(self, rate_max: int | None) -> Plan:
        """The same for a system that can follow no more: as long, with fewer tuples."""
        rate = min(self.rate, rate_max or self.rate)
        return Plan(self.tuples * rate // self.rate, rate, self.cuts, self.cut_s, self.way)

    def starts_s(self) -> list[float]:
        """When the cuts begin: equal times between them, and the last one ends with the tuples."""
        rest = self.tuples / self.rate / self.cuts - self.cut_s
        return [rest + number * (rest + self.cut_s) for number in range(self.cuts)]


@dataclass(frozen=True)
class Turn:
    """What one system did. `all_read_s` runs from the last healing, or the last tuple if that is later, until
    everything is committed; None if that did not happen in LIMIT_S, and then `unread` tuples were not: they are among
    the lost ones."""

    contender: str
    tuples: int
    rate: int
    exactness: Exactness
    cuts: list[CutFigures]
    all_read_s: float | None
    unread: int = 0


def turn(cluster: Cluster, plan: Plan, seed: int, folder: Path, say: Say = lambda text: None) -> Turn:
    """One system from start to stop, with a broker of its own; `say` hears how far it is. Raises MarsError if it does not
    start."""
    folder.mkdir()
    config = configuration.load({"data": folder / "broker"}, environment={})
    broker = kafka.start(config, config.data)
    try:
        topics.create(broker.address, cluster.name, PARTITIONS)
        cluster.launch(folder, broker.address, plan.way)
        asked = job(broker.address, cluster.name, plan.tuples, folder)
        cluster.begin(asked)
        say(f"{cluster.name}: has begun; {plan.tuples:,} tuples at {plan.rate:,}/s")
        produced, committed, cuts, all_read_s = follow(cluster, asked, plan, seed, folder / "counts.arrow", say)
        topics.end(broker.address, cluster.name, PARTITIONS, topics.end_s(plan.tuples))
        unread = max(0, plan.tuples - int(committed.tuples[-1]))
        say(f"{cluster.name}: {unread:,} tuples are not committed; the results are awaited")
        found = settled(cluster, asked, SHOW_S if unread else LIMIT_S)
    finally:
        cluster.stop()
        broker.stop()
    verdict = exactness.judge(topics.counted(folder / "counts.arrow"), found)
    return Turn(cluster.name, plan.tuples, plan.rate, verdict, figures(produced, committed, cuts), all_read_s,
                unread)


def job(address: str, topic: str, tuples: int, folder: Path) -> Job:
    """The paper's query over a topic that goes on, with folders for it."""
    for name in ("out", "work"):
        (folder / name).mkdir()
    last_s = topics.START_S + (tuples - 1) // topics.TUPLES_PER_EVENT_SECOND
    return Job(0, address, topic, PARTITIONS, 0, 1000, WINDOW_S * 1000, WATERMARK_MS, last_s // WINDOW_S * WINDOW_S * 1000,
               str(folder / "out"), str(folder / "work"))


def follow(cluster: Cluster, asked: Job, plan: Plan, seed: int, counts: Path,
           say: Say) -> tuple[Curve, Curve, list[Cut], float | None]:
    """Produce, cut and heal, until everything is committed or LIMIT_S is over."""
    line = [*topics.producing(asked.kafka, asked.topic, plan.tuples, seed, counts), "--rate", str(plan.rate)]
    producer = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    committed: list[tuple[float, int]] = []
    try:
        first = json.loads(output(producer).readline() or "{}")
        if not first:
            raise MarsError("The producer ended", f"exit code {producer.wait()}")
        began = time.monotonic() - first["sent"] / plan.rate
        produced = [(0.0, 0), (time.monotonic() - began, first["sent"])]
        with (polling(lambda: cluster.progress(asked), committed, began), listening(producer, produced, began),
              telling(cluster.name, produced, committed, say)):
            cuts = cut_off(cluster, plan, began, say)
            if producer.wait():
                raise MarsError("The producer failed", f"exit code {producer.returncode}")
            ended_s = time.monotonic() - began
            deadline = time.monotonic() + LIMIT_S
            while committed[-1][1] < plan.tuples and time.monotonic() < deadline:
                time.sleep(POLL_S)
    finally:
        producer.kill()
        producer.wait()
        output(producer).close()
    last_s = max(cuts[-1].to_s, ended_s)
    all_read_s = next((round(max(0.0, at - last_s), 2) for at, tuples in committed if tuples >= plan.tuples), None)
    return Curve.of(produced), Curve.of(committed), cuts, all_read_s


def cut_off(cluster: Cluster, plan: Plan, began: float, say: Say) -> list[Cut]:
    """Each cut in its time, each of another node."""
    cuts = []
    for start, node in zip(plan.starts_s(), cluster.nodes, strict=False):
        time.sleep(max(0.0, began + start - time.monotonic()))
        node.cut()
        from_s = time.monotonic() - began
        say(f"{cluster.name}: {node.name} is cut off after {from_s:.0f} s")
        time.sleep(plan.cut_s)
        node.heal()
        cuts.append(Cut(node.name, round(from_s, 2), round(time.monotonic() - began, 2)))
        say(f"{cluster.name}: {node.name} is back after {cuts[-1].to_s:.0f} s")
    return cuts


def settled(cluster: Cluster, asked: Job, limit_s: float) -> pa.Table:
    """The results, once the last window is among them and nothing more comes, or after `limit_s` as they are."""
    deadline, before = time.monotonic() + limit_s, -1
    while True:
        found = cluster.results(asked)
        found = found.filter(pc.less_equal(found["timestamp"], asked.last_window_ms))
        total = pc.sum(found["count"]).as_py() or 0
        is_closed = pc.max(found["timestamp"]).as_py() == asked.last_window_ms
        if (is_closed and total == before) or time.monotonic() > deadline:
            return found
        before = total
        time.sleep(SETTLE_S)


@contextlib.contextmanager
def telling(name: str, produced: list[tuple[float, int]], committed: list[tuple[float, int]], say: Say) -> Iterator[None]:
    """A thread says now and then how far both are."""

    def tell() -> None:
        at_s, tuples = committed[-1]
        say(f"{name}: {at_s:.0f} s, {tuples:,} of {produced[-1][1]:,} tuples that were sent are committed")

    with every(SAY_S, tell):
        yield


@contextlib.contextmanager
def polling(read: Callable[[], int], samples: list[tuple[float, int]], began: float) -> Iterator[None]:
    """A thread adds what `read` says to `samples`; moments at which nobody answers are left out."""
    samples.append((0.0, 0))

    def poll() -> None:
        with contextlib.suppress(MarsError):
            tuples = read()
            samples.append((time.monotonic() - began, tuples))

    with every(POLL_S, poll):
        yield


@contextlib.contextmanager
def every(pause_s: float, call: Callable[[], None]) -> Iterator[None]:
    """A thread calls, and rests for `pause_s` before each call, until the end of the block."""
    leaving = threading.Event()

    def repeat() -> None:
        while not leaving.wait(pause_s):
            call()

    thread = threading.Thread(target=repeat, name=call.__name__, daemon=True)
    thread.start()
    try:
        yield
    finally:
        leaving.set()
        thread.join()


@contextlib.contextmanager
def listening(producer: subprocess.Popen, samples: list[tuple[float, int]], began: float) -> Iterator[None]:
    """A thread adds what the producer says it has sent, until it ends."""
    def listen() -> None:
        for line in output(producer):
            samples.append((time.monotonic() - began, json.loads(line)["sent"]))

    thread = threading.Thread(target=listen, name="produced", daemon=True)
    thread.start()
    yield
    thread.join()
