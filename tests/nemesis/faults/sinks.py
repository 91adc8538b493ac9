"""What strikes sinks: publishers that die or sleep, a target that takes nothing, users who pause (N24)."""

from __future__ import annotations

import contextlib
import signal

from mars.errors import MarsError
from tests.nemesis.faults import Fault
from tests.nemesis.faults.processes import MapperKilled as _Killed

MANY = 1_000_000


class PublisherKilled(_Killed):
    number, kind = "N24", "publisher"


class PublisherStopped(_Killed):
    """Longer than its session, most of the time: a zombie wakes up."""

    number, kind = "N24", "publisher"
    hold_s = (3.0, 9.0)
    signals = signal.SIGSTOP


class TargetAway(Fault):
    """The webhook's receiver answers that it is busy."""

    number = "N24"
    hold_s = (1.0, 6.0)

    def inflict(self) -> None:
        self.stream.sinks.receiver.answers = [503] * MANY

    def took_effect(self) -> bool:
        return len(self.stream.sinks.receiver.answers) < MANY

    def heal(self) -> None:
        self.stream.sinks.receiver.answers = []


class SinkPaused(Fault):
    number, heals_by_api = "N24", True
    hold_s = (0.5, 3.0)

    def inflict(self) -> None:
        self.sink = self.rng.choice(sorted(self.stream.sinks.delivered))
        self.has_struck = False
        with contextlib.suppress(MarsError):
            self.instance.api.sql(f"PAUSE SINK {self.sink}")
            self.has_struck = True

    def heal(self) -> None:
        if hasattr(self, "sink"):
            self.stream.resume_sink(self.sink)
