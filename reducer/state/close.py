"""When a window closes: watermarks from positions, idle facts and partition checks. Pure: time comes in facts.

Every key part decides only by its own positions and the headers of entries, so all decide alike (step 8).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mars.algebra import windows
from mars.model.commits import QueryCommit
from mars.model.plan import QueryPlan, Stream

WAITING_MAX = 64


@dataclass(frozen=True)
class Facts:
    """What the leader saw last. `begun` and `done` are the numbers of its last checks of the broker's partition list;
    `idle` maps a partition to (high watermark, ms for which it has not moved), `logs` to its log's epochs as text
    (mars.model.log_epochs)."""

    begun: int = 0
    done: int = 0
    idle: dict[int, tuple[int, int]] = field(default_factory=dict)
    logs: dict[int, str] = field(default_factory=dict)

    @staticmethod
    def parse(raw: dict[str, str]) -> Facts:
        """Facts from the exchange's hash: 'begun', 'done', 'idle:<partition>' = 'high watermark:quiet ms',
        'log:<partition>'."""
        idle, logs = {}, {}
        for name, value in raw.items():
            if name.startswith("idle:"):
                high, quiet_ms = value.split(":")
                idle[int(name[5:])] = (int(high), int(quiet_ms))
            elif name.startswith("log:"):
                logs[int(name[4:])] = value
        return Facts(int(raw.get("begun", 0)), int(raw.get("done", 0)), idle, logs)


def watermark_of(plan: QueryPlan, stream: Stream, partitions: tuple[int, ...], commit: QueryCommit,
                 start: dict[int, int], facts: Facts | None) -> int | None:
    """The watermark that a query has reached (rules 21, 22), in the stream's unit; None while a partition that may not be
    left out has shown no event time. Partitions in its own `start` count too, even if the query set (`partitions`) does
    not have them yet.

    A partition is left out only while the query's own position is at its high watermark, and the leader knows that this
    has been quiet for longer than IDLE. `facts` None means that the leader has not been heard of lately: then no
    partition is idle.
    """
    active, idle = [], []
    for partition in {*partitions, *start}:
        seen = commit.max_event_time.get(partition)
        position = commit.positions.get(partition, start.get(partition, -1))
        if facts and _stands_still(facts, partition, position, plan.aggregation.idle_ms):
            idle.append(seen)
        elif seen is None:
            return None
        else:
            active.append(seen)
    known = [seen for seen in idle if seen is not None]
    if active:
        reached = min(active)
    elif known:
        reached = max(known)
    else:
        return None
    return reached - stream.units(plan.aggregation.watermark_ms)


def clock_watermark(plan: QueryPlan, stream: Stream, partitions: tuple[int, ...], commit: QueryCommit,
                    start: dict[int, int], facts: Facts | None) -> int | None:
    """The watermark that closes all windows of what has come (EMIT FINAL TIMEOUT), in the stream's unit; None unless every
    partition has stood still for longer than TIMEOUT, and the query has read each of them to its end.

    So at the same positions it is the same in each key part, whatever is held there.
    """
    for partition in {*partitions, *start}:
        position = commit.positions.get(partition, start.get(partition, -1))
        if not facts or not _stands_still(facts, partition, position, plan.aggregation.timeout_ms):
            return None
    if not commit.max_event_time:
        return None
    kind = windows.of(plan.aggregation, stream)
    return kind.rest_end(max(commit.max_event_time.values())) + kind.delay


def _stands_still(facts: Facts, partition: int, position: int, longer_than_ms: int | None) -> bool:
    if longer_than_ms is None or partition not in facts.idle:
        return False
    high, quiet_ms = facts.idle[partition]
    return position == high and quiet_ms > longer_than_ms


@dataclass
class CheckedWatermark:
    """Holds watermarks back until a check of the topic that began after they were reached has ended (rule 23).

    A partition that appears in such a check did not exist when the watermark was reached, so it could not have held it
    back. The check also looks at the high watermarks. If a watermark was reached by leaving out an idle partition, and
    that has got records meanwhile, the watermark is no longer reached and is forgotten. So records that are sent to all
    partitions after a pause are never late merely because one partition was read first.
    """

    waiting: list[tuple[int, int]] = field(default_factory=list)

    def offer(self, reached: int | None, facts: Facts) -> int | None:
        """Note what has been reached; the greatest watermark that may close windows now, or None. Both arguments must
        be of the same moment."""
        self.waiting = [(w, begun) for w, begun in self.waiting if reached is not None and w <= reached]
        if reached is not None and (not self.waiting or reached > self.waiting[-1][0]):
            # A lower watermark still counts if this one is no longer reached. One is left out only if there are many.
            if len(self.waiting) >= WAITING_MAX and self.waiting[-1][1] == facts.begun:
                self.waiting.pop()
            self.waiting.append((reached, facts.begun))
        passed = [w for w, begun in self.waiting if facts.done > begun]
        self.waiting = [(w, begun) for w, begun in self.waiting if facts.done <= begun]
        return max(passed, default=None)

    def needs_check(self, facts: Facts, would_close: Callable[[int], bool]) -> bool:
        """Does a window wait for a check that has not begun yet? If one has begun, its end will be published without
        asking."""
        waits = [begun for w, begun in self.waiting if would_close(w)]
        return bool(waits) and min(waits) == facts.begun
