"""Groups of tuples, and the partials of each: from the tuples, or from finer groups that are there already."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property

import numpy as np
import pyarrow as pa

from mars.algebra import hashing, partials
from mars.algebra.cells_layout import table_of
from mars.algebra.cells_merge import named
from mars.algebra.common.tuples import Tuples
from mars.algebra.common.wanted import Wanted
from mars.algebra.evaluation.arrays import read_only, taken, valid_mask
from mars.algebra.grouping import Groups, group
from mars.algebra.ordering import by_number, first_of_each
from mars.algebra.partials import Input, Order
from mars.algebra.partials.sets import lists_of
from mars.algebra.partials.sums import sum_integers
from mars.algebra.windows import Gathered
from mars.model.partials import Partial
from mars.model.plan import Aggregation

KEPT = 32  # groupings of the same tuples
# What one partial of several is, bit by bit, that of all their tuples, in whatever order they come.
EXACT = frozenset(("count", "integer_sum", "decimal_sum", "first", "last", "min_by", "max_by", "hll", "bins"))
EXTREMES, INEXACT_TYPES = frozenset(("min", "max")), frozenset(("FLOAT", "DOUBLE"))  # NaN has many bits
WHOLE_MAX = 2**53  # whole numbers up to here are exact as doubles
ORDERED = frozenset(("first", "last", "min_by", "max_by", "earliest"))  # kinds that ask for the order of tuples
NO_ORDER = Order(np.empty(0, np.int64), 0, np.empty(0, np.int64), np.empty(0, np.int32))


class Groupings:
    """Groupings of the same tuples, the ones that were used last. `key_parts` are the stream's."""

    def __init__(self, tuples: Tuples, key_parts: int) -> None:
        self.tuples, self.key_parts = tuples, key_parts
        self._made: OrderedDict[Wanted, Grouping] = OrderedDict()

    def of(self, wanted: Wanted) -> Grouping:
        """The grouping. It is made of the smallest one that is finer, if there is one."""
        found = self._made.get(wanted)
        if found is None:
            finer = min((held for held in self._made.values() if held.wanted.refines(wanted)),
                        key=lambda held: held.count, default=None)
            found = self._made[wanted] = Grouping(self.tuples, wanted, self.key_parts, finer)
            if len(self._made) > KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(wanted)
        return found


class Grouping:
    """One cell for each slot of the tuples, keys and pane. Cells are numbered by slot and key part, and within those in the
    order of their first tuples: cells of a slot's key part are those from starts[slot * key parts + part] on."""

    def __init__(self, tuples: Tuples, wanted: Wanted, key_parts: int, finer: Grouping | None) -> None:
        self.tuples, self.wanted, self.finer = tuples, wanted, finer
        found, rows = self._gathered(finer)
        first_row = found.groups.first_row if rows is None else rows[found.groups.first_row]
        slot, slots = _slots(tuples, wanted, first_row, key_parts)
        order, self.starts = by_number(slot, slots)
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        self.count, self.first_row, self._in_time = len(order), first_row[order], place
        self.panes, self.lasts = found.panes[order], None if found.lasts is None else found.lasts[order]
        numbers = place[found.groups.ids]
        self._of_finer: np.ndarray | None = None
        if finer is None:
            self._ids = numbers
        else:
            self._of_finer = np.empty(finer.count, np.int32)
            self._of_finer[finer._in_time] = numbers
        self._kept: dict[tuple, list[pa.Array]] = {}
        self._firsts: dict[tuple, np.ndarray] = {}

    def _gathered(self, finer: Grouping | None) -> tuple[Gathered, np.ndarray | None]:
        """Which tuples become one cell: of all of them, or of the first ones of finer cells, whose numbers are told, too."""
        tuples, wanted = self.tuples, self.wanted
        keys, times, slots = [tuples.key(key) for key in wanted.keys], tuples.time, tuples.slots
        rows = None if finer is None else finer.first_row[finer._in_time]
        if rows is not None:
            keys, times = [taken(key, rows) for key in keys], times[rows]
        if slots is not None:
            keys = [pa.array(slots.numbers if rows is None else slots.numbers[rows]), *keys]
        panes = wanted.panes(times)
        if wanted.is_plain:
            groups = group(keys, panes)
            return Gathered(groups, panes[groups.first_row]), rows
        assert wanted.kind is not None, wanted
        return wanted.kind.gather(keys, panes, times), rows

    @cached_property
    def ids(self) -> np.ndarray:
        """The number of each tuple's cell."""
        if self.finer is None or self._of_finer is None:
            return self._ids
        return self._of_finer[self.finer.ids]

    @cached_property
    def is_finer(self) -> bool:
        """Are the cells those of the finer grouping, under the same numbers?"""
        return (self.finer is not None and self._of_finer is not None and self.count == self.finer.count
                and np.array_equal(self._of_finer, np.arange(self.count)))

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many tuples each cell has."""
        if self.finer is None or self._of_finer is None:
            return read_only(np.bincount(self.ids, minlength=self.count).astype(np.int64, copy=False))
        return read_only(sum_integers(self._of_finer, self.finer.sizes, self.count))

    def table(self, aggregation: Aggregation, schema: pa.Schema) -> pa.Table:
        """The cells with the partials of an aggregation that wants this grouping."""
        keys = [self.tuples.key(key) for key in self.wanted.keys]
        found = Gathered(Groups(np.empty(0, np.int32), self.first_row), self.panes, self.lasts)
        columns = named(found, keys, self.sizes)
        for partial in aggregation.partials:
            columns += self.partial(partial)
        return table_of(columns, schema)

    def partial(self, partial: Partial) -> list[pa.Array]:
        """The columns of a partial."""
        name = (partial.kind, partial.of)
        found = self._kept.get(name)
        if found is None:
            found = self._kept[name] = self._made(partial)
        return found

    def _made(self, partial: Partial) -> list[pa.Array]:
        finer = self.finer
        if finer is not None and self._of_finer is not None:
            if self.is_finer:
                return finer.partial(partial)
            if 2 * finer.count <= len(self.tuples) and self._is_exact(partial):
                return partials.merge(partial, finer.partial(partial), self._of_finer, self.count)
        given = self.tuples.given(partial.argument, partial.second, partial.filter)
        ids = self.ids if given.rows is None else self.ids[given.rows]
        if partial.kind == "distinct":
            assert given.values is not None, partial
            return [lists_of(partial, given.values, self._first_tuples(partial, ids), ids, self.count)]
        order = given.order if partial.kind in ORDERED else NO_ORDER
        return partials.update(partial, Input(given.values, ids, self.count, order, given.second))

    def _first_tuples(self, partial: Partial, ids: np.ndarray | None = None) -> np.ndarray:
        """Of tuples that the partial's FILTER lets through the first one of each cell and value, ascending."""
        name = (partial.argument, partial.filter)
        found = self._firsts.get(name)
        if found is None:
            found = self._firsts[name] = self._new_first_tuples(partial, ids)
        return found

    def _new_first_tuples(self, partial: Partial, ids: np.ndarray | None) -> np.ndarray:
        assert partial.argument is not None, partial
        given = self.tuples.given(partial.argument, partial.second, partial.filter)
        if ids is None:
            ids = self.ids if given.rows is None else self.ids[given.rows]
        codes = self.tuples.codes(partial.argument, partial.filter)
        if self.finer is not None:  # what is not the first one there is not the first one here
            rows: np.ndarray | None = self.finer._first_tuples(partial)
        else:
            assert given.values is not None, partial
            valid = valid_mask(given.values)
            rows = None if valid is None else np.flatnonzero(valid)
        if rows is None:
            return first_of_each(codes, ids, self.count)
        return rows[first_of_each([(part[rows], size) for part, size in codes], ids[rows], self.count)]

    def _is_exact(self, partial: Partial) -> bool:
        """Is the merge of partials of parts the partial of all tuples, bit by bit?"""
        if partial.kind in EXACT:
            return True
        if partial.kind in EXTREMES:
            return partial.argument_type not in INEXACT_TYPES
        return partial.kind == "double_sum" and self._sums_are_whole(partial)

    def _sums_are_whole(self, partial: Partial) -> bool:
        """Do doubles hold each sum of the partial's arguments, which are integers?"""
        assert partial.argument is not None, partial
        if partial.argument_type not in ("INT", "BIGINT"):
            return False
        return self.tuples.greatest_size(partial.argument) * len(self.tuples) <= WHOLE_MAX


def _slots(tuples: Tuples, wanted: Wanted, first_row: np.ndarray, key_parts: int) -> tuple[np.ndarray, int]:
    """(slot * key parts + key part of each cell, how many there are)."""
    keys = [taken(tuples.key(key), first_row) for key in wanted.keys]
    part = hashing.part_of(keys, key_parts, len(first_row))
    if tuples.slots is None:
        return part, key_parts
    return tuples.slots.numbers[first_row] * key_parts + part, tuples.slots.count * key_parts
