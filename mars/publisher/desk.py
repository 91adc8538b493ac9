"""What deliveries work with, and how one comes to a stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mars.adapters.sink_catalog import SinkStore
from mars.model.sinks import BEHIND_RETENTION, Sink, SinkStatus
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


def behind(detail: str) -> Stopped:
    """The stop of a sink whose next rows are no longer kept."""
    return Stopped(BEHIND_RETENTION, f"rows that were not delivered yet are no longer kept: {detail}. RESUME SINK leaves "
                   "them out, and goes on with the oldest rows that are kept")


def lacks_first_rows(sink: Sink, gone_us: int) -> bool:
    """Are rows up to `gone_us` missing that the sink would have begun with when it was made? A sink that has delivered
    nothing yet begins with the oldest rows that are kept, but only if none of its own are gone."""
    known = (sink.gone_us, sink.first_us)
    return all(bound is None or gone_us > bound for bound in known)
