"""An answer against the independent count, group by group: what was lost, what was doubled."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

KEYS = ["sip", "type", "timestamp"]


@dataclass(frozen=True)
class Exactness:
    """`groups` that were sent; `wrong` of them, or others; `lost` and `doubled` are tuples."""

    groups: int
    wrong: int
    lost: int
    doubled: int

    @property
    def exact(self) -> bool:
        return self.wrong == 0

    def __str__(self) -> str:
        return "exact" if self.exact else f"{self.wrong:,} groups wrong: {self.lost:,} lost, {self.doubled:,} doubled"


def judge(expected: pa.Table, found: pa.Table) -> Exactness:
    """Compare by KEYS. A row that comes twice counts twice."""
    sent, got = _summed(expected, "sent"), _summed(found, "got")
    both = sent.join(got, KEYS, join_type="full outer")
    differs = pc.subtract(pc.fill_null(both["got"], 0), pc.fill_null(both["sent"], 0)).combine_chunks()
    more, less = pc.greater(differs, 0), pc.less(differs, 0)
    return Exactness(sent.num_rows, pc.sum(pc.or_(more, less)).as_py() or 0,
                     -(pc.sum(differs.filter(less)).as_py() or 0), pc.sum(differs.filter(more)).as_py() or 0)


def _summed(table: pa.Table, name: str) -> pa.Table:
    types = {"sip": pa.string(), "type": pa.string(), "timestamp": pa.int64(), "count": pa.int64()}
    plain = pa.table({key: pc.cast(table[key], kind) for key, kind in types.items()})
    return plain.group_by(KEYS).aggregate([("count", "sum")]).rename_columns([*KEYS, name])
