"""How a scalar function is declared, and the steps that most of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import numbers

Value: TypeAlias = pa.Array | pa.Scalar


@dataclass(frozen=True)
class Function:
    """`compute(arguments, type)` gives the result for arguments of which at least one is an array.

    `by_value` promises that NULL in gives NULL out and that rows do not depend on each other, so that the function may be
    computed on the values of a dictionary. `setting` is the place of the argument that must be a constant by the
    function's rule: it is always passed as a scalar.
    """

    compute: Callable[[list[Value], str], pa.Array]
    by_value: bool = True
    setting: int | None = None


def arrays(arguments: list[Value]) -> list[pa.Array]:
    """The arguments as arrays of one length."""
    length = next(len(a) for a in arguments if isinstance(a, pa.Array))
    return [pa.repeat(a, length) if isinstance(a, pa.Scalar) else a for a in arguments]


def all_valid(arguments: list[pa.Array]) -> np.ndarray | None:
    """bool[n]: no argument is NULL; None if there is no NULL at all."""
    if not any(a.null_count for a in arguments):
        return None
    valid = arguments[0].is_valid()
    for argument in arguments[1:]:
        valid = pc.and_(valid, argument.is_valid())
    return valid.to_numpy(zero_copy_only=False)


def on_doubles(compute: Callable[..., np.ndarray]) -> Callable[[list[Value], str], pa.Array]:
    """A function of numpy doubles as one of Arrow arrays: NULL in, NULL out; no warnings for NaN and infinities."""
    def run(arguments: list[Value], type_: str) -> pa.Array:
        columns = arrays(arguments)
        with np.errstate(all="ignore"):
            values = compute(*(numbers(column) for column in columns))
        valid = all_valid(columns)
        return pa.array(values, mask=None if valid is None else ~valid)
    return run
