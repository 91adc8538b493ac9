"""round(DOUBLE, digits) is the rounding of the decimal digits that the number prints, as Spark has it."""

from __future__ import annotations

import random
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np
import pytest

from mars.algebra.evaluation.mathematics import round_doubles


def printed(value: float, digits: int) -> float:
    with localcontext(prec=800):
        return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def test_a_midpoint_of_seventeen_digits() -> None:
    assert round_doubles(np.array([1700601747.2403474]), 6).tolist() == [1700601747.240347]


@pytest.mark.parametrize("digits", [*range(-16, 17), 40])
def test_numbers_around_the_midpoints_of_every_size(digits: int) -> None:
    chance = random.Random(digits)
    values = []
    for figures in range(1, 19):
        for _ in range(60):
            middle = (chance.randrange(10 ** figures) + 0.5) / 10.0 ** digits
            values += [middle, np.nextafter(middle, 0), -np.nextafter(middle, np.inf), float(f"{middle:.16g}"),
                       chance.random() * middle]
    values = np.array(values)
    ours, wanted = round_doubles(values, digits).tolist(), [printed(value, digits) for value in values.tolist()]
    assert [row for row in zip(values.tolist(), ours, wanted, strict=True) if row[1] != row[2]] == []
