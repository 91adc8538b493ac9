"""A query's cells straight from blocks of values, for queries of the plainest kind, which most are.

A cell is known by one integer: the numbers of its window and keys, one after the other in as many bits as each needs.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mapper.fused import FusedReader
from mapper.fused_numbers import Cells, Numbers
from mapper.kernels.fused_cells import GREATEST, LEAST, SUM
from mapper.parse_columns import INTEGER_RANGES
from mars.algebra import aggregates
from mars.algebra.cells_layout import schema
from mars.model.expressions import Column, Expression
from mars.model.plan import AggregateCall, QueryPlan

FOLDS = {"sum": SUM, "min": LEAST, "max": GREATEST}
CODE_BITS_MAX = 62


def _bare(expression: Expression | None) -> str:
    """The column's name, as can_count lets nothing else through."""
    assert isinstance(expression, Column)
    return expression.name


class CellTable:
    """The cells of one query and batch, from the values that a reader takes."""

    def __init__(self, plan: QueryPlan, reader: FusedReader) -> None:
        self.plan, self.reader = plan, reader
        assert plan.window is not None, "can_count asks for one"
        self._size, self._time = reader.stream.units(plan.window.size_ms), reader.names.index(reader.stream.time_column)
        self._keys = [reader.names.index(_bare(key.expression)) for key in plan.keys]
        calls = _folded_calls(plan)
        self._arguments = [reader.names.index(_bare(call.argument)) for call in calls]
        self._windows = Numbers()
        self._integers = {k: Numbers() for k in self._keys if not reader.is_text(k)}
        self._cells = Cells([FOLDS[call.function] for call in calls])
        self.clear()

    def clear(self) -> None:
        """Starts anew, without cells."""
        for numbers in (self._windows, *self._integers.values()):
            numbers.clear()
        self._bits = self._bits_needed()
        self.fits = sum(self._bits) <= CODE_BITS_MAX
        if self.fits:
            self._cells.clear(sum(self._bits))

    def count(self, values: np.ndarray) -> None:
        """Counts tuples, a row of values for each column. Once codes have too few bits, `fits` is False, and the cells are
        of no use."""
        parts = [np.empty(values.shape[1], np.int64)]
        self._windows.number(values[self._time], self._size, parts[0])
        for k in self._keys:
            parts.append(np.empty(values.shape[1], np.int64) if k in self._integers else values[k])
            if k in self._integers:
                self._integers[k].number(values[k], 1, parts[-1])
        bits = self._bits_needed()
        self.fits &= sum(bits) <= CODE_BITS_MAX
        if not self.fits:
            return
        if bits != self._bits:
            self._cells.recode(_joined(self._parts(), bits), sum(bits))
            self._bits = bits
        self._cells.count(_joined(parts, bits), [values[k] for k in self._arguments])

    def cells(self) -> pa.Table:
        """All cells so far (mars/algebra/cells.py)."""
        window, *keys = self._parts()
        columns = [pa.array(self._windows.known[window])]
        for k, numbers in zip(self._keys, keys, strict=True):
            values = self._integers[k].known[numbers] if k in self._integers else numbers
            columns.append(self.reader.array(self.reader.names[k], values))
        columns += [pa.array(self._cells.tuples), *(pa.array(row) for row in self._cells.folded)]
        fields = schema(self.plan, self.reader.stream)
        return pa.Table.from_arrays([column if column.type == field.type else column.cast(field.type)
                                     for column, field in zip(columns, fields, strict=True)], schema=fields)

    def _bits_needed(self) -> list[int]:
        """Of a window's and each key's number."""
        counts = [len(self._windows), *(len(self._integers[k]) if k in self._integers else self.reader.text_count(k)
                                        for k in self._keys)]
        return [max(count - 1, 0).bit_length() for count in counts]

    def _parts(self) -> list[np.ndarray]:
        """The numbers of window and keys of each cell."""
        codes, parts = self._cells.known, []
        for bits in reversed(self._bits):
            parts.append(codes & ((1 << bits) - 1))
            codes = codes >> bits
        return parts[::-1]


def _joined(parts: list[np.ndarray], bits: list[int]) -> np.ndarray:
    """One code of the numbers in `parts`, which have so many bits each."""
    codes = parts[0].copy()
    for part, width in zip(parts[1:], bits[1:], strict=True):
        codes <<= width
        codes |= part
    return codes


def can_count(plan: QueryPlan) -> bool:
    """Is the query of that kind? Every tuple that reads counts, in one tumbling window, under keys that are columns; of
    integer columns there are sums, least and greatest values. The kernel takes no NULLs."""
    if plan.where is not None or plan.window is None or plan.window.kind != "tumbling":
        return False
    return (all(isinstance(key.expression, Column) for key in plan.keys)
            and all(aggregates.is_tuple_count(call) or _folds(call) for call in plan.aggregates))


def _folded_calls(plan: QueryPlan) -> list[AggregateCall]:
    """The aggregates that need more than the number of tuples, in the order of their partials in cells."""
    return [call for call in plan.aggregates if not aggregates.is_tuple_count(call)]


def _folds(call: AggregateCall) -> bool:
    return (call.function in FOLDS and call.filter is None and isinstance(call.argument, Column)
            and call.argument.type in INTEGER_RANGES)
