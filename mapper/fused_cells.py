"""A query's cells straight from blocks of values, for queries of the plainest kind, which most are.

A cell is known by one integer: the numbers of its pane and keys, one after the other in as many bits as each needs.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mapper.fused import FusedReader
from mapper.fused_numbers import Cells, Numbers
from mapper.kernels.fused_cells import GREATEST, LEAST, SUM
from mapper.parse_columns import INTEGER_RANGES
from mars.algebra import windows
from mars.algebra.cells_layout import schema
from mars.model.expressions import Column, Expression
from mars.model.partials import Partial
from mars.model.plan import QueryPlan, Stream

FOLDS = {"integer_sum": SUM, "min": LEAST, "max": GREATEST}
CODE_BITS_MAX = 62


def _bare(expression: Expression | None) -> str:
    """The column's name, as can_count lets nothing else through."""
    assert isinstance(expression, Column)
    return expression.name


class CellTable:
    """The cells of one query and batch, from the values that a reader takes."""

    def __init__(self, plan: QueryPlan, reader: FusedReader) -> None:
        self.plan, self.reader, kept = plan, reader, plan.aggregation
        step = windows.of(kept, reader.stream).step
        assert step is not None, "can_count asks for one"
        self._step, self._time = step, reader.names.index(reader.stream.time_column)
        self._keys = [reader.names.index(_bare(key.expression)) for key in kept.keys]
        self._arguments = [reader.names.index(_bare(partial.argument)) for partial in kept.partials]
        self._panes = Numbers()
        self._integers = {k: Numbers() for k in self._keys if not reader.is_text(k)}
        self._cells = Cells([FOLDS[partial.kind] for partial in kept.partials])
        self.clear()

    def clear(self) -> None:
        """Starts anew, without cells."""
        for numbers in (self._panes, *self._integers.values()):
            numbers.clear()
        self._bits = self._bits_needed()
        self.fits = sum(self._bits) <= CODE_BITS_MAX
        if self.fits:
            self._cells.clear(sum(self._bits))

    def count(self, values: np.ndarray) -> None:
        """Counts tuples, a row of values for each column. Once codes have too few bits, `fits` is False, and the cells are
        of no use."""
        parts = [np.empty(values.shape[1], np.int64)]
        self._panes.number(values[self._time], self._step, parts[0])
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
        pane, *keys = self._parts()
        columns = [pa.array(self._panes.known[pane])]
        for k, numbers in zip(self._keys, keys, strict=True):
            values = self._integers[k].known[numbers] if k in self._integers else numbers
            columns.append(self.reader.array(self.reader.names[k], values))
        columns += [pa.array(self._cells.tuples), *(pa.array(row) for row in self._cells.folded)]
        fields = schema(self.plan.aggregation, self.reader.stream)
        return pa.Table.from_arrays([column if column.type == field.type else column.cast(field.type)
                                     for column, field in zip(columns, fields, strict=True)], schema=fields)

    def _bits_needed(self) -> list[int]:
        """Of a pane's and each key's number."""
        counts = [len(self._panes), *(len(self._integers[k]) if k in self._integers else self.reader.text_count(k)
                                        for k in self._keys)]
        return [max(count - 1, 0).bit_length() for count in counts]

    def _parts(self) -> list[np.ndarray]:
        """The numbers of pane and keys of each cell."""
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


def can_count(plan: QueryPlan, stream: Stream) -> bool:
    """Is the query of that kind? Every tuple that reads counts, in panes of one length, under keys that are columns; of
    integer columns there are sums, least and greatest values. The kernel takes no NULLs."""
    kept = plan.aggregation
    kind = windows.of(kept, stream)
    return (kept.where is None and kind.step is not None and not kind.offset
            and all(isinstance(key.expression, Column) for key in kept.keys) and all(map(_folds, kept.partials)))


def _folds(partial: Partial) -> bool:
    return (partial.kind in FOLDS and partial.filter is None and isinstance(partial.argument, Column)
            and partial.argument.type in INTEGER_RANGES)
