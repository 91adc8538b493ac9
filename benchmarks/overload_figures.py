"""Samples of a run under load, and what they say: does memory grow, how far behind was it, when was all read; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SETTLE_SHARE = 0.2


@dataclass(frozen=True)
class Sample:
    """One moment, in seconds since the first tuple: tuples sent and committed, resident MB of each part."""

    at_s: float
    sent: int
    committed: int
    memory_mb: dict[str, float]


@dataclass(frozen=True)
class Growth:
    """A part's memory while the load lasted, its first SETTLE_SHARE left out: the slope of the line through all samples."""

    part: str
    first_mb: float
    last_mb: float
    greatest_mb: float
    mb_a_minute: float


def growths(samples: Sequence[Sample], until_s: float) -> list[Growth]:
    """The growth of each part up to a moment; none if there are fewer than two samples in that time."""
    loaded = [sample for sample in samples if SETTLE_SHARE * until_s <= sample.at_s <= until_s]
    if len(loaded) < 2:
        return []
    minutes = np.array([sample.at_s for sample in loaded]) / 60
    return [_growth(part, minutes, np.array([sample.memory_mb[part] for sample in loaded]))
            for part in loaded[0].memory_mb]


def _growth(part: str, minutes: np.ndarray, memory: np.ndarray) -> Growth:
    slope = np.polyfit(minutes, memory, 1)[0]
    return Growth(part, float(memory[0]), float(memory[-1]), float(memory.max()), round(float(slope), 2))


def behind_most(samples: Sequence[Sample]) -> int:
    """The most tuples that waited in Kafka."""
    return max(sample.sent - sample.committed for sample in samples)
