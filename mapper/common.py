"""What the tasks of one batch have in common, computed once: which tuples count, their groups, and cells that tasks share.
mapper/sharing.py says which tasks that are. It lasts as long as the batch."""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapper.aggregate import Read, reading
from mapper.batch import ParsedBatch, TaskCells
from mapper.sharing import Choice, Shape, Sharing, Task, sharing_of
from mars.algebra.cells_wire import parts_of
from mars.algebra.common.groupings import Groupings
from mars.algebra.common.tuples import Slots, Tuples, known_values
from mars.algebra.common.wanted import phantoms
from mars.algebra.evaluate import evaluate
from mars.algebra.evaluation.arrays import coded, codes_of, is_coded, single, valid_mask
from mars.algebra.ordering import by_number
from mars.algebra.partials import Order
from mars.model.expressions import Column, Constant
from mars.model.plan import Aggregation, QueryPlan, Stream

log = logging.getLogger("mars.mapper")
PLANS_MAX = 8  # what sets of queries have in common, kept from batch to batch
CHOSEN_MAX = 4  # filters whose tuples are kept: tasks come in their order


@dataclass(frozen=True)
class Divided:
    """The tuples of a batch by the constant that a column equals: those of the i-th one are
    rows[starts[i]:starts[i + 1]], ascending."""

    rows: np.ndarray
    starts: np.ndarray
    places: dict[Constant, int]

    def of(self, constants: tuple[Constant, ...]) -> tuple[np.ndarray, np.ndarray]:
        """(numbers of their tuples, one constant after the other; how many each has)."""
        places = [self.places[constant] for constant in constants]
        ends = self.starts[np.array(places, np.int64) + 1]
        counts = ends - self.starts[places]
        if places == list(range(len(self.places))):
            return self.rows[:self.starts[-1]], counts
        return np.concatenate([self.rows[end - count:end] for end, count in zip(ends, counts, strict=True)]), counts


class Chosen:
    """The tuples of one choice, and what tasks make of them."""

    def __init__(self, common: Common, choice: Choice) -> None:
        self.read = common.read(choice.bad, choice.max_ahead_ms)
        rows, slots = common.rows(choice, self.read)
        batch = common.batch
        order = Order(batch.event_time, common.partition, batch.offset, batch.line)
        self.tuples = Tuples(batch.columns, order, rows, slots)
        self.key_parts = common.stream.key_parts
        self._groupings = Groupings(self.tuples, self.key_parts)
        self._tops: list | None = choice.tops
        self._parts: dict[Shape, list[pa.Table]] = {}

    @cached_property
    def counted(self) -> list[int]:
        """How many tuples each slot has."""
        slots = self.tuples.slots
        return [len(self.tuples)] if slots is None else np.bincount(slots.numbers, minlength=slots.count).tolist()

    def parts(self, task: Task) -> list[pa.Table]:
        """The task's cells by key part."""
        parts = self._parts.get(task.shape)
        if parts is None:
            parts = self._made(task.shape)
            if self.tuples.slots is not None:  # other tasks have the other slots
                self._parts[task.shape] = parts
        return parts[task.slot * self.key_parts:(task.slot + 1) * self.key_parts]

    def _made(self, shape: Shape) -> list[pa.Table]:
        if self._tops is not None:
            for phantom in phantoms(self._tops, self.tuples):
                self._groupings.of(phantom)
            self._tops = None
        grouping = self._groupings.of(shape.wanted)
        return parts_of(grouping.table(shape.aggregation, shape.schema), grouping.starts)


class Common:
    """One batch, with what `sharing` says of its tasks."""

    def __init__(self, sharing: Sharing, stream: Stream, batch: ParsedBatch, partition: int) -> None:
        self.sharing, self.stream, self.batch, self.partition = sharing, stream, batch, partition
        self._known = known_values()
        self._read: dict[tuple[tuple[str, ...], int | None], Read] = {}
        self._divided: dict[Column, Divided] = {}
        self._chosen: OrderedDict[int, Chosen] = OrderedDict()

    def task(self, aggregation: Aggregation) -> TaskCells:
        """The cells and counters of a task, as mapper/aggregate.py makes them for it alone."""
        task = self.sharing.tasks[aggregation.cells_name]
        chosen = self._chosen.get(id(task.choice))
        if chosen is None:
            chosen = self._chosen[id(task.choice)] = Chosen(self, task.choice)
            if len(self._chosen) > CHOSEN_MAX:
                self._chosen.popitem(last=False)
        return chosen.read.result(chosen.parts(task), chosen.counted[task.slot],
                                  self.batch.judged[aggregation.max_ahead_ms].max_event_time)

    def read(self, columns: tuple[str, ...], max_ahead_ms: int | None) -> Read:
        """Which tuples read, in these columns that have bad values, and are not future."""
        found = self._read.get((columns, max_ahead_ms))
        if found is None:
            found = self._read[columns, max_ahead_ms] = reading(columns, max_ahead_ms, self.stream, self.batch)
        return found

    def rows(self, choice: Choice, read: Read) -> tuple[np.ndarray | None, Slots | None]:
        """(the numbers of the choice's tuples, None for all; their slots if they have some)."""
        filter_, timely = choice.filter, read.timely
        if filter_.column is None:
            if filter_.rest is not None:
                holds = evaluate(filter_.rest, self.batch.columns, len(self.batch), self._known).fill_null(False)
                timely = timely & holds.to_numpy(zero_copy_only=False)
            return None if timely.all() else np.flatnonzero(timely), None
        rows, counts = self.divided(filter_.column).of(filter_.constants)
        slots = np.repeat(np.arange(len(counts)), counts) if choice.is_divided else None
        if slots is None and len(counts) > 1:
            rows = np.sort(rows)
        if not read.all_timely:
            rows, slots = _kept(timely[rows], rows, slots)
        if filter_.rest is not None:
            some = Tuples(self.batch.columns, Order(self.batch.event_time, 0, rows, rows), rows)
            rows, slots = _kept(some.value(filter_.rest).fill_null(False).to_numpy(zero_copy_only=False), rows, slots)
        return rows, None if slots is None else Slots(slots, len(counts))

    def divided(self, column: Column) -> Divided:
        """The tuples by the constants that filters compare this column with."""
        found = self._divided.get(column)
        if found is None:
            constants = self.sharing.constants[column]
            numbers = _numbers(single(self.batch.columns[column.name]), constants)
            rows, starts = by_number(numbers, len(constants) + 1)
            found = Divided(rows, starts[:-1], {constant: place for place, constant in enumerate(constants)})
            self._divided[column] = found
        return found


def _kept(holds: np.ndarray, rows: np.ndarray, slots: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    if holds.all():
        return rows, slots
    return rows[holds], None if slots is None else slots[holds]


def _numbers(column: pa.Array, constants: tuple[Constant, ...]) -> np.ndarray:
    """int32: which of the constants each value is; the number after them for any other, and for NULL."""
    other = len(constants)
    if not (is_coded(column) or pa.types.is_string(column.type)):
        found = pc.index_in(column, value_set=pa.array(constants, column.type))
        return found.fill_null(other).to_numpy().copy()
    column = coded(column)
    if not len(column.dictionary):
        return np.full(len(column), other, np.int32)
    of_code = pc.index_in(column.dictionary, value_set=pa.array(constants, pa.string())).fill_null(other).to_numpy()
    valid = valid_mask(column)
    numbers = of_code[codes_of(column)]
    return numbers if valid is None else np.where(valid, numbers, np.int32(other))


class Planner:
    """Finds what tasks have in common, and enters it into their batch. What is known of sets of queries lasts."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple, Sharing] = OrderedDict()

    def __call__(self, plans: dict[str, QueryPlan], stream: Stream, batch: object, partition: int) -> dict[str, int]:
        """The order in which the queries' tasks are computed best; empty if they have nothing in common, or the batch is no
        parsed one."""
        if not isinstance(batch, ParsedBatch) or len(plans) < 2:
            return {}
        named = {plan.aggregation.cells_name: plan.aggregation for plan in plans.values()}
        if len(named) < 2:
            return {}
        try:
            sharing = self._sharing(named, stream, frozenset(batch.bad))
        except Exception:  # a plan that this code does not know: it is refused by itself
            log.exception("what queries have in common is not found; each is computed by itself")
            return {}
        common = Common(sharing, stream, batch, partition)
        batch.common = common.task
        place = {name: number for number, name in enumerate(sharing.tasks)}
        return {query: place[plan.aggregation.cells_name] for query, plan in plans.items()}

    def _sharing(self, named: dict[bytes, Aggregation], stream: Stream, bad: frozenset[str]) -> Sharing:
        name = (stream.id, tuple(named), bad)
        found = self._known.pop(name, None) or sharing_of(list(named.values()), stream, bad)
        self._known[name] = found  # the most recently used one is last
        if len(self._known) > PLANS_MAX:
            self._known.popitem(last=False)
        return found
