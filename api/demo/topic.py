"""A topic that somebody else fills as the source of the demo, also while it is filled."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from api.demo.check import Bounds, Counted, Verdict, judge
from api.demo.count import Shape, TextCount
from api.demo.own import OwnSource
from api.demo.view import PLAIN_EVERY_S, say
from mars.adapters.kafka import ranges
from mars.adapters.kafka.admin import KafkaAdmin
from mars.adapters.kafka.security import Security
from mars.errors import MarsError
from sql.guess.stream import guess_schema

CHECKED_MAX = 2_000_000
GUESSED_FROM = 200
PEEK_S = 30.0
BLANK = b" \t"
Offsets = dict[int, int]


class TopicSource(OwnSource):
    """All that the topic holds. Its messages are read once more by another client, into a file for each partition, for the
    independent count: up to the offsets at which the results must have them, then what came while the results were read."""

    start_at = "EARLIEST"

    def __init__(self, kafka: str, security: Security, folder: Path, options: dict) -> None:
        admin = KafkaAdmin(kafka, security=security)
        topic = options["topic"]
        messages = admin.peek(topic, GUESSED_FROM, wait_s=PEEK_S)
        guess = guess_schema(message.value for message in messages if message.value)
        if guess is None:
            raise MarsError(f"Topic {topic} holds no tuple", f"at {kafka}", "send some: mars load FILE --topic " + topic)
        super().__init__(admin, topic, guess, options)
        self.about = f"what the topic holds, {self.guess.format}"
        self.folder = folder
        self.copies: Path | None = None
        self.is_caught_up = False

    def prepare(self) -> None:
        """Copy all messages for the count."""
        self.starts = self.admin.start_offsets(self.topic, self._partitions())
        self.ends = self._ends()
        self.sent = held = sum(self.ends.values()) - sum(self.starts.values())
        if self.has_own_select:
            return
        if held > CHECKED_MAX:
            raise MarsError(f"Topic {self.topic} holds {held:,} messages", f"the demo checks up to {CHECKED_MAX:,}",
                            "give the query with --sql; then every tuple is accounted for, but not counted independently")
        self.copies = Path(tempfile.mkdtemp(prefix="demo-topic-", dir=self.folder))
        self.copied = self.ends
        self.files, self.lines = self._copy(self.starts, self.ends)

    def read_lines(self, shape: Shape) -> TextCount:
        """Those of the messages. A header in a topic is a bad tuple, for both counts."""
        return TextCount(self.files, False, shape)

    def start(self) -> None:
        """Nothing to send."""

    def done(self) -> bool:
        """Everything is there from the start."""
        return True

    def left(self, document: dict) -> int:
        """Up to where the topic ended when the query had first read all: what came since the start could not be compared."""
        if not self.is_caught_up and not super().left(document):
            self.is_caught_up, self.ends = True, self._ends()
            self.sent = sum(self.ends.values()) - sum(self.starts.values())
        return super().left(document)

    def judge(self, results: pa.Table, counters: dict[str, int]) -> Verdict:
        """All up to `ends` must be in the results, and of what came while they were read any part may."""
        ends, is_cut = self._ends(), self._is_cut()
        grown = sum(ends.values()) - sum(self.copied.values())
        if grown > CHECKED_MAX:
            return Verdict(len(results), counters["tuples"], 0, doubt=f"{grown:,} messages came meanwhile, more than the "
                           f"{CHECKED_MAX:,} that the demo reads again; nothing was compared")
        sent = self.count.counted(self.lines) + self._further(self.copied, self.ends)
        return judge(sent, self._further(self.ends, ends), results, counters, is_cut, others=False)

    def account(self, tuples: int) -> str:
        """How many tuples the messages hold is not known."""
        return ""

    def stop(self) -> None:
        """Delete the copies of the messages."""
        if self.copies:
            shutil.rmtree(self.copies, ignore_errors=True)
        self.admin.close()

    def _further(self, starts: Offsets, ends: Offsets) -> Counted:
        return self.count.further(*self._copy({p: starts.get(p, 0) for p in ends}, ends))

    def _copy(self, starts: Offsets, ends: Offsets) -> tuple[list[Path], Bounds]:
        """The lines of these messages, a file for each partition, and how many there are."""
        files = {p: self.copies / f"{p}.lines" for p in ends}
        total, low, high, told, seen = sum(ends[p] - starts[p] for p in ends), 0, 0, time.monotonic(), 0
        with ExitStack() as stack:
            outputs = {p: stack.enter_context(file.open("wb")) for p, file in files.items()}
            for message in ranges.read(self.admin, self.topic, {p: (starts[p], ends[p]) for p in ends}):
                seen += 1
                if seen % 1_000 == 0 and time.monotonic() - told > PLAIN_EVERY_S:
                    told = time.monotonic()
                    say(f"  read {seen:,} of up to {total:,} messages for the count")
                value = message.value or b""
                lines = lines_of(value, self.guess.format)
                outputs[message.partition].writelines(line + b"\n" for line in lines)
                full = sum(bool(line.strip(BLANK)) for line in lines)
                # Within quotes a newline ends no tuple.
                low, high = low + (min(full, 1) if b'"' in value else full), high + len(lines)
        return list(files.values()), Bounds(low, high)

    def _partitions(self) -> tuple[int, ...]:
        return self.admin.require(self.topic).partitions

    def _ends(self) -> Offsets:
        return self.admin.end_offsets(self.topic, self._partitions())

    def _is_cut(self) -> bool:
        """Whether Kafka has deleted messages since they were counted."""
        now = self.admin.start_offsets(self.topic, self.starts)
        return any(now[p] > start for p, start in self.starts.items())


def lines_of(value: bytes, format_: str) -> list[bytes]:
    """The lines of a message, but empty ones. A JSON document over several lines is put on one: outside of its texts, which
    have none, a newline is a blank."""
    if format_ == "JSON" and b"\n" in value:
        with contextlib.suppress(ValueError):
            json.loads(value)
            return [value.replace(b"\n", b" ").replace(b"\r", b" ")]
    return [line for line in (line.removesuffix(b"\r") for line in value.split(b"\n")) if line]
