"""Record batches of the paced producer: ready but for the times of their tuples, each with a probe for every tick."""

from __future__ import annotations

import numpy as np

from benchmarks.generator import LINE_BYTES, Pool
from benchmarks.record_batches import Template

PROBE = "probe"
DIGITS = 13
VARIANTS = 8
JOINED_BYTES_MAX = 1_000_000  # what a broker takes as it comes
CHANGING = 6  # digits that are written anew for each tick


class Sheets:
    """Record batches of as many tuples each, made but for their times."""

    def __init__(self, rows: list[np.ndarray]) -> None:
        self.templates = [Template(each) for each in rows]
        self.head = -1

    def stamped(self, number: int, times_ms: np.ndarray) -> bytes:
        """The record batch of that number whose tuples are made at these times."""
        times = times_ms.astype(np.int64)
        template, head = self.templates[number], int(times[0]) // 10 ** CHANGING
        if head != self.head or int(times[-1]) // 10 ** CHANGING != head:
            self.head = head
            for each in self.templates:
                each.write(0, digits(times // 10 ** CHANGING, DIGITS - CHANGING))
        template.write(DIGITS - CHANGING, digits(times, CHANGING))
        return template.sealed(int(times[-1]))


class Batches:
    """Ready record batches of one partition, of `count` tuples that are `span_ms` apart from first to next batch. `joined`
    ticks, as many as JOINED_BYTES_MAX allows, lie ready as one batch too."""

    def __init__(self, pool: Pool, partition: int, count: int, span_ms: float, seed: int) -> None:
        draw = np.random.default_rng((seed, partition))
        self.after_ms = (np.arange(count) + 0.5) * (span_ms / count)
        self.chosen = draw.integers(0, len(pool.tails), (VARIANTS, count))
        self.probes = draw.integers(0, count, VARIANTS)
        probe = pool.tail(f"p{partition}", PROBE, draw.integers(0, 2, 16).tolist(), LINE_BYTES - DIGITS)
        rows = [self._rows(pool, chosen, at, probe) for chosen, at in zip(self.chosen, self.probes, strict=True)]
        self.joined = max(n for n in (1, 2, 4, VARIANTS) if n == 1 or n * len(Template(rows[0]).buffer) <= JOINED_BYTES_MAX)
        self.single = Sheets(rows)
        self.several = Sheets([np.concatenate(rows[first:first + self.joined])
                               for first in range(0, VARIANTS, self.joined)])
        self.groups = [np.bincount(np.delete(pool.group[chosen], at), minlength=pool.groups)
                       for chosen, at in zip(self.chosen, self.probes, strict=True)]

    def _rows(self, pool: Pool, chosen: np.ndarray, at: int, probe: bytes) -> np.ndarray:
        rows = np.empty((len(chosen), LINE_BYTES), np.uint8)
        rows[:, DIGITS:] = pool.tails[chosen, :LINE_BYTES - DIGITS]
        rows[at, DIGITS:] = np.frombuffer(probe, np.uint8)
        return rows

    def stamped(self, ticks: range, *begin_ms: float) -> bytes:
        """The record batch of one tick, or of `joined` ticks the first of which is a multiple of that; `begin_ms` of each.
        A tuple's time is its tick's begin plus `after_ms` and no other sum, which could round it into another window."""
        variant = ticks[0] % VARIANTS
        times_ms = np.add.outer(begin_ms, self.after_ms).reshape(-1)
        if len(ticks) == 1:
            return self.single.stamped(variant, times_ms)
        return self.several.stamped(variant // self.joined, times_ms)


def digits(numbers: np.ndarray, count: int) -> np.ndarray:
    """The last `count` decimal digits of each number, as text."""
    powers = 10 ** np.arange(count - 1, -1, -1)
    return (numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8)
