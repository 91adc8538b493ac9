"""Which tuples lie in which windows, as the checker has it: by DuckDB or plain Python, without any of Mars's code.

Each kind gives SQL for a table of the tuples of the view `counted`, each once for each of its windows, with the window's
start and end as `ms` and `end_ms`. `keys` are columns of the view; `last_ms` bounds the ends where windows go on for ever.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import pyarrow as pa


class Windows:
    """One kind. `holds_its_end`: a tuple at the end of a window is in it. `has_edges`: rows are compared by window."""

    holds_its_end, has_edges = False, True

    def placed(self, database: duckdb.DuckDBPyConnection, keys: list[str], last_ms: int) -> str:
        """The SQL."""
        raise NotImplementedError


def _stepped(first: str, last: str, step_ms: int, start: str, end: str) -> str:
    """A window for each `x` from the first to the last one; `start` and `end` are told by it."""
    series = f"SELECT *, unnest(generate_series({first}, {last}, {step_ms})) AS x FROM counted"
    return f"SELECT * EXCLUDE (x), {start} AS ms, {end} AS end_ms FROM ({series})"


@dataclass(frozen=True)
class Hopping(Windows):
    """[k * every + offset, .. + length)."""

    length_ms: int
    every_ms: int
    offset_ms: int = 0

    def placed(self, database: duckdb.DuckDBPyConnection, keys: list[str], last_ms: int) -> str:
        length, every, offset = self.length_ms, self.every_ms, self.offset_ms
        return _stepped(f"((t - {offset} - {length}) // {every} + 1) * {every} + {offset}",
                        f"(t - {offset}) // {every} * {every} + {offset}", every, "x", f"x + {length}")


def tumbling(length_ms: int) -> Hopping:
    """Windows side by side."""
    return Hopping(length_ms, length_ms)


@dataclass(frozen=True)
class LandmarkEach(Windows):
    """[k * period, k * period + i * every)."""

    period_ms: int
    every_ms: int

    def placed(self, database: duckdb.DuckDBPyConnection, keys: list[str], last_ms: int) -> str:
        period, every = self.period_ms, self.every_ms
        return _stepped(f"(t // {every} + 1) * {every}", f"t // {period} * {period} + {period}", every,
                        f"t // {period} * {period}", "x")


@dataclass(frozen=True)
class LandmarkFrom(Windows):
    """[from, from + i * every), for a `from` that is a multiple of `every`."""

    from_ms: int
    every_ms: int

    def placed(self, database: duckdb.DuckDBPyConnection, keys: list[str], last_ms: int) -> str:
        return _stepped(f"(t // {self.every_ms} + 1) * {self.every_ms}", f"{last_ms}::BIGINT", self.every_ms,
                        f"{self.from_ms}", "x")


@dataclass(frozen=True)
class Anyhow(Windows):
    """Whatever windows there are: all tuples of a group together."""

    has_edges = False

    def placed(self, database: duckdb.DuckDBPyConnection, keys: list[str], last_ms: int) -> str:
        return "SELECT *, 0 AS ms, 0 AS end_ms FROM counted"


@dataclass(frozen=True)
class Sliding(Windows):
    """(t - length, t] for each time t of a group."""

    length_ms: int
    holds_its_end = True

    def placed(self, database: duckdb.DuckDBPyConnection, keys: list[str], last_ms: int) -> str:
        length, same = self.length_ms, ", ".join([*keys, "x"])
        ends = (f"SELECT DISTINCT {', '.join(keys)}, t AS e, unnest([t // {length}, t // {length} - 1]) AS x FROM counted")
        return (f"SELECT i.* EXCLUDE (x), e - {length} AS ms, e AS end_ms FROM ({ends}) o "
                f"JOIN (SELECT *, t // {length} AS x FROM counted) i USING ({same}) WHERE i.t > e - {length} AND i.t <= e")


@dataclass(frozen=True)
class Sessions(Windows):
    """Runs of a group's tuples that are at most `gap` apart, cut `most` after their first."""

    gap_ms: int
    most_ms: int | None = None
    holds_its_end = True

    def placed(self, database: duckdb.DuckDBPyConnection, keys: list[str], last_ms: int) -> str:
        rows = database.execute(f"SELECT dense_rank() OVER (ORDER BY {', '.join(keys)}) AS number, t, id FROM counted "
                                "ORDER BY number, t, id").fetchall()
        database.register("runs_of_ids", self.runs(rows))
        database.execute("CREATE OR REPLACE TEMP TABLE runs AS SELECT * FROM runs_of_ids")
        database.unregister("runs_of_ids")
        return "SELECT counted.*, ms, end_ms FROM counted JOIN runs USING (id)"

    def runs(self, rows: list[tuple[int, int, int]]) -> pa.Table:
        """The id, start and end of the session of each (number of the group, time, id), which are in this order."""
        starts, ends = [0] * len(rows), [0] * len(rows)
        most, first, group = self.most_ms, 0, None
        for i, (number, t, _) in enumerate(rows):
            if number != group or t > rows[i - 1][1] + self.gap_ms or (most is not None and t > rows[first][1] + most):
                self._end(rows, first, i, starts, ends)
                first, group = i, number
        self._end(rows, first, len(rows), starts, ends)
        return pa.table({"id": pa.array([row[2] for row in rows], pa.int64()), "ms": starts, "end_ms": ends})

    def _end(self, rows: list[tuple[int, int, int]], first: int, after: int, starts: list[int], ends: list[int]) -> None:
        if after > first:
            start, end = rows[first][1], rows[after - 1][1] + self.gap_ms
            end = end if self.most_ms is None else min(end, start + self.most_ms)
            starts[first:after], ends[first:after] = [start] * (after - first), [end] * (after - first)
