"""Whole numbers as bits. Shifts count modulo the number of bits, as in Java."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import masked, numbers
from mars.algebra.evaluation.function import Function, Value, all_valid, arrays


def _shift(direction: np.ufunc, unsigned: bool = False) -> Function:
    def compute(arguments: list[Value], type_: str) -> pa.Array:
        columns = arrays(arguments)
        values, kind = numbers(columns[0]), columns[0].type.to_pandas_dtype()
        size = columns[0].type.bit_width
        count = (numbers(columns[1]) & np.int32(size - 1)).astype(kind)
        if unsigned:
            word = np.uint64 if size == 64 else np.uint32
            values, count = values.view(word), count.astype(word)
        return masked(direction(values, count).view(kind), all_valid(columns), columns[0].type)
    return Function(compute)


FUNCTIONS = {
    "bitwise_and": Function(lambda arguments, type_: pc.bit_wise_and(*arguments)),
    "bitwise_or": Function(lambda arguments, type_: pc.bit_wise_or(*arguments)),
    "bitwise_xor": Function(lambda arguments, type_: pc.bit_wise_xor(*arguments)),
    "bitwise_not": Function(lambda arguments, type_: pc.bit_wise_not(arguments[0])),
    "shiftleft": _shift(np.left_shift), "shiftright": _shift(np.right_shift),
    "shiftrightunsigned": _shift(np.right_shift, unsigned=True),
}
