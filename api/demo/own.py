"""The user's own tuples as the source of the demo: guessed, shown, and counted by another engine. A file is sent; a topic
is in demo_topic."""

from __future__ import annotations

import itertools
import re
import threading
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from api.cli.client import Client
from api.cli.lines import LineFile, ensure_topic, send
from api.demo.check import Bounds, Verdict, judge
from api.demo.count import Shape, TextCount
from api.demo.view import say
from mars.adapters.kafka.admin import KafkaAdmin
from mars.adapters.kafka.security import Security
from mars.errors import MarsError
from sql.guess.stream import Guess, create_stream_sql, name_text

NAME = "demo"


class OwnSource(ABC):
    """What file and topic have in common: the declaration, the query, the independent count.

    `options` has schema, time_column, unit and select, each None unless given. `ends` are the offsets up to which the query
    has to read, once they are known."""

    name = NAME
    sent = goal = 0
    start_at: str
    ends: dict[int, int] | None = None

    def __init__(self, admin: KafkaAdmin, topic: str, guess: Guess, options: dict) -> None:
        self.admin = admin
        self.topic = topic
        self.options = options
        self.has_own_select = bool(options["select"])
        self.stream = re.sub(r"\W+", "_", topic).strip("_") or "tuples"
        self.guess = replace(guess, time_column=options["time_column"] or guess.time_column,
                             unit=options["unit"] or guess.unit)
        if self.guess.time_column is None:
            raise MarsError("No column looks like an event time", ", ".join(c.name for c in guess.columns),
                            "name it with --time, and the unit of an integer with --unit")
        self.count: TextCount | None = None

    @abstractmethod
    def read_lines(self, shape: Shape) -> TextCount:
        """The independent count of the lines."""

    @abstractmethod
    def judge(self, results: pa.Table, counters: dict[str, int]) -> Verdict:
        """What the count says of these results."""

    @abstractmethod
    def account(self, tuples: int) -> str:
        """What is wrong with this number of tuples, where nothing was counted; empty if nothing is."""

    def left(self, document: dict) -> int:
        """How many messages below `ends` the query has yet to read."""
        return sum(max(0, end - document["positions"].get(str(p), 0)) for p, end in self.ends.items())

    def verdict(self, client: Client) -> Verdict:
        """What the check finds. For a SELECT of the user's own every tuple must be accounted for, no more."""
        results = pa.concat_tables(client.pages(self.name, partial="true")) if self.count else None
        counters = client.get(f"/v1/queries/{self.name}")["counters"]
        if self.count:
            return self.judge(results, counters)
        kinds = ", ".join(f"{counters[kind]:,} {kind}" for kind in ("bad", "late", "future", "filtered"))
        say(f"{counters['tuples']:,} tuples: {kinds}")
        return Verdict(0, counters["tuples"], 0, self.account(counters["tuples"]))

    def stream_sql(self) -> str:
        """CREATE STREAM with the guessed or given columns."""
        guessed = create_stream_sql(self.guess, self.stream, self.topic)
        if not self.options["schema"]:
            return guessed
        tail = guessed[guessed.index("\n) FROM KAFKA") + 2:]
        return f"CREATE STREAM {name_text(self.stream)} ({self.options['schema']}\n){tail}"

    def query_sql(self, document: dict) -> str:
        """CREATE QUERY with the given SELECT, else counts by a column that has few values."""
        if self.options["select"]:
            return f"CREATE QUERY {self.name} AS {self.options['select'].rstrip('; ')} FROM {self.start_at}"
        self.count = self.read_lines(Shape.of(document))
        key = f"{name_text(self.count.key)}, " if self.count.key else ""
        group = f" GROUP BY {name_text(self.count.key)}" if self.count.key else ""
        return (f"CREATE QUERY {self.name} AS SELECT {key}count(*) FROM {name_text(self.stream)}{group} "
                f"WINDOWING {self.count.window_s} s WATERMARK {self.count.disorder_s} s FROM {self.start_at}")


class FileSource(OwnSource):
    """A file that is sent line by line to a topic of its own or a given one."""

    start_at = "LATEST"

    def __init__(self, kafka: str, security: Security, path: Path, options: dict) -> None:
        self.file = LineFile(path)
        if not self.file.is_regular:
            raise MarsError(f"{path} is not a regular file", "the demo reads it more than once",
                            "write it to a file first")
        admin = KafkaAdmin(kafka, security=security)
        name = re.sub(r"[^\w.-]+", "-", path.stem)
        topic = options["topic"] or free_topic(admin, name)
        if options["select"] and topic not in (options["topic"], name):
            raise MarsError(f"Topic {name} exists", "its tuples would be counted too", "give another name with --topic, "
                            "and use that name for the stream in --sql")
        super().__init__(admin, topic, self.file.guess, options)
        self.kafka, self.security = kafka, security
        self.failure: MarsError | None = None
        header = ", line 1 names the columns" if self.file.header else ""
        self.about = f"the lines of {path}, {self.guess.format}{header}"
        self.thread = threading.Thread(target=self._send, name="send", daemon=True)

    def prepare(self) -> None:
        """Make the topic if it is absent."""
        self.partitions, _ = ensure_topic(self.kafka, self.security, self.topic)
        self.goal = sum(1 for _ in self.file.lines())
        self.begins = self.admin.end_offsets(self.topic, range(self.partitions))

    def read_lines(self, shape: Shape) -> TextCount:
        """Those of the file; its header is no tuple."""
        return TextCount([self.file.path], self.file.header, shape)

    def start(self) -> None:
        """Start to send."""
        self.thread.start()

    def done(self) -> bool:
        """Whether all was sent; raises what stopped the sending."""
        if self.failure:
            raise self.failure
        return not self.thread.is_alive()

    def left(self, document: dict) -> int:
        """Up to where the topic ended when all was sent."""
        self.ends = self.ends or self.admin.end_offsets(self.topic, self.begins)
        return super().left(document)

    def judge(self, results: pa.Table, counters: dict[str, int]) -> Verdict:
        """Each line must be in the results, and nothing else unless somebody else has sent it."""
        sent = self.count.counted(Bounds(self.goal, self.goal))
        return judge(sent, sent.none(), results, counters, self._is_cut(), others=self._others() > 0)

    def account(self, tuples: int) -> str:
        """Each line of CSV is a tuple."""
        known = self.guess.format == "CSV" and not self._others() and not self._is_cut()
        return f"{self.goal:,} tuples were sent, {tuples:,} arrived" if known and tuples != self.goal else ""

    def stop(self) -> None:
        """Sending ends with the process."""
        self.admin.close()

    def _is_cut(self) -> bool:
        """Whether Kafka has deleted messages that were sent here."""
        starts = self.admin.start_offsets(self.topic, self.begins)
        return any(starts[p] > begin for p, begin in self.begins.items())

    def _others(self) -> int:
        """How many messages others have sent meanwhile."""
        ends = self.admin.end_offsets(self.topic, self.begins)
        return sum(ends.values()) - sum(self.begins.values()) - self.goal

    def _send(self) -> None:
        try:
            send(self.file.lines(), self.kafka, self.security, self.topic, self.partitions, None, self._progress)
        except MarsError as error:
            self.failure = error

    def _progress(self, lines: int, _size: int) -> None:
        self.sent = lines


def free_topic(admin: KafkaAdmin, name: str) -> str:
    """The name, or the first of name-2, name-3, ... that is no topic yet: the file must not end up among other tuples."""
    taken = set(admin.topics())
    return next(n for n in itertools.chain([name], (f"{name}-{i}" for i in itertools.count(2))) if n not in taken)
