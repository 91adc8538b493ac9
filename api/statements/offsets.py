"""The end offsets of topics. An answer is never older than the request, and one request to Kafka serves all callers at
the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from mars.adapters.kafka.errors import TopicRecreated
from mars.adapters.kafka.wire import Wire
from mars.errors import NotReadyError
from mars.model.plan import Stream
from mars.runtime.system import SYSTEM, Clock

ASK_S, RETRY_S, AWAY_S = 2.0, 1.0, 1.0
ALL = ""


class EndOffsets:
    """Thread-safe. If Kafka does not answer, nothing is asked for AWAY_S, so that a dead broker does not stop every
    reader. If only a partition has no leader, nothing is asked about its topic for that time.

    The topic's metadata is requested each time, and failed connections are opened again. A client that caches would take
    a minute to learn of new partitions, or of a broker that has come back. The wire should ask all brokers: a leader that
    was deposed would have the lag be 0.
    """

    def __init__(self, wire: Wire, clock: Clock = SYSTEM.clock) -> None:
        self.wire, self.clock = wire, clock
        self._known: dict[str, tuple[float, dict[int, int], str]] = {}
        self._errors: dict[str, tuple[float, NotReadyError]] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the connections."""
        with self._lock:
            self.wire.close()

    def read(self, stream: Stream, partitions: Iterable[int], asked_at: float | None = None) -> dict[int, int]:
        """The last stable offset of each partition of the stream's topic, not older than `asked_at` (monotonic; None:
        this call): a client that has produced and then reads a lag of 0 may rely on it. NotReadyError if Kafka does not
        answer, UnknownTopic if the topic, or one of these partitions, is not there, TopicRecreated if another topic has
        the name."""
        ends, topic_id = self._read(stream.topic, set(partitions), asked_at)
        if topic_id != stream.topic_id:
            raise TopicRecreated(stream.topic, stream.topic_id, topic_id)
        return ends

    def _read(self, topic: str, wanted: set[int], asked_at: float | None) -> tuple[dict[int, int], str]:
        asked_at = asked_at or self.clock.monotonic_s()
        with self._lock:
            # The previous holder of the lock may have asked Kafka after this call began.
            began_at, known, topic_id = self._known.get(topic, (float("-inf"), {}, ""))
            if began_at >= asked_at and wanted <= known.keys():
                return known, topic_id
            for failed_at, error in (self._errors[key] for key in (ALL, topic) if key in self._errors):
                if self.clock.monotonic_s() - failed_at < AWAY_S:
                    raise error
            began_at = self.clock.monotonic_s()
            try:
                topic_id = self.wire.topic(topic).topic_id
                known = self.wire.end_offsets(topic, sorted(wanted))
            except NotReadyError as error:
                self._errors[self._fails(topic)] = self.clock.monotonic_s(), error
                raise
            self._known[topic] = began_at, known, topic_id
            return known, topic_id

    def _fails(self, topic: str) -> str:
        """What did not answer: this topic, or ALL."""
        try:
            self.wire.connect()
        except NotReadyError:
            return ALL
        return topic
