"""The end offsets of topics, asked for at most once a second whoever wants them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from mars.adapters.kafka_admin import KafkaAdmin
from mars.errors import MarsError

FRESH_S = 1.0


class EndOffsets:
    """Thread-safe. An error is remembered as long as an answer, so that a dead broker costs each second one wait."""

    def __init__(self, kafka: KafkaAdmin) -> None:
        self.kafka = kafka
        self._known: dict[str, tuple[float, dict[int, int] | MarsError]] = {}
        self._lock = threading.Lock()

    def read(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The last stable offset of each partition, at most FRESH_S old. NotReadyError if Kafka does not answer."""
        wanted = set(partitions)
        with self._lock:
            read_at, known = self._known.get(topic, (0.0, {}))
            stale = time.monotonic() - read_at > FRESH_S
            if stale or (isinstance(known, dict) and wanted - known.keys()):
                try:
                    known = self.kafka.end_offsets(topic, wanted)
                except MarsError as error:
                    known = error
                self._known[topic] = (time.monotonic(), known)
        if isinstance(known, MarsError):
            raise known
        return known
