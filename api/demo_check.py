"""The check at the end of the demo: every group of the result against an independent count of what was
sent."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

COUNT, SENT, FOUND = "count", "sent", "found"


@dataclass(frozen=True)
class Verdict:
    """What the check saw. `difference` is empty when every group has the count that was sent, else it names
    the first group that has not."""

    groups: int
    tuples: int
    open_windows: int
    difference: str = ""


def compare(expected: pa.Table, results: pa.Table) -> Verdict:
    """Compare counts by group. `expected` has the keys and `count`; `results` has them too, and `partial`,
    which marks the rows of windows that are still open."""
    keys = [name for name in expected.column_names if name != COUNT]
    found = _counts(results, keys, expected.schema, FOUND)
    both = _counts(expected, keys, expected.schema, SENT).join(found, keys, join_type="full outer")
    differs = pc.fill_null(pc.not_equal(both[SENT], both[FOUND]), True)
    wrong = both.filter(differs).sort_by([(key, "ascending") for key in keys])
    still_open = results.filter(results["partial"]) if "partial" in results.column_names else results.slice(0, 0)
    return Verdict(groups=results.num_rows, tuples=pc.sum(results[COUNT]).as_py() or 0,
                   open_windows=len(pc.unique(still_open["window_start"])) if still_open.num_rows else 0,
                   difference=_tell(wrong, keys) if wrong.num_rows else "")


def _counts(table: pa.Table, keys: list[str], schema: pa.Schema, name: str) -> pa.Table:
    """Keys in the types of `schema` and the count under another name. NULL keys stand as a word, as joins
    drop them; no real key has it."""
    columns = {key: pc.fill_null(pc.cast(table[key], pa.string()), "\0NULL") for key in keys}
    return pa.table({**columns, name: pc.cast(table[COUNT], pa.int64())})


def _tell(wrong: pa.Table, keys: list[str]) -> str:
    first = wrong.slice(0, 1).to_pylist()[0]
    group = ", ".join(f"{key} = {first[key]}".replace("\0", "") for key in keys)
    return (f"{wrong.num_rows:,} groups differ; the first is {group}: "
            f"{first[SENT] or 0:,} were sent, the result has {first[FOUND] or 0:,}")
