"""By what aggregations group tuples: keys and panes. Which groups are made of which others, and which keys together make
groups that others are worth to be made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mars.algebra import windows
from mars.algebra.common.tuples import Tuples
from mars.algebra.evaluation.arrays import taken
from mars.algebra.grouping import group
from mars.algebra.windows import Windows
from mars.algebra.windows.kind import Times, stepped_panes
from mars.model.expressions import Expression
from mars.model.plan import Aggregation, Stream, Window

SAMPLE = 4_096  # tuples that are looked at to guess how many groups there are
FEWEST = 4 * SAMPLE  # tuples for which a guess is worth its price
SMALL_SHARE = 0.25  # of the tuples: groups that are no more are made for others alone
COMPARED_MAX = 64  # kinds of groups, each with each
TRIES_MAX = 8  # sets of keys that are tried for one batch and filter


@dataclass(frozen=True)
class Wanted:
    """Groups by these keys and the panes of a kind: `step` and `offset` say which panes, or `window` if the kind has others
    or joins tuples of a group in its own way."""

    keys: tuple[Expression, ...]
    step: int | None = None
    offset: int = 0
    window: Window | None = None
    kind: Windows | None = field(default=None, compare=False)

    @staticmethod
    def of(aggregation: Aggregation, stream: Stream) -> Wanted:
        """What an aggregation wants."""
        kind = windows.of(aggregation, stream)
        keys = tuple(key.expression for key in aggregation.keys)
        if kind.step is not None and type(kind).gather is Windows.gather:
            return Wanted(keys, kind.step, kind.offset % kind.step)
        return Wanted(keys, None, 0, aggregation.window, kind)

    def panes(self, times: Times) -> Times:
        """The pane of each event time."""
        if self.step is not None:
            return stepped_panes(times, self.step, self.offset)
        assert self.kind is not None, self
        return self.kind.panes(times)

    @property
    def is_plain(self) -> bool:
        """Are those tuples together that agree in keys and pane, and no others?"""
        return self.kind is None or type(self.kind).gather is Windows.gather

    def refines(self, other: Wanted) -> bool:
        """Is each of the other's groups made of whole groups of this one?"""
        return self.is_plain and other.is_plain and other._key_set <= self._key_set and (
            self._has_panes_of(other) or (self.step is not None and other.step is not None and self._divides(other)))

    @cached_property
    def _key_set(self) -> frozenset[Expression]:
        return frozenset(self.keys)

    def _has_panes_of(self, other: Wanted) -> bool:
        return (self.step, self.offset, self.window) == (other.step, other.offset, other.window)

    def _divides(self, other: Wanted) -> bool:
        assert self.step is not None, self
        assert other.step is not None, other
        return other.step % self.step == 0 and (other.offset - self.offset) % self.step == 0


def both(one: Wanted, other: Wanted) -> Wanted | None:
    """The coarsest groups of which those of both are made; None if there are none."""
    keys = tuple(dict.fromkeys((*one.keys, *other.keys)))
    if one.step is None or other.step is None:
        return Wanted(keys, one.step, one.offset, one.window, one.kind) if one._has_panes_of(other) else None
    step = math.gcd(one.step, other.step, one.offset - other.offset)
    return Wanted(keys, step, one.offset % step)


def finest(wanted: Sequence[Wanted]) -> list[Wanted]:
    """Those that are not made of any other."""
    some = [one for one in dict.fromkeys(wanted) if one.is_plain][:COMPARED_MAX]
    return [one for one in some if not any(other.refines(one) for other in some if other != one)]


def phantoms(tops: Sequence[Wanted], tuples: Tuples) -> list[Wanted]:
    """Groups that no aggregation wants, and that are worth to be made: several of `tops`, the finest ones, are made of them,
    and they are few beside the tuples. (Zhang, Koudas, Ooi, Srivastava, "Multiple aggregations over data streams",
    SIGMOD 2005.)"""
    if len(tuples) < FEWEST:
        return []
    found, tries = list[Wanted](), 0
    while len(tops) > 1 and tries < TRIES_MAX:
        first, *others = tops
        union, tops = first, []
        for other in others:
            joined = both(union, other) if tries < TRIES_MAX else None
            tries += joined is not None
            if joined is not None and guessed(joined, tuples) <= SMALL_SHARE * len(tuples):
                union = joined
            else:
                tops.append(other)
        if union != first:
            found.append(union)
    return found


def guessed(wanted: Wanted, tuples: Tuples) -> float:
    """About how many groups there are, by a sample, as if all were equally large."""
    rows = np.linspace(0, len(tuples) - 1, SAMPLE).astype(np.int64)
    keys = [taken(tuples.key(key), rows) for key in wanted.keys]
    panes = wanted.panes(tuples.time[rows])
    if tuples.slots is not None:
        panes = group([], panes).ids * np.int64(tuples.slots.count) + tuples.slots.numbers[rows]
    seen = group(keys, panes).count
    low, high = 0.0, 64.0 * SAMPLE  # groups: of `low` fewer would be seen than were, of `high` more
    while high - low > 1:
        middle = (low + high) / 2
        low, high = (middle, high) if middle * -math.expm1(-SAMPLE / middle) < seen else (low, middle)
    return high * -math.expm1(-len(tuples) / high)
