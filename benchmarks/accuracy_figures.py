"""From what was produced and what was committed, second by second, to what three cuts cost; pure.

`reduced_s` is for how long, from a cut until the next one, less was committed than SHARE of the rate at which tuples are
made, which is what was committed before; each moment's rate is that of the SPAN_S before it. `behind_s` is how old the
oldest tuple was that was not committed, at most. `caught_up_s` runs from a cut until nothing older waits than before it,
and a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SHARE, SPAN_S, STEP_S, BEFORE_S, SPARE_S = 0.9, 3.0, 0.25, 10.0, 1.0


@dataclass(frozen=True)
class Cut:
    """One node that was away: which, from when until when, in seconds since the first tuple."""

    node: str
    from_s: float
    to_s: float


@dataclass(frozen=True)
class CutFigures:
    """What one cut cost."""

    node: str
    from_s: float
    to_s: float
    reduced_s: float
    behind_s: float
    caught_up_s: float


@dataclass(frozen=True)
class Curve:
    """Tuples in all, at moments that ascend, in seconds since the first tuple."""

    at_s: np.ndarray
    tuples: np.ndarray

    @classmethod
    def of(cls, samples: Sequence[tuple[float, int]]) -> Curve:
        """From (moment, tuples). What was counted once is not taken back: the greatest so far counts."""
        at, tuples = np.array(samples, float).reshape(-1, 2).T
        return cls(at, np.maximum.accumulate(tuples))

    def at(self, moments: np.ndarray) -> np.ndarray:
        """Tuples at these moments."""
        return np.interp(moments, self.at_s, self.tuples)

    def when(self, tuples: np.ndarray) -> np.ndarray:
        """The first moments at which there were so many."""
        values, first = np.unique(self.tuples, return_index=True)
        return np.interp(tuples, values, self.at_s[first])


def figures(produced: Curve, committed: Curve, cuts: Sequence[Cut]) -> list[CutFigures]:
    """What each cut cost, until the next one or the end."""
    rate = produced.tuples[-1] / produced.at_s[-1]
    ends = [*(cut.from_s for cut in cuts[1:]), float(committed.at_s[-1])]
    return [_figures(produced, committed, cut, end, rate) for cut, end in zip(cuts, ends, strict=True)]


def _figures(produced: Curve, committed: Curve, cut: Cut, end_s: float, rate: float) -> CutFigures:
    # What is committed after the last tuple was made says nothing about the rate.
    fed = np.arange(cut.from_s, min(end_s, produced.at_s[-1]), STEP_S)
    reduced = int(np.sum(_rate(committed, fed, SPAN_S) < SHARE * rate)) * STEP_S
    moments = np.arange(cut.from_s, end_s, STEP_S)
    before = np.arange(max(0.0, cut.from_s - BEFORE_S), cut.from_s, STEP_S)
    behind = _behind(produced, committed, moments)
    late = np.flatnonzero(behind > _behind(produced, committed, before).max() + SPARE_S)
    caught_up = float(late[-1] + 1) * STEP_S if len(late) else 0.0
    return CutFigures(cut.node, cut.from_s, cut.to_s, round(reduced, 2), round(float(behind.max()), 2), round(caught_up, 2))


def _rate(curve: Curve, moments: np.ndarray, span_s: float) -> np.ndarray:
    """Tuples per second over the `span_s` before each moment."""
    return (curve.at(moments) - curve.at(moments - span_s)) / span_s


def _behind(produced: Curve, committed: Curve, moments: np.ndarray) -> np.ndarray:
    """The age of the oldest tuple that is not committed."""
    return moments - np.minimum(moments, produced.when(committed.at(moments)))
