"""What Mars is to reach, as floors and goals, beside what the files of docs/benchmarks say that it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.document_joined import measured
from benchmarks.side_by_side_table import by_contender, middle

WORKERS = 2  # mappers, and reducers, of the instances whose memory is told


@dataclass(frozen=True)
class Goal:
    """A figure that must reach `floor` and should reach `goal` (None: the floor is all); `most`: it must stay below."""

    name: str
    floor: float
    goal: float | None
    found: Callable[[Path], float]
    most: bool = False

    def row(self, folder: Path) -> str:
        """Its line of the table."""
        try:
            value = self.found(folder)
        except (LookupError, StopIteration):
            return self._line("not measured yet", "")
        floor, goal = (asked is not None and (value <= asked if self.most else value >= asked)
                       for asked in (self.floor, self.goal))
        return self._line(f"{value:,.3g}" if value < 1000 else f"{value:,.0f}",
                          "goal" if goal else "floor" if floor else "falls short")

    def _line(self, value: str, verdict: str) -> str:
        goal = "" if self.goal is None else f"{self.goal:g}"
        return f"| {self.name} | {'at most ' if self.most else ''}{self.floor:g} | {goal} | {value} | {verdict} |"


def goals(folder: Path) -> str:
    """The table."""
    return "\n".join(["| | floor | goal | here | reached |", "| --- | ---: | ---: | ---: | --- |",
                      *(goal.row(folder) for goal in GOALS)])


def _file(folder: Path, name: str) -> dict:
    """What a command left; LookupError if it has not run."""
    found = measured(folder, name)
    if found is None:
        raise LookupError(name)
    return found


def _turns(contender: str, of: str) -> Callable[[Path], float]:
    """The median of a contender's turns in the comparison."""
    return lambda folder: middle(by_contender(_file(folder, "side_by_side"))[contender], of)


def _times(contender: str) -> Callable[[Path], float]:
    """How many times as fast as a contender Mars was, by medians."""
    return lambda folder: _turns("mars", "tuples_per_s")(folder) / _turns(contender, "tuples_per_s")(folder)


def _form(name: str) -> Callable[[Path], float]:
    """M tuples/s of one of the forms of a tuple."""
    return lambda folder: next(point["tuples_per_s"] / 1e6 for point in _file(folder, "forms")["points"]
                               if point["name"] == name)


def _at_half(kind: str, of: str) -> Callable[[Path], float]:
    """ms at half of the limit."""
    return lambda folder: next(load[kind][of] for load in _file(folder, "latency")["loads"] if load["name"] == "share_50")


def _worker_mb(folder: Path) -> float:
    """The most that a mapper or a reducer took, over all sizes and the long run, of as many as an instance has."""
    return max(point["peak_megabytes"][part] / WORKERS for name in ("tuples", "long")
               for point in _file(folder, name)["points"] for part in ("mappers", "reducers"))


GOALS = (
    Goal("M tuples/s, CSV, to readable results", 3, 4, lambda folder: _turns("mars", "tuples_per_s")(folder) / 1e6),
    Goal("M tuples/s, CSV, 100 in a message", 3.5, 5, _form("CSV, 100 a message")),
    Goal("M tuples/s, JSON of 300 B", 1.2, 2, _form("JSON")),
    Goal("CPU s per M tuples, broker apart", 0.6, 0.43, _turns("mars", "cpu_s_per_million"), most=True),
    Goal("times Flink SQL, exactly once", 7, 10, _times("flink")),
    Goal("times Spark Structured Streaming", 12, 15, _times("spark")),
    Goal("times Storm, acking", 12, 15, _times("storm")),
    Goal("times Pathway", 20, None, _times("pathway")),
    Goal("ms of freshness at half load, p50", 150, None, _at_half("freshness", "p50"), most=True),
    Goal("ms of freshness at half load, p99", 600, None, _at_half("freshness", "p99"), most=True),
    Goal("ms until closed windows can be read, p99", 500, None, _at_half("window_closed", "p99"), most=True),
    Goal("MB of a mapper or reducer, at most", 400, None, _worker_mb, most=True),
)
