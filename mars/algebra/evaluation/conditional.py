"""Three-valued logic and the functions that choose between values. A condition that is NULL does not hold."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.function import Function, Value


def _case(arguments: list[Value], type_: str) -> Value:
    """Later branches are put under earlier ones, from the ELSE upwards."""
    result = arguments[-1]
    for place in range(len(arguments) - 3, -1, -2):
        holds = pc.coalesce(arguments[place], pa.scalar(False))
        result = pc.if_else(holds, arguments[place + 1], result)
    return result


def _is_nan(arguments: list[Value], type_: str) -> Value:
    return pc.coalesce(pc.is_nan(arguments[0]), pa.scalar(False))


FUNCTIONS = {
    "and": Function(lambda arguments, type_: pc.and_kleene(*arguments), by_value=False),
    "or": Function(lambda arguments, type_: pc.or_kleene(*arguments), by_value=False),
    "not": Function(lambda arguments, type_: pc.invert(arguments[0])),
    "is_null": Function(lambda arguments, type_: pc.is_null(arguments[0]), by_value=False),
    "is_not_null": Function(lambda arguments, type_: pc.is_valid(arguments[0]), by_value=False),
    "is_nan": Function(_is_nan, by_value=False),
    "case": Function(_case, by_value=False),
    "if": Function(_case, by_value=False),
    "coalesce": Function(lambda arguments, type_: pc.coalesce(*arguments), by_value=False),
}
