"""The end offsets of topics: never older than the question, asked for once for all who ask at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from mars.adapters.kafka_admin import KafkaAdmin
from mars.errors import MarsError, NotReadyError

AWAY_S = 5.0


class EndOffsets:
    """Thread-safe. After an error nothing is asked for AWAY_S, so that a dead broker does not stop every reader."""

    def __init__(self, kafka: KafkaAdmin) -> None:
        self.kafka = kafka
        self._known: dict[str, tuple[float, dict[int, int]]] = {}
        self._error: tuple[float, MarsError] | None = None
        self._lock = threading.Lock()

    def read(self, topic: str, partitions: Iterable[int], asked_at: float | None = None) -> dict[int, int]:
        """The last stable offset of each partition, not older than `asked_at` (monotonic; None: this call): who has
        produced and then reads a lag of 0 may rely on it. NotReadyError if Kafka does not answer."""
        wanted = set(partitions)
        asked_at = asked_at or time.monotonic()
        with self._lock:
            # Whoever held the lock meanwhile may have asked after we did.
            began_at, known = self._known.get(topic, (float("-inf"), {}))
            if began_at >= asked_at and wanted <= known.keys():
                return known
            if self._error and time.monotonic() - self._error[0] < AWAY_S:
                raise self._error[1]
            began_at = time.monotonic()
            try:
                known = self.kafka.end_offsets(topic, wanted)
            except NotReadyError as error:
                self._error = time.monotonic(), error
                raise
            self._known[topic] = began_at, known
            return known
