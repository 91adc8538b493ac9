from __future__ import annotations

import time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from mars.algebra import grouping
from mars.algebra.grouping import SMALL_RANGE, group, number_by_hash


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


def seconds(codes: np.ndarray) -> float:
    """CPU time of numbering these codes, the least of some."""
    taken = []
    for _ in range(3):
        begin = time.thread_time()
        number_by_hash(codes)
        taken.append(time.thread_time() - begin)
    return min(taken)


def chosen(count: int) -> np.ndarray:
    """Keys that a multiplication by the golden ratio, as many hash tables do it, brings to one and the same slot."""
    back = pow(0x9E3779B97F4A7C15, -1, 1 << 64)
    return np.array([i * back % (1 << 64) for i in range(count)], np.uint64).view(np.int64)


@pytest.mark.parametrize("codes", [chosen(40_000), np.arange(40_000) << 44])
def test_no_keys_are_much_slower_than_others(codes):
    """Whoever chooses them: some hundred thousand in one chain would hold a reducer for minutes."""
    number_by_hash(codes[:2])  # compiles
    assert seconds(codes) < 20 * seconds(np.random.default_rng(1).integers(-2**63, 2**63 - 1, 40_000)) + 0.01


def test_groups_do_not_depend_on_the_seed(monkeypatch):
    codes = np.random.default_rng(2).integers(0, 1 << 40, 5_000)[np.random.default_rng(3).integers(0, 5_000, 20_000)]
    found = []
    for seed in (0, 1, 2**64 - 1):
        monkeypatch.setattr(grouping, "SEED", np.uint64(seed))
        found.append([part.tolist() for part in number_by_hash(codes)])
    _, first, ids = np.unique(codes, return_index=True, return_inverse=True)
    assert found == 3 * [[np.argsort(np.argsort(first))[ids].tolist(), sorted(first.tolist())]]
