"""What deliveries work with, and how one comes to a stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mars.adapters.sink_catalog import SinkStore
from mars.model.sinks import Sink, SinkStatus
from mars.publisher.target import Way
from mars.results.source import ResultSource


class Stopped(Exception):
    """The sink comes to a stop, in this state and for this reason, until somebody does something."""

    def __init__(self, state: str, reason: str) -> None:
        super().__init__(reason)
        self.state, self.reason = state, reason


@dataclass(frozen=True)
class Desk:
    """What deliveries work with. `tell` writes what is said of a sink; FencedError if the epoch is not the owner's any more,
    NotReadyError if ZooKeeper does not answer."""

    store: SinkStore
    source: ResultSource
    way: Way
    publisher: str
    tell: Callable[[Sink, int, SinkStatus], None]
