"""Queries whose rows change, over key parts that are written by hand: tuples, watermarks, commits, and what readers get."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from mars.adapters.storage import Storage
from mars.algebra import cells
from mars.algebra.cells_layout import schema
from mars.algebra.cells_wire import decode, encode
from mars.model.commits import Manifest
from mars.model.entries import Header, Share
from mars.model.plan import QueryPlan, Stream
from mars.model.registry import Query
from mars.results import changes
from mars.results.cursors import Selection
from mars.results.places import Changes, begun
from mars.results.rows import Choice
from mars.results.snapshot import Snapshot
from mars.results.tables import ResultTables
from reducer.committing import commit
from reducer.state.changelog import RevisedState, resumed, still_revised
from reducer.state.merge import Piece, QueryState
from sql.check.compile import compile_select
from sql.check.condition import result_condition
from sql.read.create import compile_stream
from sql.read.parse import parse

STREAM: Stream = compile_stream(parse("CREATE STREAM s (t BIGINT, k STRING, v BIGINT) FROM KAFKA 's' FORMAT CSV "
                                      "TIMESTAMP t UNIT s"))
WEEK_MS = 7 * 86_400_000
Tuple = tuple[int, str, int]  # event time, key, value


def plan_of(clauses: str) -> QueryPlan:
    """A plan of a sum by key."""
    sql = f"SELECT k, count(*) AS n, sum(v) AS total FROM s GROUP BY k {clauses}"
    return compile_select(parse(sql), STREAM, True)


def aggregated(plan: QueryPlan, tuples: list[Tuple], first: int = 0) -> pa.Table:
    """The cells of tuples, as a mapper makes them."""
    times, keys, values = (list(column) for column in zip(*tuples, strict=True))
    count = len(tuples)
    columns = {"t": pa.array(times, pa.int64()), "k": pa.array(keys).dictionary_encode(), "v": pa.array(values, pa.int64())}
    return cells.aggregate(plan.aggregation, STREAM, columns, np.array(times, np.int64), None, 0,
                           np.arange(first, first + count), np.zeros(count, np.int32))


@dataclass
class Part:
    """A key part: the working state of its one query, and its last commit."""

    storage: Storage
    query: Query
    number: int
    state: QueryState = field(init=False)
    manifest: Manifest = field(init=False)
    offset: int = 0

    def __post_init__(self) -> None:
        self.manifest = Manifest(0, self.number)
        self.load()

    def load(self) -> None:
        """Begin anew with the last commit, as a new owner does."""
        committed = self.manifest.queries.get(self.query.id)
        wanted = schema(self.query.plan.aggregation, STREAM)
        tables = [decode(self.storage.read(segment), wanted) for segment in committed.state] if committed else []
        self.state = resumed(self.query, STREAM, committed, tables)
        self.offset = committed.positions.get(0, 0) if committed else 0
        if isinstance(self.state, RevisedState) and committed:
            results = [*self.storage.older_results(committed), *committed.results]
            self.state.keep([decode(self.storage.read(result.segment), wanted) for result in still_revised(
                self.query.plan.aggregation, STREAM, committed.watermark, results)])

    def take(self, tuples: list[Tuple]) -> None:
        """Merge tuples."""
        header = Header(0, self.offset, self.offset + len(tuples), {self.query.id: 1}, max(t for t, *_ in tuples), None)
        table = aggregated(self.query.plan, tuples, self.offset)
        counts = {"tuples": len(tuples), "bad": 0, "future": 0, "filtered": 0}
        self.state.accept(Piece(1, header, Share(encode(table), counts, {})))
        self.offset += len(tuples)

    def commit(self, retention_ms: int = WEEK_MS) -> None:
        """Make what was merged the truth."""
        prepared = commit.prepare(self.storage, self.manifest, {self.query.id: self.state}, retention_ms)
        commit.adopt({self.query.id: self.state}, prepared)
        self.manifest = prepared.manifest


@dataclass
class World:
    """Two key parts, and who reads of them."""

    folder: Path
    clauses: str
    parts: list[Part] = field(init=False)

    def __post_init__(self) -> None:
        self.storage = Storage(self.folder.as_uri())
        self.query = Query("q1", "q", plan_of(self.clauses), incarnation=1, start={0: 0})
        self.parts = [Part(self.storage, self.query, number) for number in range(STREAM.key_parts)]
        self.tables = ResultTables(self.storage)

    @property
    def plan(self) -> QueryPlan:
        return self.query.plan

    def snapshot(self) -> Snapshot:
        """The query as of the last commits."""
        return Snapshot(STREAM, self.query, tuple(part.manifest.queries.get("q1") for part in self.parts))

    def changed(self, place: Changes | None, most: int | None = None) -> tuple[list[dict], Changes]:
        """What has changed behind a place, in all blocks or the first ones, and the place behind them."""
        place, rows = begun(place, len(self.parts)), []
        choice = Choice.of(self.plan, Selection(), result_condition)
        for number, block in enumerate(changes.changed(self.tables, self.snapshot(), place, choice)):
            if number == most:
                break
            rows += block.table.to_pylist()
            place = Changes.load(block.chunks[-1].behind.text)
        return rows, place


def row_key(row: dict) -> tuple:
    """What tells rows apart: window and key."""
    return row["window_start"], row["window_end"], row["k"]


def batch(plan: QueryPlan, tuples: list[Tuple]) -> dict[tuple, tuple[int, int]]:
    """What a run over all these tuples gives: (count, sum) of each window and key."""
    if not tuples:
        return {}
    whole = cells.of_windows(plan.aggregation, STREAM, aggregated(plan, tuples))
    rows = cells.finish(plan, STREAM, cells.merge(plan.aggregation, STREAM, [whole])).to_pylist()
    return {row_key(row): (row["n"], row["total"]) for row in rows}
