"""The end offsets of topics, asked for at most once a second whoever wants them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from mars.adapters.kafka_admin import KafkaAdmin
from mars.errors import MarsError, NotReadyError

FRESH_S, AWAY_S = 1.0, 5.0


class EndOffsets:
    """Thread-safe. After an error nothing is asked for AWAY_S, so that a dead broker does not stop every reader."""

    def __init__(self, kafka: KafkaAdmin) -> None:
        self.kafka = kafka
        self._known: dict[str, tuple[float, dict[int, int]]] = {}
        self._error: tuple[float, MarsError] | None = None
        self._lock = threading.Lock()

    def read(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The last stable offset of each partition, at most FRESH_S old. NotReadyError if Kafka does not answer."""
        wanted = set(partitions)
        with self._lock:
            read_at, known = self._known.get(topic, (float("-inf"), {}))
            if time.monotonic() - read_at < FRESH_S and wanted <= known.keys():
                return known
            if self._error and time.monotonic() - self._error[0] < AWAY_S:
                raise self._error[1]
            try:
                known = self.kafka.end_offsets(topic, wanted)
            except NotReadyError as error:
                self._error = time.monotonic(), error
                raise
            self._known[topic] = time.monotonic(), known
            return known
