from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from mars.grouping import SMALL_RANGE, group


def ids(*columns: pa.Array) -> list[int]:
    return group(columns, np.zeros(len(columns[0]), np.int64)).ids.tolist()


def test_one_string_under_two_codes_is_one_group() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], pa.int32()), pa.array(["a", "b", "a"]))
    assert ids(column) == [0, 1, 0, 2]


def test_a_null_in_the_dictionary_is_the_same_as_a_null_code() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.int32()), pa.array([None, "b"]))
    assert ids(column) == [0, 0, 1]


@pytest.mark.parametrize("column", [
    pa.array([Decimal("1.10"), None, Decimal("-1.10"), Decimal("1.10")], pa.decimal128(38, 2)),
    pa.array([True, None, False, True]),
    pa.array([float("nan"), None, 0.0, float("nan")], pa.float32()),
    pa.array([0, None, 1, 0], pa.timestamp("us", "UTC")),
    pa.array(["", None, "x", ""]),
])
def test_null_is_a_key_of_its_own(column: pa.Array) -> None:
    assert ids(column) == [0, 1, 2, 0]


def test_what_stands_under_a_null_does_not_split_it() -> None:
    values = pa.array([1, 2, 3, 4]).buffers()[1]
    column = pa.Array.from_buffers(pa.int64(), 4, [pa.py_buffer(bytes([0b1001])), values])
    assert ids(column) == [0, 1, 1, 2]


def test_wide_ranges_and_many_columns_do_not_overflow() -> None:
    rng = np.random.default_rng(1)
    numbers = [rng.integers(-(2**63), 2**63 - 1, 3 * SMALL_RANGE) for _ in range(6)]
    columns = [pa.array(np.concatenate([n, n])) for n in numbers]
    found = group(columns, np.zeros(6 * SMALL_RANGE, np.int64))
    assert found.count == 3 * SMALL_RANGE
    assert found.ids.tolist() == 2 * list(range(3 * SMALL_RANGE))


def test_a_sliced_column_is_read_from_its_offset() -> None:
    assert ids(pa.array([9, 1, None, 1]).slice(1)) == [0, 1, 0]
    assert ids(pa.array(["x", "a", None, "a"]).dictionary_encode().slice(1)) == [0, 1, 0]


def test_no_rows_have_no_groups() -> None:
    assert group([pa.array([], pa.string())], np.empty(0, np.int64)).count == 0
