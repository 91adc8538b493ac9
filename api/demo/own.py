"""The user's own tuples as the source of the demo, guessed and shown. Those of a file are sent, and counted by another
engine; those of a topic are there already, and nobody but Mars counts them."""

from __future__ import annotations

import itertools
import re
import tempfile
import threading
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from api.cli.client import Client
from api.cli.lines import LineFile, ensure_topic, send
from api.demo.check import Verdict, compare
from api.demo.count import LineCount
from api.demo.view import say
from mars.adapters.kafka.admin import KafkaAdmin
from mars.adapters.kafka.security import Security
from mars.errors import MarsError
from sql.guess.stream import Guess, create_stream_sql, guess_schema, name_text

GUESSED_FROM = 200
PEEK_S = 30.0


class OwnSource(ABC):
    """What file and topic have in common: the declaration and the query.

    `options` has schema, time_column, unit and select, each None unless given. `ends` are the offsets up to which the query
    has to read, once they are known."""

    sent = goal = 0
    start_at: str
    ends: dict[int, int] | None = None
    count: LineCount | None = None

    def __init__(self, admin: KafkaAdmin, topic: str, guess: Guess, options: dict) -> None:
        self.admin = admin
        self.topic = topic
        self.options = options
        self.stream = re.sub(r"\W+", "_", topic).strip("_") or "tuples"
        self.name = re.sub(r"\W+", "_", f"demo_{self.stream}", flags=re.ASCII)
        self.guess = replace(guess, time_column=options["time_column"] or guess.time_column,
                             unit=options["unit"] or guess.unit)
        if self.guess.time_column is None:
            raise MarsError("No column looks like an event time", ", ".join(c.name for c in guess.columns),
                            "name it with --time, and the unit of an integer with --unit")

    @abstractmethod
    def read_lines(self, stream: dict) -> LineCount:
        """The lines by which key, window and watermark are chosen."""

    def left(self, document: dict) -> int:
        """How many messages below `ends` the query has yet to read."""
        assert self.ends is not None, "nothing was sent yet"
        return sum(max(0, end - document["positions"].get(str(p), 0)) for p, end in self.ends.items())

    def counters(self, client: Client) -> dict[str, int]:
        """What the query has counted; shown too."""
        counters = client.get(f"/v1/queries/{self.name}")["counters"]
        kinds = ", ".join(f"{counters[kind]:,} {kind}" for kind in ("bad", "late", "future", "filtered"))
        say(f"{counters['tuples']:,} tuples: {kinds}")
        return counters

    def stream_sql(self) -> str:
        """CREATE STREAM with the guessed or given columns."""
        guessed = create_stream_sql(self.guess, self.stream, self.topic)
        if not self.options["schema"]:
            return guessed
        tail = guessed[guessed.index("\n) FROM KAFKA") + 2:]
        return f"CREATE STREAM {name_text(self.stream)} ({self.options['schema']}\n){tail}"

    def query_sql(self, stream: dict) -> str:
        """CREATE QUERY with the given SELECT, else counts by a column that has few values."""
        if self.options["select"]:
            return f"CREATE QUERY {self.name} AS {self.options['select'].rstrip('; ')} FROM {self.start_at}"
        self.count = self.count or self.read_lines(stream)
        key = f"{name_text(self.count.key)}, " if self.count.key else ""
        group = f" GROUP BY {name_text(self.count.key)}" if self.count.key else ""
        return (f"CREATE QUERY {self.name} AS SELECT {key}count(*) FROM {name_text(self.stream)}{group} "
                f"WINDOWING {self.count.window_s} s WATERMARK {self.count.disorder_s} s FROM {self.start_at}")

    def stop(self) -> None:  # noqa: B027
        """Nothing: sending ends with the process."""


class FileSource(OwnSource):
    """A file that is sent line by line to a topic of its own or a given one."""

    start_at = "LATEST"

    def __init__(self, kafka: str, security: Security, path: Path, options: dict) -> None:
        self.file = LineFile(path)
        if not self.file.is_regular:
            raise MarsError(f"{path} is not a regular file", "the demo reads it more than once",
                            "write it to a file first")
        admin, name = KafkaAdmin(kafka, security=security), re.sub(r"[^\w.-]+", "-", path.stem)
        taken = set(admin.topics())  # the file must not end up among other tuples
        numbered = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
        topic = options["topic"] or next(free for free in numbered if free not in taken)
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

    def read_lines(self, stream: dict) -> LineCount:
        """Those of the file; its header is no tuple."""
        return LineCount(self.file.path, self.file.header, stream)

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

    def verdict(self, client: Client) -> Verdict:
        """Each line must be in the results. Among what others send it cannot be told; of a SELECT of the user's own every
        tuple must be accounted for, no more."""
        results = pa.concat_tables(client.pages(self.name, partial="true")) if self.count else None
        return self.judge(self.counters(client), results)

    def judge(self, counters: dict[str, int], results: pa.Table | None) -> Verdict:
        """What the lines say of these results, which are None for a SELECT of the user's own."""
        # Each line of CSV is a tuple; one of JSON may be several.
        sent = self.goal if self.guess.format == "CSV" else self.count.objects() if self.count else None
        ends = self.admin.end_offsets(self.topic, self.begins)
        if others := sum(ends.values()) - sum(self.begins.values()) - self.goal:
            return Verdict(0, counters["tuples"], doubt=f"{others:,} messages in the topic are of others; nothing was "
                           "compared")
        if sent not in (None, counters["tuples"]):
            return Verdict(0, counters["tuples"], difference=f"{sent:,} tuples were sent, {counters['tuples']:,} arrived")
        if results is None:
            return Verdict(0, counters["tuples"])
        assert self.count is not None, "the lines are counted before there are results"
        expected = self.count.groups()
        unread = max(0, counters["tuples"] - (pc.sum(expected["count"]).as_py() or 0))
        return compare(expected, results, sum(counters[kind] for kind in ("bad", "late", "future")), unread)

    def _send(self) -> None:
        try:
            send(self.file.lines(), self.kafka, self.security, self.topic, self.partitions, None, self._progress)
        except MarsError as error:
            self.failure = error

    def _progress(self, lines: int, _size: int) -> None:
        self.sent = lines


class TopicSource(OwnSource):
    """All that the topic of somebody else held when the demo began. Mars alone reads it whole: the first and the last
    messages are looked at for the proposals, and nothing is counted a second time."""

    start_at = "EARLIEST"

    def __init__(self, kafka: str, security: Security, options: dict) -> None:
        admin, topic = KafkaAdmin(kafka, security=security), options["topic"]
        looked_at = {(m.partition, m.offset): m.value for newest in (False, True)
                     for m in admin.peek(topic, GUESSED_FROM, newest, wait_s=PEEK_S) if m.value}
        self.sample = list(looked_at.values())
        guess = guess_schema(self.sample)
        if guess is None:
            raise MarsError(f"Topic {topic} holds no tuple", f"at {kafka}", "send some: mars load FILE --topic " + topic)
        super().__init__(admin, topic, guess, options)
        self.about = f"what the topic holds, {self.guess.format}"

    def prepare(self) -> None:
        """Look how far the topic goes."""
        partitions = self.admin.require(self.topic).partitions
        self.ends = self.admin.end_offsets(self.topic, partitions)
        self.sent = sum(self.ends.values()) - sum(self.admin.start_offsets(self.topic, partitions).values())

    def read_lines(self, stream: dict) -> LineCount:
        """Those of the messages that were looked at."""
        with tempfile.NamedTemporaryFile(suffix=".lines") as file:
            file.write(b"\n".join(self.sample))
            file.flush()
            return LineCount(Path(file.name), False, stream)

    def start(self) -> None:
        """Nothing to send."""

    def done(self) -> bool:
        """Everything is there from the start."""
        return True

    def verdict(self, client: Client) -> Verdict:
        """Every tuple is accounted for, no more."""
        return Verdict(0, self.counters(client)["tuples"])
