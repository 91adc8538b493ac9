"""What a run beside a backfill says: how fresh a live query was in each phase. Pure: moments in ms in, spreads out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.latency_figures import Spread

WARM = "warm-up"  # the phase that is not told
MOMENT_MS = 1_000


@dataclass(frozen=True)
class Phase:
    """What began at a moment, in ms since the epoch, and lasted until the next phase; `share` of the old tuples was
    committed then."""

    name: str
    begin_ms: float
    share: float


@dataclass(frozen=True)
class Fresh:
    """How fresh one query's results were, for the tuples that were made in one phase."""

    phase: str
    query: str
    share: float
    seconds: float
    freshness: Spread

    def text(self) -> str:
        """For people."""
        return f"{self.phase:<34} {self.share:>5.0%} {self.seconds:>7.1f} s  {self.query:<7} {self.freshness.text()}"

    def json(self) -> dict:
        """As it is written to a file."""
        return {**asdict(self), "freshness": self.freshness.json()}


def by_phase(phases: Sequence[Phase], end_ms: float, query: str, made_ms: np.ndarray,
             freshness_ms: np.ndarray) -> list[Fresh]:
    """A line for each phase but WARM in which probes were made, by the moment of their making."""
    found = []
    for phase, until_ms in zip(phases, [*(each.begin_ms for each in phases[1:]), end_ms], strict=True):
        mine = (made_ms >= phase.begin_ms) & (made_ms < until_ms)
        if phase.name != WARM and mine.any():
            found.append(Fresh(phase.name, query, round(phase.share, 3), round((until_ms - phase.begin_ms) / 1000, 1),
                               Spread.of(freshness_ms[mine])))
    return found


def moments(begin_ms: float, made_ms: np.ndarray, freshness_ms: np.ndarray) -> list[tuple[float, float, float]]:
    """(second of making, median and greatest freshness in ms) all along the run; what was never seen is left out."""
    second = ((made_ms - begin_ms) // MOMENT_MS).astype(np.int64)
    known = ~np.isnan(freshness_ms)
    return [(int(each), round(float(np.median(its)), 1), round(float(its.max()), 1))
            for each in np.unique(second[known]) for its in [freshness_ms[known & (second == each)]]]


def share(positions: Mapping[str, int | None], old: Mapping[int, int]) -> float:
    """The share of a topic's old tuples that lies before these positions; `old` is where each partition's end."""
    done = sum(min(positions.get(str(partition)) or 0, end) for partition, end in old.items())
    return done / sum(old.values())


def whole_from(counts: pa.Table, start_ms: int) -> pa.Table:
    """The groups of windows that begin at this moment or later."""
    return counts.filter(pc.greater_equal(counts["timestamp"].cast(pa.int64()), start_ms))


def both(old: pa.Table, live: pa.Table, window_ms: int) -> pa.Table:
    """What the backfill must answer: counts of the old tuples, in windows of so many ms that begin at a second, and those
    of the live ones, in shorter windows that begin at a ms."""
    shared = pc.multiply(pc.divide(live["timestamp"], window_ms), window_ms)
    parts = [old.set_column(old.column_names.index("timestamp"), "timestamp", pc.multiply(old["timestamp"], 1000)),
             live.set_column(live.column_names.index("timestamp"), "timestamp", shared)]
    sums = pa.concat_tables(part.select(["sip", "type", "timestamp", "count"]) for part in parts).group_by(
        ["sip", "type", "timestamp"]).aggregate([("count", "sum")])
    return sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names])
