"""The workload: which tuples are made, which queries run over them, and what an independent engine must find. Pure.

A tuple is `t,id,k,g,v`: event time in ms, a number that no other tuple of the stream has, a text key, a whole-number key,
a value. Tuples of the late tail have keys that no other tuple has, so that each of them alone is either a row or late.
Everything else is never out of order by more than the queries allow: it must be in its window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.nemesis.windows import Windows, tumbling

COLUMNS = "t BIGINT, id BIGINT, k STRING, g BIGINT, v BIGINT"
JITTER_MS, LATE_MS = 1_500, 120_000
KEYS, GROUPS, VALUES = 40, 8, 1_000
BAD_SHARE, LATE_SHARE, FUTURE_SHARE = 0.01, 0.001, 0.0005
FUTURE_MS = 30 * 86_400_000
CLOSING_MS = 3_600_000
LINES = {"CSV": b"%d,%d,%s,%d,%s", "JSON": b'{"t":%d,"id":%d,"k":"%s","g":%d,"v":%s}'}
NO_NUMBER = {"CSV": b"none", "JSON": b'"none"'}
# None begins with what would take the next ones of a message along: a quote in CSV, an array in JSON.
MALFORMED = {"CSV": (b"", b" \t ", b"garbage", b",,,,", b"12:00,1,k,1,1", b"9" * 40 + b",1,k,1,1", b"\xff\xfe\x00,1,k,1,1",
                     b"{\"t\": 1}", b"1e400,1,k,1,1", b"-,-,-,-,-"),
             "JSON": (b"", b" \t ", b"garbage", b"12", b"null", b'{"t":1', b'{"id":3}', b"\xff\xfe\x00{}", b"{]}",
                      b'{"t":"12:00","id":1,"k":"k","g":1,"v":1}', b'{"t":1,"id":1,"k":"k","g":1,"v":1}x')}
POISON = {"CSV": b'"' + b"," * 300_000, "JSON": b'{"k":"' + b"x" * 300_000}


@dataclass(frozen=True)
class Statistic:
    """One query, in Mars's words and in the checker's, which speaks of the tuples that read and are not future.

    `keys` with the window name a row; `values` are the rest of the checker's SELECT, `n` among them. `where`: the filter.
    `reads_v`: a tuple whose v does not read is bad here. `late`: which of the checker's rows are of the late tail; of it
    each tuple is alone with its keys. `kind`: its windows, if they are not side by side and `length_ms` long.
    """

    name: str
    select: str
    length_ms: int
    keys: dict[str, str]
    values: dict[str, str]
    where: str = "TRUE"
    grace_ms: int = 0
    reads_v: bool = False
    late: str = "FALSE"
    kind: Windows | None = None

    @property
    def windows(self) -> Windows:
        """Its windows, as the checker has them."""
        return self.kind or tumbling(self.length_ms)


STATISTICS = (
    Statistic("by_key", "SELECT k, count(*) AS n, sum(id) AS ids, sum(id * id % 1000003) AS squares, min(id) AS low, "
              "max(id) AS high FROM {stream} GROUP BY k WINDOWING 2 s WATERMARK 5 s IDLE OFF FROM EARLIEST",
              2_000, {"k": "k"}, {"n": "count(*)", "ids": "sum(id)", "squares": "sum(id * id % 1000003)", "low": "min(id)",
                                  "high": "max(id)"}, late="k LIKE 'L%'"),
    Statistic("by_group", "SELECT g, count(DISTINCT id) AS ids, count(*) AS n, sum(v) AS total, max(v) AS high "
              "FROM {stream} WHERE v >= 800 GROUP BY g WINDOWING 1 s WATERMARK 5 s IDLE OFF FROM EARLIEST",
              1_000, {"g": "g"}, {"ids": "count(DISTINCT id)", "n": "count(*)", "total": "sum(v)", "high": "max(v)"},
              where="v >= 800", reads_v=True, late="g < 0"),
    Statistic("in_time", "SELECT id % 16 AS rest, count(*) AS n, sum(id) AS ids FROM {stream} WHERE g >= 0 "
              "GROUP BY rest WINDOWING 5 s WATERMARK 4 s IDLE 3 s GRACE 1 s FROM EARLIEST",
              5_000, {"rest": "id % 16"}, {"n": "count(*)", "ids": "sum(id)"}, where="g >= 0", grace_ms=1_000),
)


class Source:
    """Makes the lines of one stream, step by step, from a seed; ids and event time only grow. `form`: CSV or JSON."""

    def __init__(self, seed: int, base_ms: int, form: str = "CSV") -> None:
        self.form, self.line = form, LINES[form]
        self.rng = np.random.default_rng(seed)
        self.base_ms = base_ms
        self.next_id = 1
        self.now_ms = base_ms + LATE_MS

    def step(self, count: int, span_ms: int) -> list[bytes]:
        """The next `count` lines; event time goes on by `span_ms`."""
        rng = self.rng
        t = self.now_ms + np.sort(rng.integers(0, span_ms, count)) - rng.integers(0, JITTER_MS, count)
        ids = np.arange(self.next_id, self.next_id + count)
        keys, groups = np.minimum(rng.zipf(1.4, count), KEYS), rng.integers(0, GROUPS, count)
        values, kind = rng.integers(0, VALUES, count), rng.random(count)
        self.next_id += count
        self.now_ms += span_ms
        lines = [self.line % (t, id_, b"k%d" % key, group, b"%d" % value) for t, id_, key, group, value in zip(
            t.tolist(), ids.tolist(), keys.tolist(), groups.tolist(), values.tolist(), strict=True)]
        for i in np.flatnonzero(kind < BAD_SHARE + LATE_SHARE + FUTURE_SHARE).tolist():
            lines[i] = self._odd(float(kind[i]), int(t[i]), int(ids[i]))
        return lines

    def _odd(self, kind: float, t: int, id_: int) -> bytes:
        """A line that does not read, or is late, or lies in the future."""
        if kind < BAD_SHARE / 2:
            return MALFORMED[self.form][id_ % len(MALFORMED[self.form])]
        if kind < BAD_SHARE:
            return self.line % (t, id_, b"k1", 1, NO_NUMBER[self.form])  # bad for those who read v
        if kind < BAD_SHARE + LATE_SHARE:
            return self.line % (max(t - LATE_MS, self.base_ms), id_, b"L%d" % id_, -id_, b"%d" % (VALUES - 1))
        return self.line % (t + FUTURE_MS, id_, b"k1", 1, b"%d" % (VALUES - 1))

    def poison(self) -> list[bytes | None]:
        """Messages of a kind that has broken readers: huge, null, empty, unclosed, deep."""
        return [None, b"", b"x" * 900_000, POISON[self.form], b"\n" * 5_000, b"\x00" * 4_096, b"[" * 50_000,
                b"9" * 100_000 + b",1,k,1,1", *MALFORMED[self.form]]

    def closing(self, partitions: int) -> list[bytes]:
        """A line for each partition, far enough ahead to close all windows."""
        lines = [self.line % (self.now_ms + CLOSING_MS, self.next_id + p, b"end", 0, b"0") for p in range(partitions)]
        self.next_id += partitions
        return lines
