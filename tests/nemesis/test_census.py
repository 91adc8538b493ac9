"""What the census calls lost: offsets that nothing covers, and nothing else."""

from __future__ import annotations

import pytest

from tests.nemesis.census import first_hole


@pytest.mark.parametrize(("ranges", "hole"), [
    ([], (10, 30)),
    ([(10, 30)], None),
    ([(20, 30), (10, 20)], None),
    ([(0, 20), (15, 40)], None),
    ([(10, 20)], (20, 30)),
    ([(20, 30)], (10, 20)),
    ([(10, 15), (0, 12), (16, 30)], (15, 16)),
    ([(30, 50)], (10, 30))], ids=str)
def test_the_first_hole_is_found(ranges, hole):
    assert first_hole(10, 30, ranges) == hole
