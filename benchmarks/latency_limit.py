"""The limit of a system: its sustainable throughput, the highest load that it holds without a lag that grows (Karimov et
al., Benchmarking Distributed Stream Data Processing Systems, ICDE 2018).

A load is offered for some seconds by the producer that keeps to its schedule, while results are read. It is held if what
is made late in the run waits no longer for its result than what was made before it, and the producer was not late.
Pure: delays in, a verdict out; the search is handed what tries a rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields

import numpy as np

from mars.errors import MarsError

TRIES_MAX = 6
NEAR = 1.11  # the search ends where the least rate that was not held is at most so many times the greatest that was
STEP = 1.5  # from rate to rate until both are known
GROWTH_MAX = 0.05  # ms of delay that come to each ms of the run: a lag that grows by this share of the load
DELAY_MAX_MS = 5_000.0
PRODUCER_MAX_MS = 250.0


@dataclass(frozen=True)
class Try:
    """One rate: `earlier_ms` and `later_ms` are the median delays of the two halves of the run, its start left out, `growth`
    is ms of delay for each ms of the run between them, `producer_ms` how late the producer sent in the later half."""

    rate: float
    earlier_ms: float
    later_ms: float
    growth: float
    producer_ms: float

    @staticmethod
    def of(rate: float, made_ms: np.ndarray, delay_ms: np.ndarray, due_ms: np.ndarray, late_ms: np.ndarray,
           since_ms: float) -> Try:
        """From the delay of what was made at `made_ms` (NaN: its result was never seen, an endless delay) and from how late
        the producer sent what was due at `due_ms`; all before `since_ms` is left out."""
        counts = made_ms > since_ms
        made, delay = made_ms[counts], np.nan_to_num(delay_ms[counts], nan=np.inf)
        if not len(made):
            return Try(rate, np.inf, np.inf, np.inf, np.inf)
        middle = (made.min() + made.max()) / 2
        earlier, later = delay[made <= middle], delay[made > middle]
        before, after = (float(np.median(half)) if len(half) else np.inf for half in (earlier, later))
        apart_ms = (made.max() - made.min()) / 2
        growth = (after - before) / apart_ms if np.isfinite(after) and apart_ms else np.inf
        producer = late_ms[due_ms > middle]
        return Try(rate, round(before, 1), round(after, 1), round(float(growth), 3),
                   round(float(np.median(producer)), 1) if len(producer) else np.inf)

    @property
    def is_held(self) -> bool:
        """Does the lag stand still, is it bounded, and was the load really offered?"""
        return self.growth <= GROWTH_MAX and self.later_ms <= DELAY_MAX_MS and self.producer_ms <= PRODUCER_MAX_MS

    def json(self) -> dict:
        """As it is written to a file; what is endless is null there."""
        numbers = {name: value if np.isfinite(value) else None for name, value in asdict(self).items()}
        return {**numbers, "held": self.is_held}

    @classmethod
    def load(cls, written: dict) -> Try:
        """The inverse of `json`."""
        return cls(**{each.name: np.inf if (value := written[each.name]) is None else value for each in fields(cls)})

    def text(self) -> str:
        """For people."""
        held = "held" if self.is_held else "NOT HELD"
        return (f"{self.rate:,.0f} tuples/s: {held}, median delay {self.earlier_ms:,.0f} ms, then {self.later_ms:,.0f} ms; "
                f"producer late by {self.producer_ms:,.0f} ms")


@dataclass(frozen=True)
class Limit:
    """`rate` was held; `below` is the least rate above it that was not held, None if none was met in so many tries."""

    rate: float
    below: float | None
    tries: list[Try] = field(default_factory=list)

    def text(self) -> str:
        """For people."""
        bound = f"{self.below:,.0f} are not" if self.below else "no rate was met that is not"
        return f"{self.rate:,.0f} tuples/s are held, {bound} ({len(self.tries)} runs)"

    def json(self) -> dict:
        """As it is written to a file."""
        return {"rate": self.rate, "below": self.below, "tries": [each.json() for each in self.tries]}

    @classmethod
    def load(cls, written: dict) -> Limit:
        """The inverse of `json`."""
        return cls(written["rate"], written["below"], [Try.load(each) for each in written["tries"]])


def bounds(tries: list[Try]) -> tuple[float, float | None]:
    """(the greatest rate that was held below each that was not, 0 for none; the least that was not, None for none). Where
    a machine's mood lets a greater rate through than one that was not held, the lower one counts."""
    below = min((each.rate for each in tries if not each.is_held), default=None)
    return max((each.rate for each in tries if each.is_held and (below is None or each.rate < below)), default=0.0), below


def following(tries: list[Try], first: float) -> float | None:
    """The rate to try next: up or down by STEP until there is one that is held and one that is not, then the middle
    between them. None once they are near each other."""
    if not tries:
        return first
    held, below = bounds(tries)
    if below is None:
        return held * STEP
    if not held:
        return below / STEP
    return (held * below) ** 0.5 if below > held * NEAR else None


def search(offer: Callable[[float], Try], first: float, tries_max: int = TRIES_MAX,
           say: Callable[[str], None] = print) -> Limit:
    """The limit, by offering one rate after the other, each told at once. MarsError if none of them is held."""
    tries: list[Try] = []
    while len(tries) < tries_max and (rate := following(tries, first)) is not None:
        tries.append(offer(rate))
        say(f"  try {len(tries)} of at most {tries_max}: {tries[-1].text()}")
    held, below = bounds(tries)
    if not held:
        raise MarsError("No load was held", f"the least that was tried: {tries[-1].text()}",
                        "begin lower, or leave the machine alone")
    return Limit(held, below, tries)
