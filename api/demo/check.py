"""The check at the end of the demo: every group of the result against an independent count of what was
sent."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

COUNT, SENT, FOUND = "count", "sent", "found"
LEFT_OUT = "tuples are bad, late or future only for Mars"
UNREAD = "tuples are good only for Mars"


@dataclass(frozen=True)
class Verdict:
    """What the check saw. `difference` is empty unless the results are wrong: it names the first group that is. `doubt` is
    empty if every group has the count that was sent, else it says what could not be checked."""

    groups: int
    tuples: int
    open_windows: int = 0
    difference: str = ""
    doubt: str = ""


def compare(expected: pa.Table, results: pa.Table, left_out: int = 0, unread: int = 0) -> Verdict:
    """Compare counts by group. `expected` has the keys and `count`; `results` has them too, and `partial`, which marks the
    rows of windows that are still open. Two engines may differ on which tuples read, and by no more than either left out:
    Mars left out `left_out`, the count `unread`."""
    keys = [name for name in expected.column_names if name != COUNT]
    both = _counts(expected, keys, SENT).join(_counts(results, keys, FOUND), keys, join_type="full outer")
    excess = pc.subtract(pc.fill_null(both[FOUND], 0), pc.fill_null(both[SENT], 0))
    surplus, lack = (pc.sum(pc.max_element_wise(column, 0)).as_py() or 0 for column in (excess, pc.negate(excess)))
    wrong = both.filter(pc.not_equal(excess, 0)).sort_by([(key, "ascending") for key in keys])
    still_open = results.filter(results["partial"]) if "partial" in results.column_names else results.slice(0, 0)
    doubts = [f"{n:,} {why}" for n, why in ((lack, LEFT_OUT), (surplus, UNREAD)) if n]
    return Verdict(groups=results.num_rows, tuples=pc.sum(results[COUNT]).as_py() or 0,
                   open_windows=len(pc.unique(still_open["window_start"])) if still_open.num_rows else 0,
                   difference=_tell(wrong, keys) if lack > left_out or surplus > unread else "", doubt="; ".join(doubts))


def _counts(table: pa.Table, keys: list[str], name: str) -> pa.Table:
    """Keys as text and the count of each under another name. NULL keys stand as a word, as joins
    drop them; no real key has it."""
    columns = {key: pc.fill_null(pc.cast(table[key], pa.string()), "\0NULL") for key in keys}
    return pa.table({**columns, name: pc.cast(table[COUNT], pa.int64())})


def _tell(wrong: pa.Table, keys: list[str]) -> str:
    first = wrong.slice(0, 1).to_pylist()[0]
    group = ", ".join(f"{key} = {first[key]}".replace("\0", "") for key in keys)
    return (f"{wrong.num_rows:,} groups differ; the first is {group}: {first[SENT] or 0:,} were sent, the result has "
            f"{first[FOUND] or 0:,}")
