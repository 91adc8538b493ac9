from __future__ import annotations

import numpy as np
import pytest

from mars.algebra import ordering


@pytest.mark.parametrize("length", [0, 1, 3_000])
@pytest.mark.parametrize("bits", [0, ordering.BITS_PER_ROW])
def test_the_first_row_of_each_is_found_by_a_table_and_by_hashing(length: int, bits: int,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "BITS_PER_ROW", bits)
    draw = np.random.default_rng(length)
    ids, codes = draw.integers(0, 9, length, np.int32), draw.integers(0, 70, length)
    found = ordering.first_of_each([(codes, 70)], ids, 9)
    seen = {pair: row for row, pair in reversed(list(enumerate(zip(ids.tolist(), codes.tolist(), strict=True))))}
    assert found.tolist() == sorted(seen.values())
    assert ordering.first_of_each([(codes // 10, 7), (codes % 10, 10)], ids, 9).tolist() == found.tolist()


def test_rows_by_number_ascend() -> None:
    numbers = np.array([2, 0, 2, 4, 0, 2])
    rows, starts = ordering.by_number(numbers, 5)
    assert rows.tolist() == [1, 4, 0, 2, 5, 3]
    assert starts.tolist() == [0, 2, 2, 5, 5, 6]
