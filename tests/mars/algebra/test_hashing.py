from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from mars.algebra.hashing import fnv1a, hash_rows, part_of

GOLDEN = ["0xdc57c069366befb5", "0x62f1ca71a5212617", "0xdab6fae644d7889a"]


def one(column: pa.Array) -> int:
    return int(hash_rows([column], len(column))[0])


def test_strings_are_hashed_by_fnv_1a_over_their_bytes() -> None:
    data = np.frombuffer(b"afoobar", np.uint8)
    assert [hex(h) for h in fnv1a(data, np.array([0, 0, 1, 7], np.int32))] == [
        "0xcbf29ce484222325", "0xaf63dc4c8601ec8c", "0x85944171f73967e8"]


def test_the_hash_of_a_stream_never_changes() -> None:
    key = [pa.array(["10.0.0.1", None, ""]), pa.array([1, 2, None], pa.int32()), pa.array([0.5, float("nan"), -0.0]),
           pa.array([Decimal("1.50"), None, Decimal(-1)], pa.decimal128(10, 2)), pa.array([True, False, None])]
    assert [hex(h) for h in hash_rows(key, 3).tolist()] == GOLDEN


def test_int_and_bigint_hash_alike_and_so_do_float_and_double() -> None:
    assert one(pa.array([7], pa.int32())) == one(pa.array([7], pa.int64()))
    assert one(pa.array([0.5], pa.float32())) == one(pa.array([0.5]))
    assert one(pa.array([-0.0])) == one(pa.array([0.0]))


def test_parts_are_even() -> None:
    keys = pa.array([f"10.0.{i // 256}.{i % 256}" for i in range(40_000)])
    numbers = np.bincount(part_of([keys], 4, len(keys)), minlength=4)
    assert abs(numbers - 10_000).max() < 400


def test_without_keys_all_is_in_part_zero() -> None:
    assert part_of([], 4, 3).tolist() == [0, 0, 0]
