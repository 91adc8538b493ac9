"""The check at the end of the demo: every group of the result against an independent count of what was
sent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

COUNT, SENT, LATER, FOUND = "count", "sent", "later", "found"
LEFT_OUT = "tuples are bad, late or future only for Mars"
UNREAD = "tuples are good only for Mars"
LOST = "tuples are not in the results: Kafka has deleted messages meanwhile"
OTHERS = "tuples in the results are not of this file: others write into the topic too"
GROWING = "groups are growing: they lie between the counts before and after the results were read"


@dataclass(frozen=True)
class Verdict:
    """What the check saw. `difference` is empty unless the results are wrong: it names the first group that is. `doubt` is
    empty if every group has the count that was sent, else it says what could not be checked."""

    groups: int
    tuples: int
    open_windows: int
    difference: str = ""
    doubt: str = ""


@dataclass(frozen=True)
class Slack:
    """By how many tuples the results may differ from the count though nothing is wrong, and why."""

    tuples: float = 0
    why: str = ""


@dataclass(frozen=True)
class Bounds:
    """How many tuples there are, at least and at most, as far as that is known without Mars."""

    low: int
    high: float

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(self.low + other.low, self.high + other.high)

    def __contains__(self, tuples: int) -> bool:
        return self.low <= tuples <= self.high

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.low:,}"
        return f"{self.low:,} or more" if self.high == math.inf else f"{self.low:,} to {self.high:,}"


@dataclass(frozen=True)
class Counted:
    """What another engine than Mars made of tuples: counts by group of those that it reads, and how many there are."""

    table: pa.Table
    tuples: Bounds

    def none(self) -> Counted:
        """The same of no tuple."""
        return Counted(self.table.slice(0, 0), Bounds(0, 0))

    def __add__(self, other: Counted) -> Counted:
        both = pa.concat_tables([self.table, other.table])
        keys = [name for name in both.column_names if name != COUNT]
        sums = both.group_by(keys).aggregate([(COUNT, "sum")]).rename_columns([*keys, COUNT])
        return Counted(sums, self.tuples + other.tuples)


def judge(sent: Counted, later: Counted, results: pa.Table, counters: dict[str, int], lost: bool, others: bool) -> Verdict:
    """Compare results of somebody's own tuples. Of those of `later` they may have any part. `lost`: Kafka may have deleted
    some before they were read; `others`: there may be tuples in the results that nobody counted.

    Every tuple must be accounted for; two engines may differ on which of them read, and by no more than either left out."""
    known = sent.tuples + later.tuples
    expected = Bounds(0 if lost else sent.tuples.low, math.inf if others else known.high)
    left_out = counters["bad"] + counters["late"] + counters["future"]
    unread = known.high - sum(pc.sum(part.table[COUNT]).as_py() or 0 for part in (sent, later))
    fewer = Slack(math.inf, LOST) if lost else Slack(left_out, LEFT_OUT)
    more = Slack(math.inf, OTHERS) if others else Slack(unread, UNREAD)
    verdict = compare(sent.table, results, later.table, fewer, more)
    return verdict if counters["tuples"] in expected else replace(
        verdict, difference=f"{expected} tuples were sent, {counters['tuples']:,} arrived")


def compare(expected: pa.Table, results: pa.Table, later: pa.Table | None = None, fewer: Slack = Slack(),
            more: Slack = Slack()) -> Verdict:
    """Compare counts by group. `expected` has the keys and `count`; `results` has them too, and `partial`, which marks the
    rows of windows that are still open. `later` counts tuples of which the results may have any part."""
    keys = [name for name in expected.column_names if name != COUNT]
    both = _counts(expected, keys, SENT)
    for table, name in ((expected.slice(0, 0) if later is None else later, LATER), (results, FOUND)):
        both = both.join(_counts(table, keys, name), keys, join_type="full outer")
    sent, grown, found = (pc.fill_null(both[name], 0) for name in (SENT, LATER, FOUND))
    lacking = pc.max_element_wise(pc.subtract(sent, found), 0)
    excess = pc.max_element_wise(pc.subtract(pc.subtract(found, sent), grown), 0)
    lack, surplus = (pc.sum(column).as_py() or 0 for column in (lacking, excess))
    between = pc.sum(pc.and_(pc.greater_equal(found, sent), pc.less(found, pc.add(sent, grown)))).as_py() or 0
    wrong = both.filter(pc.greater(pc.add(lacking, excess), 0)).sort_by([(key, "ascending") for key in keys])
    still_open = results.filter(results["partial"]) if "partial" in results.column_names else results.slice(0, 0)
    doubts = [f"{n:,} {why}" for n, why in ((lack, fewer.why), (surplus, more.why), (between, GROWING)) if n]
    is_wrong = lack > fewer.tuples or surplus > more.tuples
    return Verdict(groups=results.num_rows, tuples=pc.sum(results[COUNT]).as_py() or 0,
                   open_windows=len(pc.unique(still_open["window_start"])) if still_open.num_rows else 0,
                   difference=_tell(wrong, keys) if is_wrong else "", doubt="; ".join(doubts))


def _counts(table: pa.Table, keys: list[str], name: str) -> pa.Table:
    """Keys as text and the count of each under another name. NULL keys stand as a word, as joins
    drop them; no real key has it."""
    columns = {key: pc.fill_null(pc.cast(table[key], pa.string()), "\0NULL") for key in keys}
    return pa.table({**columns, name: pc.cast(table[COUNT], pa.int64())})


def _tell(wrong: pa.Table, keys: list[str]) -> str:
    first = wrong.slice(0, 1).to_pylist()[0]
    group = ", ".join(f"{key} = {first[key]}".replace("\0", "") for key in keys)
    sent, later, found = (first[name] or 0 for name in (SENT, LATER, FOUND))
    range_ = f"{sent:,} to {sent + later:,}" if later else f"{sent:,}"
    return f"{wrong.num_rows:,} groups differ; the first is {group}: {range_} were sent, the result has {found:,}"
