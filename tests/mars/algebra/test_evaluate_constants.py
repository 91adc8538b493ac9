"""Every function and cast of constants alone: the value is that of the same constants in columns, which
test_evaluate_against_spark compares with Spark."""

from decimal import Decimal

import pyarrow as pa
import pytest

from mars.algebra.evaluate import evaluate
from mars.algebra.functions import SCALARS
from mars.model import types
from mars.model.expressions import Call, Column, Expression, Literal
from tests.mars.algebra.test_evaluate_against_spark import VALUES, cases_of, same, typed

HUGE = 2**31 - 1


def functions_in(expression: Expression) -> set[str]:
    if not isinstance(expression, Call):
        return set()
    return {expression.function}.union(*map(functions_in, expression.arguments))


def with_constants(expression: Expression, row: dict) -> Expression:
    """The expression with the row's values in place of its columns."""
    if isinstance(expression, Column):
        value = row[expression.name]
        has_text = value is not None and (types.decimal_parts(expression.type) or expression.type in ("DATE", "TIMESTAMP"))
        return Literal(str(value) if has_text else value, expression.type)
    if isinstance(expression, Call):
        return Call(expression.function, tuple(with_constants(a, row) for a in expression.arguments), expression.type)
    return expression


@pytest.mark.parametrize("type_", VALUES)
def test_constants_give_what_columns_give(type_):
    wrong, arrow = [], types.to_arrow(type_)
    for a, b in zip(VALUES[type_], VALUES[type_][3:] + VALUES[type_][:3], strict=True):
        columns = {"a": pa.array([a], arrow), "b": pa.array([b], arrow)}
        for sql, expression in cases_of(type_):
            of_columns = evaluate(expression, columns, 1)
            of_constants = evaluate(with_constants(expression, {"a": a, "b": b}), {}, 1)
            if of_columns.type.id == pa.timestamp("us").id:
                of_columns, of_constants = of_columns.cast(pa.int64()), of_constants.cast(pa.int64())
            if pa.types.is_date(of_columns.type):
                of_columns, of_constants = of_columns.cast(pa.int32()), of_constants.cast(pa.int32())
            if not same(of_constants[0].as_py(), of_columns[0].as_py(), exact=True):
                wrong.append(f"{sql} with a={a!r}, b={b!r}: {of_constants[0]} of constants, {of_columns[0]} of columns")
    assert not wrong, "\n".join(wrong[:50])


def test_every_function_of_the_table_is_among_the_cases():
    tried = set().union(*(functions_in(expression) for type_ in VALUES for _, expression in cases_of(type_)))
    assert set(SCALARS) <= tried


@pytest.mark.parametrize(("type_", "value", "digits", "rounded"), [
    ("DOUBLE", 0.1, 1, 0.1), ("DOUBLE", 12.345, HUGE, 12.345), ("DOUBLE", 12.345, 400, 12.345),
    ("DOUBLE", 5e-324, 330, 5e-324),
    ("DOUBLE", 1e300, -HUGE, 0.0), ("DOUBLE", 1e300, -299, 1e300), ("DOUBLE", 7e299, -300, 1e300),
    ("BIGINT", 2**63 - 1, -HUGE, 0), ("BIGINT", 55, -1, 60), ("BIGINT", 55, HUGE, 55),
    ("DECIMAL(10,2)", Decimal("99999999.99"), -HUGE, 0), ("DECIMAL(10,2)", Decimal("1.25"), HUGE, Decimal("1.25")),
])
def test_rounding_to_any_number_of_digits_is_quick_and_right(type_, value, digits, rounded):
    column = pa.array([value], types.to_arrow(type_))
    expression = typed(("round", "a", digits), {"a": type_})
    assert evaluate(expression, {"a": column}, 1).to_pylist() == [rounded]
    assert evaluate(with_constants(expression, {"a": value}), {}, 1).to_pylist() == [rounded]
