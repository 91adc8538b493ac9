"""The kinds of windows, one file each. Who wants to know anything of a query's windows asks `of`, and nobody computes a
window's start or end by himself."""

from __future__ import annotations

from mars.algebra.windows.emitted import Emitted
from mars.algebra.windows.hopping import Hopping
from mars.algebra.windows.joined import Joined
from mars.algebra.windows.kind import NEVER, Gathered, Windows
from mars.algebra.windows.landmark import LandmarkEach, LandmarkFrom
from mars.algebra.windows.ranged import Ranged
from mars.algebra.windows.session import Session
from mars.algebra.windows.sliding import Sliding
from mars.algebra.windows.stepped import Stepped
from mars.algebra.windows.tumbling import Tumbling
from mars.algebra.windows.whole import Whole
from mars.algebra.windows.zoned import Days, LandmarkDays
from mars.model.plan import Aggregation, Stream

__all__ = ["KINDS", "NEVER", "Emitted", "Gathered", "Joined", "Ranged", "Stepped", "Windows", "of"]

KINDS: dict[str | None, type[Windows]] = {
    None: Whole, "tumbling": Tumbling, "hopping": Hopping, "landmark each": LandmarkEach, "landmark from": LandmarkFrom,
    "session": Session, "sliding": Sliding, "days": Days, "landmark days": LandmarkDays, "emitted": Emitted}


def of(aggregation: Aggregation, stream: Stream) -> Windows:
    """The windows of an aggregation over its stream."""
    window = aggregation.window
    return KINDS[window.kind if window else None](window, stream, aggregation.grace_ms)
