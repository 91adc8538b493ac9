"""Pieces of a log without Redis: a query over two partitions, ranges of tuples and their cells."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.adapters.storage import Storage
from mars.algebra import cells
from mars.algebra.cells_wire import encode
from mars.model.commits import QueryCommit, ResultSegment
from mars.model.entries import Header, Share
from mars.model.plan import QueryPlan, Stream
from mars.model.registry import Query
from mars.results.tables import ResultTables
from reducer.state.merge import Piece, QueryState
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse

STREAM: Stream = compile_stream(parse("CREATE STREAM s (t BIGINT, k BIGINT) FROM KAFKA 's' FORMAT CSV TIMESTAMP t UNIT s"))
PLAN: QueryPlan = compile_select(parse(
    "SELECT k, t, count(*), sum(k) FROM s GROUP BY k, t WINDOWING 10 s WATERMARK 2 s IDLE 1 s GRACE 3 s"), STREAM, True)
QUERY = Query("q1", "q", PLAN, incarnation=1, start={0: 0, 1: 0})
NOW_MS = 1_000_000


def fresh(query: Query = QUERY) -> QueryState:
    """A query that has merged nothing."""
    return QueryState.resume(query, STREAM, None, [])


def piece(seq: int, partition: int, start: int, times: list[int], end: int | None = None, plan: QueryPlan = PLAN) -> Piece:
    """The tuples of offsets from `start` on, one a second of `times`, with key offset % 3."""
    end = start + len(times) if end is None else end
    offsets = np.arange(start, start + len(times))
    table = cells.aggregate(plan.aggregation, STREAM, {"k": pa.array(offsets % 3), "t": pa.array(times, pa.int64())},
                            np.array(times, np.int64), None, partition, offsets, np.zeros(len(times), np.int32))
    counts = {"tuples": len(times), "bad": 0, "future": 0, "filtered": 0}
    header = Header(partition, start, end, {"q1": 1}, max(times, default=None), (4, end))
    return Piece(seq, header, Share(encode(table) if times else b"", counts, {"k: not a number": len(times)}))


def content(state: QueryState) -> dict[tuple, tuple]:
    """(window, key) -> (tuples, sum) of all open cells."""
    merged = cells.merge(PLAN.aggregation, STREAM, state.open + state.delta)
    return {(row["w"], row["k0"]): tuple(value for name, value in row.items() if name not in ("w", "k0"))
            for row in merged.to_pylist()}


def rows_of(storage: Storage, result: ResultSegment, plan: QueryPlan = PLAN) -> list[dict]:
    """The rows of a result segment, in the order of their windows and keys."""
    rows = ResultTables(storage).rows(result, plan, STREAM)
    return rows.sort_by([(name, "ascending") for name in ("window_start", *rows.column_names[2:])]).to_pylist()


def result_segments(storage: Storage, query: QueryCommit) -> list[ResultSegment]:
    """All result segments of a query in a key part, oldest first."""
    return [*storage.older_results(query), *query.results]
