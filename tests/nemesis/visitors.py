"""Visitors: queries of other kinds of windows and emissions, which come while faults come, and stay until the end.

Each is compared with the tuples from its start on. What a query gives out before its windows are closed, and after that, its
events must tell (tellers.py).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tests.nemesis.oracle import Oracle, Verdict
from tests.nemesis.tuples import Statistic
from tests.nemesis.windows import Anyhow, Hopping, LandmarkEach, LandmarkFrom, Sessions, Sliding, Windows, tumbling

VALUES = {"n": "count(*)", "ids": "sum(id)", "squares": "sum(id * id % 1000003)", "low": "min(id)", "high": "max(id)"}
SUMS = {name: VALUES[name] for name in ("n", "ids", "squares")}
LATE_MAX = 1_000_000  # tuples that are looked at
FROM_MS = 1_577_836_800_000  # 2020


@dataclass(frozen=True)
class Visitor(Statistic):
    """`emits_ms`: rows of open windows come at its multiples (EMIT EVERY); `changes`: they come with each commit; `revised`:
    late tuples make revisions; `keeps_late`: there is a name of late tuples, and `timed`: the clock makes some."""

    emits_ms: int = 0
    changes: bool = False
    revised: bool = False
    keeps_late: bool = False
    timed: bool = False

    @property
    def is_followed(self) -> bool:
        """Do its events tell more than its pages do?"""
        return bool(self.emits_ms or self.changes or self.revised)

    def create(self, query: str, stream: str, start: str) -> str:
        """The statement."""
        return f"CREATE QUERY {query} AS {self.select.format(stream=stream, late=f'{query}_late', start=start)}"

    def judge(self, oracle: Oracle, rows: pa.Table, document: dict, watermark_ms: int,
              select: Callable[[str], pa.Table]) -> Verdict:
        """Compare its rows, and its late tuples, which `select` gives by the query's name."""
        if self.emits_ms or self.changes:
            rows = rows.filter(rows["final"])
        late = select(f"SELECT * FROM {document['name']}_late LIMIT {LATE_MAX}") if self.keeps_late else None
        if self.timed and self.windows.has_edges:  # the clock may have closed the windows of the last tuples since
            ends = pc.cast(rows["window_end"], pa.timestamp("ms", "UTC")).cast(pa.int64())
            rows = rows.filter(pc.less_equal(ends, watermark_ms - self.grace_ms))
        verdict = oracle.compare(self, rows, document["counters"], watermark_ms, late)
        if late is not None and not self.timed and pc.any(pc.greater_equal(late["g"], 0)).as_py():
            verdict.wrong.append(f"{self.name}: a tuple is late that came in time: "
                                 f"{late.filter(pc.greater_equal(late['g'], 0)).slice(0, 1).to_pylist()}")
        return verdict


def _of(name: str, windowing: str, kind: Windows, keys: dict[str, str], where: str = "TRUE", late: str = "FALSE",
        clauses: str = "", values: dict[str, str] | None = None, **more: object) -> Visitor:
    values = values or VALUES
    columns = ", ".join(f"{expression} AS {name}" for name, expression in {**keys, **values}.items())
    select = (f"SELECT {columns} FROM {{stream}} WHERE {where} GROUP BY {', '.join(keys)} WINDOWING {windowing} "
              f"WATERMARK 5 s IDLE OFF {clauses} FROM {{start}}")
    return Visitor(name, select, 0, keys, values, where, late=late, kind=kind, **more)


BY_KEY, BY_GROUP, BY_REST = {"key": "k"}, {"grp": "g"}, {"rest": "id % 16"}
SOME = {"key": "k", "rest": "id % 96"}
LATE_KEY, LATE_GROUP = "key LIKE 'L%'", "grp < 0"
VISITORS = (
    _of("hopping", "4 s EVERY 1 s OFFSET 300 ms", Hopping(4_000, 1_000, 300), BY_KEY, late=LATE_KEY),
    _of("hopping_long", "21 s EVERY 2 s", Hopping(21_000, 2_000), BY_GROUP, "v >= 800", LATE_GROUP, reads_v=True),
    _of("landmark", "LANDMARK EACH 30 s EVERY 2 s", LandmarkEach(30_000, 2_000), BY_GROUP, "v >= 800", LATE_GROUP,
        reads_v=True),
    _of("landmark_from", "LANDMARK FROM '2020-01-01' EVERY 20 s", LandmarkFrom(FROM_MS, 20_000), BY_GROUP, "g >= 0"),
    _of("session", "SESSION GAP 1 s", Sessions(1_000), SOME, "id % 8 = 3", LATE_KEY),
    _of("session_cut", "SESSION GAP 1 s MAX 3 s", Sessions(1_000, 3_000), SOME, "id % 8 = 5", LATE_KEY),
    _of("sliding", "SLIDING 1 s", Sliding(1_000), BY_GROUP, "id % 40 = 7", LATE_GROUP),
    _of("every", "6 s", tumbling(6_000), BY_KEY, "g >= 0", clauses="EMIT EVERY 4 s", emits_ms=4_000),
    _of("changes", "2 s", tumbling(2_000), BY_KEY, late=LATE_KEY, clauses="EMIT CHANGES", changes=True),
    _of("changes_hopping", "6 s EVERY 2 s", Hopping(6_000, 2_000), BY_GROUP, late=LATE_GROUP, clauses="EMIT CHANGES",
        changes=True),
    _of("revised", "2 s", tumbling(2_000), BY_REST, clauses="LATE UPDATE FOR 10 min", revised=True),
    _of("kept", "2 s", tumbling(2_000), BY_REST, clauses="LATE TO {late}", values=SUMS, keeps_late=True),
    _of("changes_landmark", "LANDMARK EACH 30 s EVERY 3 s", LandmarkEach(30_000, 3_000), BY_KEY, "g >= 0",
        clauses="EMIT CHANGES", changes=True),
    _of("revised_hopping", "6 s EVERY 2 s", Hopping(6_000, 2_000), BY_REST, clauses="LATE UPDATE FOR 10 min", revised=True),
    _of("kept_session", "SESSION GAP 1 s", Sessions(1_000), SOME, "id % 8 = 3 OR g < 0", clauses="LATE TO {late}",
        values=SUMS, keeps_late=True),
    _of("timed_session", "SESSION GAP 1 s", Anyhow(), SOME, "(id % 8 = 3 OR g < 0) AND k <> 'end'",
        clauses="EMIT FINAL TIMEOUT 1 s LATE TO {late}", values=SUMS, keeps_late=True, timed=True),
    _of("timed", "2 s", tumbling(2_000), BY_REST, clauses="EMIT FINAL TIMEOUT 1 s LATE TO {late}", values=SUMS,
        keeps_late=True, timed=True),
)


def drawn(seed: int, turn: int, count: int, keeps_late: bool = True) -> list[Visitor]:
    """Those of a round: all come in turn, in an order by seed. `keeps_late` False leaves out LATE TO."""
    there = [visitor for visitor in VISITORS if keeps_late or not visitor.keeps_late]
    random.Random(seed).shuffle(there)
    return [there[(turn * count + number) % len(there)] for number in range(min(count, len(there)))]


def emitted(oracle: Oracle, visitor: Visitor, watermark_ms: int) -> pa.Table:
    """All rows that EMIT EVERY gives out, in no order, of windows that are closed."""
    names, last_ms = oracle.names(visitor), watermark_ms - visitor.grace_ms
    values = ", ".join(f"({expression})::BIGINT AS {name}" for name, expression in visitor.values.items())
    keys, every = ", ".join(["ms", *visitor.keys]), visitor.emits_ms
    placed = (f"SELECT *, (t // {every} + 1) * {every} AS tick FROM ({oracle.place(visitor, last_ms)}) "
              f"WHERE end_ms <= {last_ms}")
    open_ = (f"SELECT {names}, {values}, FALSE AS final FROM (SELECT DISTINCT {keys}, tick AS given FROM ({placed}) "
             f"WHERE tick < end_ms) JOIN ({placed}) USING ({keys}) WHERE tick <= given GROUP BY {names}, given")
    rows = oracle.database.sql(f"SELECT {names}, {values}, TRUE AS final FROM ({placed}) GROUP BY {names} "
                               f"UNION ALL {open_}").to_arrow_table()
    times = [pc.cast(pc.multiply(rows[name], 1000), pa.timestamp("us", "UTC")) for name in ("ms", "end_ms")]
    return rows.drop_columns(["ms", "end_ms"]).append_column("window_start", times[0]).append_column("window_end", times[1])
