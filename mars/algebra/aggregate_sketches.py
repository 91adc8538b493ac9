"""Aggregates that are finished from HyperLogLog sketches, and the bytes in which Apache DataSketches reads those."""

from __future__ import annotations

import base64
import struct
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.evaluation.arrays import numbers
from mars.algebra.partials.hll import estimates, registers_of, size_of
from mars.model.partials import AggregateCall, needed

FAMILY, SERIAL_VERSION, HLL_8 = 7, 1, 2
LIST, SET, HLL = range(3)
EMPTY, COMPACT, OUT_OF_ORDER = 4, 8, 16
LIST_MOST = 7


def count(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    """How many different values there are: the coupons of a small group, else an estimate."""
    found = pc.list_value_length(columns[0]).fill_null(0).to_numpy().astype(np.int64)
    rows, registers = registers_of(columns[1], size_of(needed(call)[0]))
    found[rows] = np.floor(estimates(registers) + 0.5).astype(np.int64)
    return pa.array(found)


def sketch(call: AggregateCall, columns: list[pa.Array]) -> pa.Array:
    """Each sketch as DataSketches writes an HLL_8 one, in base64; an empty one for a group without values."""
    lg_k = size_of(needed(call)[0])
    ends = np.concatenate([[0], np.cumsum(pc.list_value_length(columns[0]).fill_null(0).to_numpy())])
    coupons = numbers(columns[0].flatten())
    made = [few_bytes(coupons[start:end], lg_k) for start, end in pairwise(ends)]
    rows, registers = registers_of(columns[1], lg_k)
    for row, own, estimate in zip(rows, registers, estimates(registers), strict=True):
        made[row] = many_bytes(own, lg_k, estimate)
    return pa.array([base64.b64encode(data).decode() for data in made], pa.string())


def few_bytes(coupons: np.ndarray, lg_k: int) -> bytes:
    """A sketch that is a list or a set of coupons."""
    data = coupons.astype("<u4").tobytes()
    if len(coupons) <= LIST_MOST:
        flags = COMPACT | (EMPTY if len(coupons) == 0 else 0)
        return bytes([2, SERIAL_VERSION, FAMILY, lg_k, 3, flags, len(coupons), LIST | HLL_8 << 2]) + data
    lg_table = max(5, int(len(coupons) * 4 // 3).bit_length())
    head = bytes([3, SERIAL_VERSION, FAMILY, lg_k, lg_table, COMPACT, 0, SET | HLL_8 << 2])
    return head + struct.pack("<i", len(coupons)) + data


def many_bytes(registers: np.ndarray, lg_k: int, estimate: float) -> bytes:
    """A sketch that has registers."""
    held = np.bincount(registers, minlength=64)
    shares = held * 2.0 ** -np.arange(64)  # exact: powers of two
    low, high = (float(sum(part.tolist())) for part in (shares[:32], shares[32:]))
    head = bytes([10, SERIAL_VERSION, FAMILY, lg_k, 0, COMPACT | OUT_OF_ORDER, 0, HLL | HLL_8 << 2])
    return head + struct.pack("<dddii", estimate, low, high, int(held[0]), 0) + registers.tobytes()
