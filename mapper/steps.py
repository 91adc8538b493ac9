"""The steps from messages to cells, as the computing thread calls them. They know nothing of the outside, so a simulation
can replace them by simpler ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from mapper.aggregate import aggregate_task
from mapper.batch import Messages, ParsedBatch, TaskCells, TaskResult
from mapper.common import Planner
from mapper.parse import Parser
from mapper.timing import Limits, judge
from mars.algebra.cells_wire import encode
from mars.model.plan import QueryPlan, Stream


@dataclass(frozen=True)
class Steps:
    """Step 3, parse and judge, and step 5, aggregate and encode (docs/architecture.md)."""

    parser: Callable[[Stream, tuple[str, ...]], Parser] = Parser
    judge: Callable[[Stream, ParsedBatch, Messages, Limits], ParsedBatch] = judge
    aggregate: Callable[[QueryPlan, Stream, ParsedBatch, int], TaskCells] = aggregate_task
    encode: Callable[[pa.Table], bytes] = encode
    share: Callable[[dict[str, QueryPlan], Stream, object, int], dict[str, int]] = field(default_factory=Planner)

    def result(self, query: str, done: TaskCells) -> TaskResult:
        """What is pushed of a task."""
        parts = [self.encode(part) if part.num_rows else b"" for part in done.parts]
        return TaskResult(query, parts, done.counts, done.bad_reasons, done.max_event_time)
