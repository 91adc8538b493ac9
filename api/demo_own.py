"""The user's own file or topic as the source of the demo: guessed, shown, sent, and counted by another
engine."""

from __future__ import annotations

import itertools
import re
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from api.demo_count import Shape, TextCount
from api.lines import LineFile, ensure_topic, send
from mars.adapters.kafka_admin import KafkaAdmin
from mars.adapters.kafka_security import Security
from mars.errors import MarsError
from sql.guess import Guess, create_stream_sql, guess_schema, name_text

NAME = "demo"
TOPIC_CHECKED_MAX = 2_000_000
GUESSED_FROM = 200


class OwnSource:
    """What file and topic have in common: the declaration, the query, the independent count.

    `options` has schema, time_column, unit and select, each None unless given."""

    name = NAME
    sent = goal = 0

    def __init__(self, topic: str, guess: Guess, options: dict) -> None:
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
        self.count = TextCount(self.lines_path(), self.has_header(), Shape.of(document))
        key = f"{name_text(self.count.key)}, " if self.count.key else ""
        group = f" GROUP BY {name_text(self.count.key)}" if self.count.key else ""
        return (f"CREATE QUERY {self.name} AS SELECT {key}count(*) FROM {name_text(self.stream)}{group} "
                f"WINDOWING {self.count.window_s} s WATERMARK {self.count.disorder_s} s FROM {self.start_at}")

    def expected(self) -> pa.Table | None:
        """The count by the other engine; None for a SELECT of the user's own."""
        return self.count.table() if self.count else None


class FileSource(OwnSource):
    """A file that is sent line by line to a topic of its own or a given one."""

    start_at = "LATEST"

    def __init__(self, kafka: str, security: Security, path: Path, options: dict) -> None:
        self.file = LineFile(path)
        if not self.file.is_regular:
            raise MarsError(f"{path} is not a regular file", "the demo reads it more than once",
                            "write it to a file first")
        name = re.sub(r"[^\w.-]+", "-", path.stem)
        topic = options["topic"] or free_topic(kafka, security, name)
        if options["select"] and topic not in (options["topic"], name):
            raise MarsError(f"Topic {name} exists", "its tuples would be counted too", "give another name with --topic, "
                            "and name the stream so in --sql")
        super().__init__(topic, self.file.guess, options)
        self.kafka, self.security = kafka, security
        self.failure: MarsError | None = None
        header = ", line 1 names the columns" if self.file.header else ""
        self.about = f"the lines of {path}, {self.guess.format}{header}"
        self.thread = threading.Thread(target=self._send, name="send", daemon=True)

    def prepare(self) -> None:
        """Make the topic if it is absent."""
        self.partitions, _ = ensure_topic(self.kafka, self.security, self.topic)
        self.goal = sum(1 for _ in self.file.lines())

    def lines_path(self) -> Path:
        """Where the lines are read by the independent count."""
        return self.file.path

    def has_header(self) -> bool:
        """Whether line 1 of that file is no tuple."""
        return self.file.header

    def start(self) -> None:
        """Start to send."""
        self.thread.start()

    def done(self) -> bool:
        """Whether all was sent; raises what stopped the sending."""
        if self.failure:
            raise self.failure
        return not self.thread.is_alive()

    def stop(self) -> None:
        """Sending ends with the process."""

    def _send(self) -> None:
        try:
            send(self.file.lines(), self.kafka, self.security, self.topic, self.partitions, None, self._progress)
        except MarsError as error:
            self.failure = error

    def _progress(self, lines: int, _size: int) -> None:
        self.sent = lines


def free_topic(kafka: str, security: Security, name: str) -> str:
    """The name, or the first of name-2, name-3, ... that is no topic yet: the file must not end up among other tuples."""
    admin = KafkaAdmin(kafka, security=security)
    taken = set(admin.topics())
    admin.close()
    return next(n for n in itertools.chain([name], (f"{name}-{i}" for i in itertools.count(2))) if n not in taken)


class TopicSource(OwnSource):
    """A topic that somebody else fills: all that it holds. Its messages are read once more by another client,
    into a file, for the independent count."""

    start_at = "EARLIEST"

    def __init__(self, kafka: str, security: Security, folder: Path, options: dict) -> None:
        self.admin = KafkaAdmin(kafka, security=security)
        topic = options["topic"]
        messages = self.admin.peek(topic, GUESSED_FROM)
        guess = guess_schema(message.value for message in messages if message.value)
        if guess is None:
            raise MarsError(f"Topic {topic} holds no tuple", f"at {kafka}", "send some: mars load FILE --topic " + topic)
        super().__init__(topic, guess, options)
        self.about = f"what the topic holds, {self.guess.format}"
        self.dump = folder / "demo-topic.lines"

    def prepare(self) -> None:
        """Read all messages for the count."""
        partitions = self.admin.require(self.topic).partitions
        starts = self.admin.start_offsets(self.topic, partitions)
        self.ends = self.admin.end_offsets(self.topic, partitions)
        held = sum(self.ends.values()) - sum(starts.values())
        if held > TOPIC_CHECKED_MAX and not self.options["select"]:
            raise MarsError(f"Topic {self.topic} holds {held:,} messages", f"the demo checks up to {TOPIC_CHECKED_MAX:,}",
                            "give the query with --sql; then every tuple is accounted for, but not counted again")
        messages = [] if self.options["select"] else self.admin.peek(self.topic, held)
        with open(self.dump, "wb") as out:
            out.writelines(message.value.rstrip(b"\n") + b"\n" for message in messages if message.value)
        self.sent = held

    def lines_path(self) -> Path:
        """The messages as lines."""
        return self.dump

    def has_header(self) -> bool:
        """A header in a topic is a bad tuple, for both counts."""
        return False

    def start(self) -> None:
        """Nothing to send."""

    def done(self) -> bool:
        """Everything is there from the start."""
        return True

    def stop(self) -> None:
        """Delete the copy of the messages."""
        self.admin.close()


def own_source(kafka: str, security: Security, folder: Path, options: dict) -> OwnSource:
    """The source that the options name."""
    if options["file"]:
        return FileSource(kafka, security, options["file"], options)
    return TopicSource(kafka, security, folder, options)

