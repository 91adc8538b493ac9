"""A file of tuples, one per line: guesses its format, gives its lines as messages, and sends them to a topic."""

from __future__ import annotations

import itertools
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from confluent_kafka import KafkaException, Producer

from mars.adapters.kafka.admin import KafkaAdmin
from mars.adapters.kafka.security import Security, librdkafka
from mars.errors import MarsError
from sql.guess.stream import Guess, guess_schema

SAMPLE_LINES = 1_000
PARTITIONS = 4


class LineFile:
    """A text file with a tuple on each line. A header line and blank lines are not tuples.

    A file that is not regular, such as a pipe, gives its lines only once: then `is_regular` is False and `bytes` is None.
    MarsError if the file cannot be read or has no tuple."""

    def __init__(self, path: Path, header: bool | None = None) -> None:
        self.path = path
        head = self._open()
        sample = [line for line in head if line.strip()]
        if any(b"\0" in line for line in sample):
            raise MarsError(f"{path} is not a text file", hint="unpack it if it is packed; Mars takes CSV or JSON lines")
        if sample and sample[0].strip() in (b"[", b"{"):
            raise MarsError(f"{path} has JSON over several lines", "each line must be one JSON object",
                            f"jq -c '.[]?' {path} converts it")
        guess = guess_schema(sample)
        if guess is None:
            raise MarsError(f"{path} has no tuple", "it is empty, or has only blank lines and a header")
        self.guess: Guess = guess
        self.header = guess.header if header is None else header and guess.format == "CSV"

    def lines(self) -> Iterator[bytes]:
        """The tuples, without line ends; MarsError if a pipe's lines were given before."""
        if not self.is_regular and self._source.closed:
            raise MarsError(f"{self.path} is not a regular file", "its lines can be read only once",
                            "write it to a file first")
        with open(self.path, "rb") if self.is_regular else self._source as source:
            rest = (line.rstrip(b"\r\n") for line in itertools.chain(self._head, source))
            rest = (line for line in rest if line.strip())
            yield from itertools.islice(rest, 1 if self.header else 0, None)

    def _open(self) -> list[bytes]:
        """The first lines. A pipe stays open after them: if it were opened again, it would continue without them."""
        try:
            self._source = open(self.path, "rb")  # noqa: SIM115
            head = list(itertools.islice(self._source, SAMPLE_LINES))
            status = os.fstat(self._source.fileno())
        except OSError as error:
            raise MarsError(f"{self.path} cannot be read", error.strerror or str(error)) from None
        self.is_regular = stat.S_ISREG(status.st_mode)
        self.bytes = status.st_size if self.is_regular else None
        self._head = [] if self.is_regular else head
        if self.is_regular:
            self._source.close()
        return head


def ensure_topic(kafka: str, security: Security, topic: str) -> tuple[int, bool]:
    """The topic's number of partitions, and whether it was made here."""
    admin = KafkaAdmin(kafka, security=security)
    found = admin.describe(topic)
    return len((found or admin.create(topic, PARTITIONS)).partitions), found is None


def send(lines: Iterator[bytes], kafka: str, security: Security, topic: str, partitions: int, rate: int | None,
         progress: Callable[[int, int], None]) -> int:
    """Send each line as one message, in turn over the partitions, each exactly once; return how many were acknowledged.
    `progress` gets lines and bytes. MarsError if the broker refuses one."""
    failed: list[str] = []

    def heard(error: object, _message: object) -> None:
        if error is not None:
            failed.append(str(error))

    producer = Producer({"bootstrap.servers": kafka, "enable.idempotence": True, "linger.ms": 20, "log_level": 0,
                         "queue.buffering.max.messages": 200_000, "message.timeout.ms": 60_000, **librdkafka(security)})
    began, count, size = time.monotonic(), 0, 0
    for line in lines:
        _produce(producer, topic, line, count % partitions, heard)
        count, size = count + 1, size + len(line) + 1
        if count % 1_000 == 0:
            producer.poll(0)
            progress(count, size)
        if failed:
            break
        if rate and (ahead := began + count / rate - time.monotonic()) > 0.005:
            producer.poll(0)
            time.sleep(ahead)
    producer.flush(60)
    if failed or len(producer):
        reason = failed[0] if failed else "no answer in 60 s"
        raise MarsError(f"Kafka did not take all lines into {topic}", f"at {kafka}: {reason}")
    progress(count, size)
    return count


def _produce(producer: Producer, topic: str, line: bytes, partition: int, heard: Callable) -> None:
    while True:
        try:
            return producer.produce(topic, line, partition=partition, on_delivery=heard)
        except BufferError:  # the broker is slower than the file
            producer.poll(0.1)
        except KafkaException as error:
            raise MarsError(f"Kafka does not take a line into {topic}", str(error)) from None
