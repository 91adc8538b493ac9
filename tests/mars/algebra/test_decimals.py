"""Decimal arithmetic of random types beside fractions: exact, rounded half up to the result's scale, NULL where it does
not fit."""

from __future__ import annotations

import random
from decimal import Decimal, localcontext
from fractions import Fraction

import pyarrow as pa
import pytest

from mars.algebra.coercion import decimal_result, wider_decimal
from mars.algebra.evaluate import evaluate
from mars.algebra.evaluation import decimals
from mars.model.expressions import Call, Column, Literal
from mars.model.types import decimal_parts, to_arrow
from tests.mars.algebra.test_evaluate_against_spark import typed

PAIRS = 60
ROWS = 12
OPERATORS = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b if b else None,
    "modulo": lambda a, b: a - b * int(a / b) if b else None,
}


def random_type(chance: random.Random) -> str:
    precision = chance.choice((1, 5, 19, 20, 37, 38, chance.randint(1, 38)))
    return f"DECIMAL({precision},{chance.choice((0, precision, min(precision, 19), chance.randint(0, precision)))})"


def random_values(type_: str, chance: random.Random) -> list[Decimal]:
    precision, scale = decimal_parts(type_)
    with localcontext(prec=100):
        return [Decimal(chance.choice((-1, 1)) * chance.randrange(10 ** chance.randint(0, precision))).scaleb(-scale)
                for _ in range(ROWS)]


def fitted(value: Fraction | None, type_: str) -> Fraction | None:
    """The value in the type: rounded half away from zero, None if the type is too small for it."""
    if value is None:
        return None
    precision, scale = decimal_parts(type_)
    size = int(abs(value) * 10 ** scale + Fraction(1, 2))
    return None if size >= 10 ** precision else Fraction(size if value > 0 else -size, 10 ** scale)


def exact(array: pa.Array) -> list[Fraction | None]:
    return [None if value is None else Fraction(value) for value in array.to_pylist()]


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_are_exact_and_rounded_once(operator: str) -> None:
    chance = random.Random(operator)
    for _ in range(PAIRS):
        left, right = random_type(chance), random_type(chance)
        type_ = decimal_result(operator, left, right)
        a, b = random_values(left, chance), random_values(right, chance)
        columns = {"a": pa.array(a, to_arrow(left)), "b": pa.array(b, to_arrow(right))}
        ours = evaluate(Call(operator, (Column("a", left), Column("b", right)), type_), columns, ROWS)
        wanted = [fitted(OPERATORS[operator](Fraction(x), Fraction(y)), type_) for x, y in zip(a, b, strict=True)]
        assert exact(ours) == wanted, (operator, left, right, type_, a, b)


def test_casts_between_scales_are_rounded_half_up() -> None:
    for digits in range(39):
        source, target = f"DECIMAL(38,{digits})", "DECIMAL(38,0)"
        values = random_values(source, random.Random(digits))
        ours = decimals.convert(pa.array(values, to_arrow(source)), to_arrow(target))
        assert exact(ours) == [fitted(Fraction(value), target) for value in values], digits


@pytest.mark.parametrize("zeros", range(1, 25))
def test_whole_numbers_are_rounded_to_any_power_of_ten(zeros: int) -> None:
    values = [0, 4 * 10 ** 18, 5 * 10 ** 18 - 1, 5 * 10 ** 18, 2 ** 63 - 1, -5 * 10 ** 18, -(2 ** 63)]
    sizes = [int(Fraction(abs(value), 10 ** zeros) + Fraction(1, 2)) * 10 ** zeros for value in values]
    rounded = [size if value > 0 else -size for size, value in zip(sizes, values, strict=True)]
    ours = evaluate(Call("round", (Column("a", "BIGINT"), Literal(-zeros, "INT")), "BIGINT"), {"a": pa.array(values)}, 7)
    assert ours.to_pylist() == [(value + 2 ** 63) % 2 ** 64 - 2 ** 63 for value in rounded]


@pytest.mark.parametrize("source", ["STRING", "DOUBLE"])
def test_text_and_doubles_become_decimals_of_every_scale(source: str) -> None:
    column = pa.array(["1.5"]) if source == "STRING" else pa.array([1.5])
    for scale in range(38):
        type_ = f"DECIMAL(38,{scale})"
        ours = evaluate(Call("cast", (Column("a", source),), type_), {"a": column}, 1)
        assert exact(ours) == [fitted(Fraction(3, 2), type_)]


def test_values_of_38_digits_meet_where_their_whole_parts_fit() -> None:
    columns = {"a": pa.array([Decimal(5 * 10 ** 18), None], pa.decimal128(38, 0)),
               "b": pa.array([Decimal("1.5"), Decimal("2.5")], pa.decimal128(38, 20))}
    wanted = {"gt": [True, None], "eq": [False, None], "nullif": [5 * 10 ** 18, None], "coalesce": [5 * 10 ** 18, 3],
              "greatest": [5 * 10 ** 18, 3], "least": [2, 3]}
    for function, values in wanted.items():
        expression = typed((function, "a", "b"), {"a": "DECIMAL(38,0)", "b": "DECIMAL(38,20)"})
        assert evaluate(expression, columns, 2).to_pylist() == values, function
    assert wider_decimal("DECIMAL(38,0)", "DECIMAL(38,20)") == "DECIMAL(38,0)"
    assert wider_decimal("DECIMAL(38,10)", "DECIMAL(30,20)") == "DECIMAL(38,10)"
    assert wider_decimal("DECIMAL(20,0)", "DECIMAL(38,38)") == "DECIMAL(38,18)"
