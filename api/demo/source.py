"""What the demo feeds: the paper's tuples, made and counted by a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import IO, Protocol

import pyarrow as pa

from api.cli.client import Client
from api.cli.lines import ensure_topic
from api.demo.check import Verdict, compare
from api.instance.processes import ROOT
from api.instance.services.paths import log_dir, tail
from benchmarks.generator import QUERY, SCHEMA, WINDOW_S
from mars.adapters.kafka.security import security_of
from mars.config import Config
from mars.errors import MarsError

STREAM, TOPIC, NAME = "S", "flows", "demo"
# Event time starts an hour back and arrives a minute ago when the last tuple is made.
BACK_S, SPAN_S = 3_600, 3_540


class Source(Protocol):
    """Tuples for the demo. `goal` is how many are sent, 0 if they are there already; `about` says what they are."""

    stream: str
    topic: str
    name: str
    about: str
    goal: int
    sent: int

    def stream_sql(self) -> str:
        """The CREATE STREAM statement."""

    def query_sql(self, stream: dict) -> str:
        """The CREATE QUERY statement, over the stream as the API shows it."""

    def prepare(self) -> None:
        """Whatever must be there before the stream."""

    def start(self) -> None:
        """Start to send."""

    def done(self) -> bool:
        """Whether all was sent; raises what went wrong with it."""

    def stop(self) -> None:
        """Leave nothing running."""

    def left(self, document: dict) -> int:
        """How many messages the query, as the API shows it, has yet to read; asked when all was sent."""

    def verdict(self, client: Client) -> Verdict:
        """What an independent count says of the results, once all is read."""


class PaperSource:
    """The generator as a child process. The topic and the stream stay for the next demo; the query is made
    anew each time and starts where the topic ends, so that it sees exactly what this run sends."""

    stream, topic, name = STREAM, TOPIC, NAME
    about = "the paper's tuples: 20 fields, 150 bytes, all groups as frequent, 3 % out of order"

    def __init__(self, config: Config, kafka: str, rate: int, seconds: int) -> None:
        self.config = config
        self.data = config.data
        self.kafka = kafka
        self.rate = rate
        self.goal = rate * seconds
        self.sent = 0
        self.counts = config.data / "expected.arrow"
        self.process: subprocess.Popen | None = None

    def stream_sql(self) -> str:
        """The paper's stream."""
        return f"CREATE STREAM {self.stream} ({SCHEMA}) FROM KAFKA '{TOPIC}' FORMAT CSV TIMESTAMP timestamp UNIT s"

    def query_sql(self, _stream: dict) -> str:
        """The paper's query."""
        return f"CREATE QUERY {self.name} AS {QUERY.format(stream=self.stream)} FROM LATEST"

    def prepare(self) -> None:
        """Make the topic if it is absent."""
        ensure_topic(self.kafka, security_of(self.config), TOPIC)

    def start(self) -> None:
        """Start to send."""
        self.counts.unlink(missing_ok=True)
        start_s = (int(time.time()) - BACK_S) // WINDOW_S * WINDOW_S
        command = [sys.executable, "-P", "-m", "benchmarks.feed", "--kafka", self.kafka, "--topic", TOPIC,
                   "--counts", str(self.counts), "--tuples", str(self.goal), "--rate", str(self.rate),
                   "--start", str(start_s), "--event-rate", str(self.goal / SPAN_S), "--seed", str(start_s)]
        self.log = log_dir(self.data) / "feed.log"
        with open(self.log, "wb") as errors:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors,
                                            stdin=subprocess.DEVNULL)
        threading.Thread(target=self._listen, args=[self.process.stdout], name="feed", daemon=True).start()

    def done(self) -> bool:
        """Whether all was sent; MarsError with the end of its log if the generator failed."""
        assert self.process is not None, "it was not started"
        code = self.process.poll()
        if code:
            raise MarsError("The generator ended", f"{self.log}:\n{tail(self.log)}")
        return code == 0 and self.sent >= self.goal

    def stop(self) -> None:
        """End the generator."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()

    def left(self, document: dict) -> int:
        """How many tuples the query has yet to read; one more while nobody knows."""
        lag = document["lag"]
        return max(0, self.goal - document["counters"]["tuples"]) + (lag["tuples"] if lag else 1)

    def verdict(self, client: Client) -> Verdict:
        """By the generator's own count by group."""
        with pa.memory_map(str(self.counts)) as source:
            expected = pa.ipc.open_file(source).read_all()
        return compare(expected, pa.concat_tables(client.pages(self.name, partial="true")))

    def _listen(self, lines: IO[bytes]) -> None:
        for line in lines:
            self.sent = json.loads(line)["sent"]
