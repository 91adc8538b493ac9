"""Reads buffers 64 bytes at a time: one comparison of the processor's widest vectors gives one word of bits.

Nothing here checks the end of a buffer: the caller keeps at + 64 <= len(buffer) for every place that it asks about.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mapper.kernels import inlined
from mapper.kernels.vectors import load
from mapper.kernels.words import trailing_zeros

WIDTH = 64
NONE, ONE, ALL = np.uint64(0), np.uint64(1), ~np.uint64(0)


@intrinsic
def matches(typing, buffer, index, byte):
    """Bit i tells whether buffer[index + i] is `byte` (a uint8), for 64 bytes."""
    def generate(context, builder, signature, arguments):
        lanes = ir.VectorType(ir.IntType(8), WIDTH)
        block = load(context, builder, signature.args[0], arguments[0], arguments[1], lanes)
        first = builder.insert_element(ir.Constant(lanes, ir.Undefined), arguments[2], ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), None)
        pattern = builder.shuffle_vector(first, ir.Constant(lanes, ir.Undefined), zeros)
        return builder.bitcast(builder.icmp_unsigned("==", block, pattern), ir.IntType(64))
    return types.uint64(buffer, types.int64, types.uint8), generate


@intrinsic
def ones(typing, word):
    """How many bits of a uint64 are 1."""
    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])
    return types.int64(types.uint64), generate


@inlined
def places(buffer, byte, at, end):
    """Bit i tells whether buffer[at + i] is `byte`, for the at most 64 bytes of [at, end); the bits above are 0."""
    found = matches(buffer, at, np.uint8(byte))
    return found if end - at >= WIDTH else found & ((ONE << np.uint64(end - at)) - ONE)


@inlined
def find_wide(buffer, byte, begin, end):
    """The first place of `byte` in [begin, end), or `end`; quickest if it is within some hundred bytes or not at all."""
    at = begin
    while at < end:
        found = matches(buffer, at, np.uint8(byte))
        if found:
            return min(at + trailing_zeros(found), end)
        at += WIDTH
    return np.int64(end)


@inlined
def parity(word):
    """Bit i tells whether the bits up to i, itself included, hold an odd number of ones."""
    for shift in (1, 2, 4, 8, 16, 32):
        word ^= word << np.uint64(shift)
    return word
