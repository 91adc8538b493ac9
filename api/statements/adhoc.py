"""Runs a SELECT over a stream, given alone: once over what the topic holds, as a Spark aggregation.

Each task reads one offset range with the mappers' code and gives cells. Spark brings the cells of a key part together,
where they are merged. The result is finished, ordered and cut here.
"""

from __future__ import annotations

import json
import math
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from api.statements import adhoc_job
from api.statements.adhoc_job import COUNTS, FAULT, OffsetRange, Part, Task
from api.statements.context import Context
from mars.algebra import cells
from mars.errors import MarsError, NotReadyError, SqlError
from mars.model import types
from mars.model.expressions import Literal
from mars.model.partials import kept_once
from mars.model.plan import QueryPlan, Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_MAX = 10_000
RANGE_MIN, RANGE_MAX = 20_000, 1_000_000
TASKS_WANTED = 16
POLL_S = 0.1

Progress = Callable[[int, int], bool]


@dataclass
class Found:
    """Rows, whether more were left out, and what was counted on the way (as aggregate_task counts)."""

    rows: pa.Table
    truncated: bool = False
    counts: dict[str, int] = field(default_factory=dict)


def run(context: Context, stream: Stream, plan: QueryPlan, starts: dict[int, int], ends: dict[int, int],
        progress: Progress) -> Found:
    """The rows of the plan over the offsets [starts, ends). `progress(done, total)` is called now and then, and stops the
    statement by returning False (SqlError)."""
    whole = [(p, starts[p], ends[p]) for p in sorted(starts) if starts[p] < ends[p]]
    if not plan.grouped:
        return _show_tuples(context, stream, plan, whole, progress)
    table, counts = _aggregate(context, Task(context.config, stream, plan, split(whole)), progress)
    without_keys = plan.aggregation.window is None and not plan.aggregation.keys
    rows = row_of_nothing(plan, stream) if without_keys and not len(table) else \
        cells.finish(plan, stream, cells.of_windows(plan.aggregation, stream, table))
    if plan.presentation.order_by:
        rows = _ordered(context, plan, rows)
    return _cut(plan, rows, counts)


def row_of_nothing(plan: QueryPlan, stream: Stream) -> pa.Table:
    """The result of aggregates without keys over no tuple, as in SQL: one row, with counts of 0 and NULL for the rest. It
    is computed from one made-up tuple that no aggregate selects."""
    nobody = Literal(False, "BOOLEAN")
    calls = tuple(replace(call, filter=nobody) for call in plan.presentation.aggregates)
    aggregation = replace(plan.aggregation, partials=kept_once(calls))
    plan = replace(plan, aggregation=aggregation, presentation=replace(plan.presentation, aggregates=calls))
    columns = {c.name: pa.nulls(1, types.to_arrow(c.type)) for c in stream.columns}
    zero = np.zeros(1, np.int64)
    table = cells.aggregate(aggregation, stream, columns, zero, None, 0, zero, zero.astype(np.int32))
    return cells.finish(plan, stream, table)


def split(ranges: list[OffsetRange]) -> list[OffsetRange]:
    """The ranges divided for Spark tasks: several for each slot, but none so small that starting it would cost the
    most."""
    total = sum(end - start for _, start, end in ranges)
    size = min(RANGE_MAX, max(RANGE_MIN, math.ceil(total / TASKS_WANTED)))
    return [(p, first, min(first + size, end)) for p, start, end in ranges for first in range(start, end, size)]


def _aggregate(context: Context, task: Task, progress: Progress) -> tuple[pa.Table, dict[str, int]]:
    """The merged cells of all ranges, and the counters."""
    plan, stream = task.plan, task.stream
    empty = cells.schema(plan.aggregation, stream).empty_table()
    if not task.ranges:
        return empty, {}
    found: dict[int, bytes] = dict(_on_spark(context, task, progress))
    if FAULT in found:
        raise adhoc_job.fault(found[FAULT])
    counts = json.loads(found.pop(COUNTS, b"{}"))
    return cells.merge(plan.aggregation, stream, [empty, *(cells.decode(data) for data in found.values())]), counts


def _on_spark(context: Context, task: Task, progress: Progress) -> list[Part]:
    """Runs the job on a thread of its own, so that progress can be reported and the job cancelled."""
    if context.spark is None:
        raise NotReadyError("Spark is not up yet", "a SELECT over a stream runs on it", "try again in some seconds")
    spark, group = context.spark, f"adhoc-{uuid.uuid4().hex}"
    answer, failure = [], []

    def collect() -> None:
        try:
            spark.sparkContext.setJobGroup(group, "ad-hoc SELECT", interruptOnCancel=True)
            tasks = min(len(task.ranges), adhoc_job.PACED) if task.plan.rate else len(task.ranges)
            numbers = spark.sparkContext.parallelize(range(len(task.ranges)), tasks)
            gathered = numbers.flatMap(adhoc_job.mapping(task)).groupByKey(task.stream.key_parts)
            answer.extend(gathered.map(adhoc_job.merging(task)).collect())
        except Exception as error:  # PySpark and py4j raise without a common class
            failure.append(error)

    thread = threading.Thread(target=collect, name=group, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(POLL_S)
        if context.shutdown.is_set() or not progress(_done(spark, group), len(task.ranges)):
            spark.sparkContext.cancelJobGroup(group)
            raise SqlError("the statement was stopped", "on request")
    if failure:
        raise MarsError("the Spark job failed", str(failure[0]).split("\n")[0], "the server's log has the details")
    return answer


def _done(spark: SparkSession, group: str) -> int:
    """How many ranges the job's first stages have finished."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for job in tracker.getJobIdsForGroup(group)
              if (info := tracker.getJobInfo(job)) for stage in info.stageIds]
    return max((stage.numCompletedTasks for stage in stages if stage), default=0)


def _show_tuples(context: Context, stream: Stream, plan: QueryPlan, ranges: list[OffsetRange],
                 progress: Progress) -> Found:
    """The tuples themselves, read directly. No more than needed, unless ORDER BY needs all."""
    wanted = (ROWS_MAX if plan.presentation.limit is None else plan.presentation.limit) + 1
    total, bad, seen = sum(end - start for _, start, end in ranges), 0, 0
    rows = adhoc_job.schema(plan).empty_table()

    def stopped() -> bool:
        return context.shutdown.is_set() or not progress(min(seen, total), total)

    for table, looked_at, unreadable in adhoc_job.tuples(context.config, stream, plan, ranges, stopped):
        rows = pa.concat_tables([rows, table])
        bad, seen = bad + unreadable, seen + looked_at
        if plan.presentation.order_by and len(rows) > 4 * wanted + ROWS_MAX:
            rows = _ordered(context, plan, rows).slice(0, wanted)
        elif not plan.presentation.order_by and len(rows) >= wanted:
            break
    if stopped():
        raise SqlError("the statement was stopped", "on request")
    if plan.presentation.order_by:
        rows = _ordered(context, plan, rows)
    return _cut(plan, rows, {"tuples": seen, "bad": bad})


def _ordered(context: Context, plan: QueryPlan, rows: pa.Table) -> pa.Table:
    """ORDER BY, with NULL as the least value; ties keep their order."""
    shift = 2 if plan.aggregation.window else 0  # outputs follow the two columns of the window
    terms = [f"#{index + shift + 1} {'DESC NULLS LAST' if descending else 'ASC NULLS FIRST'}"
             for index, descending in plan.presentation.order_by]
    names = [f"c{i}" for i in range(rows.num_columns)]
    numbered = rows.rename_columns(names).append_column("place", pa.array(range(len(rows)), pa.int64()))
    order = ", ".join([*terms, "place"])
    found = context.engine.run(f"SELECT * FROM result ORDER BY {order}", {"result": numbered})
    return found.drop_columns(["place"]).rename_columns(rows.column_names).cast(rows.schema)


def _cut(plan: QueryPlan, rows: pa.Table, counts: dict[str, int]) -> Found:
    most = ROWS_MAX if plan.presentation.limit is None else plan.presentation.limit
    return Found(rows.slice(0, most), plan.presentation.limit is None and len(rows) > most, counts)
