"""Comparisons of values of one type in Spark's order: NaN equals NaN and is the greatest, -0 equals 0, text by its bytes."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import masked, order_keys, valid_mask
from mars.algebra.evaluation.function import Function, Value


def ordered(value: Value) -> Value:
    """The value in a form that Arrow compares as Spark does: floats become sortable integers."""
    if isinstance(value, pa.Scalar) and pa.types.is_floating(value.type):
        return ordered(pa.repeat(value, 1))[0]
    if pa.types.is_floating(value.type):
        return masked(order_keys(value), valid_mask(value), pa.int64())
    return value


def compare(arrow: Callable, left: Value, right: Value) -> Value:
    """BOOLEAN of an Arrow comparison; NULL where a side is NULL."""
    return arrow(ordered(left), ordered(right))


def _comparison(arrow: Callable) -> Function:
    return Function(lambda arguments, type_: compare(arrow, *arguments))


def _null_safe_equal(arguments: list[Value], type_: str) -> pa.Array:
    both_null = pc.and_(*(pc.is_null(argument) for argument in arguments))
    return pc.coalesce(compare(pc.equal, *arguments), both_null)


def _in(arguments: list[Value], type_: str) -> pa.Array:
    value, *members = arguments
    if any(isinstance(member, pa.Array) for member in arguments[1:]):
        return _in_columns(value, members)
    value, members = ordered(value), [ordered(member) for member in members]
    known = pa.array([member for member in members if member.is_valid], value.type)
    found = pc.is_in(value, value_set=known)
    missing = pa.scalar(None if len(known) < len(members) else False, pa.bool_())
    return pc.if_else(pc.is_null(value), pa.scalar(None, pa.bool_()), pc.if_else(found, found, missing))


def _in_columns(value: Value, members: list[Value]) -> pa.Array:
    result = pa.scalar(False)
    for member in members:
        result = pc.or_kleene(result, compare(pc.equal, value, member))
    return result


def _extreme(better: Callable) -> Function:
    """greatest and least: NULL is ignored, and the first of equal values stays."""
    def compute(arguments: list[Value], type_: str) -> pa.Array:
        best = arguments[0]
        for other in arguments[1:]:
            replace = pc.coalesce(compare(better, other, best), pc.is_null(best))
            best = pc.if_else(replace, other, best)
        return best
    return Function(compute, by_value=False)


def _nullif(arguments: list[Value], type_: str) -> pa.Array:
    left, right = arguments
    same = pc.coalesce(compare(pc.equal, left, right), pa.scalar(False))
    return pc.if_else(same, pa.scalar(None, left.type), left)


FUNCTIONS = {
    "eq": _comparison(pc.equal), "ne": _comparison(pc.not_equal), "lt": _comparison(pc.less),
    "le": _comparison(pc.less_equal), "gt": _comparison(pc.greater), "ge": _comparison(pc.greater_equal),
    "null_safe_eq": Function(_null_safe_equal, by_value=False), "in": Function(_in),
    "greatest": _extreme(pc.greater), "least": _extreme(pc.less), "nullif": Function(_nullif, by_value=False),
}
