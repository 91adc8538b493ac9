"""Reads buffers eight bytes at a time: the helpers that the other kernels share."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mapper.kernels import CHECKED, check_span, helper

ONES = np.uint64(0x0101010101010101)
HIGHS = np.uint64(0x8080808080808080)

# The C library's functions use the widest vectors of the processor. They are called by symbol, not by address, so the
# compiled kernels can be cached.
_memchr = types.ExternalFunction("memchr", types.uintp(types.uintp, types.int32, types.uintp))
_memcpy = types.ExternalFunction("memcpy", types.uintp(types.uintp, types.uintp, types.uintp))


@intrinsic
def load64(typing, buffer, index):
    """The eight bytes from buffer[index] on as a little-endian uint64; the caller keeps index + 8 <= len(buffer)."""
    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        check_span(context, builder, array, arguments[1], 8)
        place = builder.gep(array.data, [arguments[1]], source_etype=ir.IntType(8))
        return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1, typ=ir.IntType(64))
    return types.uint64(buffer, types.int64), generate


@intrinsic
def trailing_zeros(typing, word):
    """How many low bits of a uint64 are 0; the word is not 0."""
    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
    return types.int64(types.uint64), generate


@intrinsic
def folded(typing, left, right):
    """The upper half of a 128-bit product, exclusive or its lower half: it depends on all bits of both."""
    def generate(context, builder, signature, arguments):
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        high = builder.trunc(builder.lshr(product, wide(64)), ir.IntType(64))
        return builder.xor(high, builder.trunc(product, ir.IntType(64)))
    return types.uint64(types.uint64, types.uint64), generate


@helper
def zero_bytes(word):
    """A high bit in each byte that is 0; also in some bytes above the lowest such one."""
    return (word - ONES) & ~word & HIGHS


@helper
def find_near(buffer, byte, begin, end):
    """As `find`, for a byte that is expected within some bytes: without a call."""
    pattern = np.uint64(byte) * ONES
    at = begin
    while at + 8 <= end:
        found = zero_bytes(load64(buffer, at) ^ pattern)
        if found:
            return at + (trailing_zeros(found) >> 3)
        at += 8
    while at < end and buffer[at] != byte:
        at += 1
    return at


@helper
def word_at(buffer, at, count):
    """The next min(count, 8) bytes from `at` as a uint64 with zeros above; count > 0, at + count <= len(buffer)."""
    if at + 8 <= len(buffer):
        word = load64(buffer, at)
        if count < 8:
            word &= (np.uint64(1) << np.uint64(8 * count)) - np.uint64(1)
        return word
    word = np.uint64(0)
    for i in range(min(count, 8)):
        word |= np.uint64(buffer[at + i]) << np.uint64(8 * i)
    return word


@helper
def find(buffer, byte, begin, end):
    """The first place of `byte` in [begin, end), or `end`."""
    if CHECKED and not 0 <= begin <= end <= len(buffer):
        raise IndexError("a search leaves its buffer")
    base = buffer.ctypes.data
    place = _memchr(base + np.uint64(begin), np.int32(byte), np.uint64(end - begin))
    return np.int64(place - base) if place else np.int64(end)


@helper
def copy(buffer, begin, length, out, at):
    """Copies buffer[begin:begin + length] to out[at:at + length]; the two do not overlap."""
    if CHECKED and not (0 <= begin <= begin + length <= len(buffer) and 0 <= at <= at + length <= len(out)):
        raise IndexError("a copy leaves its buffers")
    _memcpy(out.ctypes.data + np.uint64(at), buffer.ctypes.data + np.uint64(begin), np.uint64(length))


@helper
def is_ascii(buffer, begin, end):
    """True if all bytes in [begin, end) are below 128."""
    seen = np.uint64(0)
    at = begin
    while at < end:
        seen |= word_at(buffer, at, end - at)
        at += 8
    return (seen & HIGHS) == 0


@helper
def is_utf8(buffer, begin, end):
    """True if [begin, end) is well-formed UTF-8 (RFC 3629: no surrogates, nothing overlong, at most U+10FFFF)."""
    at = begin
    while at < end:
        lead = buffer[at]
        if lead < 0x80:
            at += 1
            continue
        if lead < 0xC2 or lead > 0xF4:
            return False
        more = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
        if at + more + 1 > end:
            return False
        second = buffer[at + 1]
        low, high = np.uint8(0x80), np.uint8(0xBF)
        if lead == 0xE0:
            low = np.uint8(0xA0)
        elif lead == 0xED:
            high = np.uint8(0x9F)
        elif lead == 0xF0:
            low = np.uint8(0x90)
        elif lead == 0xF4:
            high = np.uint8(0x8F)
        if second < low or second > high:
            return False
        for i in range(2, more + 1):
            if buffer[at + i] & 0xC0 != 0x80:
                return False
        at += more + 1
    return True
