"""A load and what it gave: from what was sent and what was seen to latencies. Pure: arrays of times in ms in, of ms out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from benchmarks.generator import UNIFORM
from benchmarks.latency_limit import Try


@dataclass(frozen=True)
class Spread:
    """Latencies in ms, summed up. `missing` are samples that were never seen: they must be none."""

    samples: int
    missing: int
    mean: float
    p50: float
    p95: float
    p99: float
    max: float

    @staticmethod
    def of(latency_ms: np.ndarray) -> Spread:
        """Of samples in ms, NaN for those that were never seen."""
        known = latency_ms[~np.isnan(latency_ms)]
        if not len(known):
            return Spread(0, len(latency_ms), *[float("nan")] * 5)
        low, mid, high = np.percentile(known, (50, 95, 99))
        return Spread(len(known), len(latency_ms) - len(known), *(
            round(float(value), 1) for value in (known.mean(), low, mid, high, known.max())))

    def text(self) -> str:
        """For people."""
        lost = f", {self.missing} NEVER SEEN" if self.missing else ""
        return (f"p50 {self.p50:6.0f}  p95 {self.p95:6.0f}  p99 {self.p99:6.0f}  mean {self.mean:6.0f}  "
                f"max {self.max:6.0f}   ({self.samples:,} samples{lost})")

    def json(self) -> dict:
        """As it is written to a file."""
        return asdict(self)


@dataclass(frozen=True)
class Load:
    """One measurement: tuples per second, for so many seconds, in windows of `window_ms`."""

    name: str
    rate: float
    seconds: float
    window_ms: int = 1_000
    watermark_ms: int = 1_000
    linger_ms: float = 5.0
    patience: float = 3.0
    keys: str = UNIFORM


@dataclass(frozen=True)
class Found:
    """What one load gave; spreads in ms, CPU in cores, of the machine's cores that are all in use by Mars, Kafka, producer
    and readers together; `trend` is what freshness says of whether the load was held."""

    load: Load
    sent: int
    freshness: Spread
    window_closed: Spread
    tuple_closed: Spread
    producer: Spread
    trend: Try
    cores: dict[str, float]
    exact: bool
    difference: str

    def json(self) -> dict:
        """As it is written to a file."""
        spreads = {name: getattr(self, name).json() for name in ("freshness", "window_closed", "tuple_closed", "producer")}
        return {**vars(self.load), "sent": self.sent, **spreads, "held": self.trend.is_held, "cores": self.cores,
                "exact": self.exact, "difference": self.difference}


def freshness(made_ms: np.ndarray, partition: np.ndarray, window_ms: int, readings: list[dict]) -> np.ndarray:
    """For each probe, ms from its making to the end of the first reading that counts it; NaN if none does.

    Probes of one partition and window are counted in the order of sending, so the n-th is seen once n are.
    """
    window = made_ms.astype(np.int64) // window_ms * window_ms
    found = np.full(len(made_ms), np.nan)
    seen: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for reading in readings:
        for start, sip, count in reading["seen"]:
            seen.setdefault((start, int(sip[1:])), []).append((reading["ms"], count))
    for (start, part), answers in seen.items():
        mine = np.flatnonzero((window == start) & (partition == part))
        when, counts = (np.array(column) for column in zip(*sorted(answers), strict=True))
        place = np.searchsorted(np.maximum.accumulate(counts), np.arange(1, len(mine) + 1))
        known = place < len(when)
        found[mine[known]] = when[place[known]] - made_ms[mine[known]]
    return found


def readable(events: list[dict], sent: Mapping[int, int]) -> dict[int, float]:
    """By window start: when the last of its tuples was in a row that came. Windows that are not whole are left out."""
    got: dict[int, int] = {}
    whole: dict[int, float] = {}
    for event in events:
        for text, tuples in event["windows"].items():
            start = int(text)
            got[start] = got.get(start, 0) + tuples
            if got[start] == sent.get(start):
                whole[start] = event["ms"]
    return whole
