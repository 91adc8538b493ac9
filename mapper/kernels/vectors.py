"""Reads buffers 32 bytes at a time: one comparison of a whole vector gives a bit for each byte.

The vectors are LLVM's, so they become the widest instructions that the processor has, or plain ones if it has none. The
caller keeps index + 32 <= len(buffer).
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mapper.kernels import check_span

WIDTH = 32
VECTOR = ir.VectorType(ir.IntType(8), WIDTH)


def load(context, builder, kind, array, index, vector=VECTOR):
    """The vector at array[index]."""
    made = context.make_array(kind)(context, builder, array)
    check_span(context, builder, made, index, vector.count)
    place = builder.gep(made.data, [index], source_etype=ir.IntType(8))
    return builder.load(builder.bitcast(place, vector.as_pointer()), align=1, typ=vector)


def _bits(builder, flags):
    """A vector of flags as a uint64, the first one lowest."""
    return builder.zext(builder.bitcast(flags, ir.IntType(WIDTH)), ir.IntType(64))


def _all(byte):
    """A vector of one byte."""
    return ir.Constant(VECTOR, [byte] * WIDTH)


@intrinsic
def string_stops(typing, buffer, index):
    """A bit for each quote, backslash and control character."""
    def generate(context, builder, signature, arguments):
        found = load(context, builder, signature.args[0], *arguments)
        stops = builder.icmp_unsigned("<", found, _all(32))
        for byte in b'"\\':
            stops = builder.or_(stops, builder.icmp_unsigned("==", found, _all(byte)))
        return _bits(builder, stops)
    return types.uint64(buffer, types.int64), generate


@intrinsic
def non_digits(typing, buffer, index):
    """A bit for each byte that is not a decimal digit."""
    def generate(context, builder, signature, arguments):
        found = load(context, builder, signature.args[0], *arguments)
        return _bits(builder, builder.icmp_unsigned(">", builder.sub(found, _all(48)), _all(9)))
    return types.uint64(buffer, types.int64), generate


@intrinsic
def differences(typing, left, at, right, index):
    """A bit for each byte in which left[at:at + 32] and right[index:index + 32] differ."""
    def generate(context, builder, signature, arguments):
        one = load(context, builder, signature.args[0], *arguments[:2])
        other = load(context, builder, signature.args[2], *arguments[2:])
        return _bits(builder, builder.icmp_unsigned("!=", one, other))
    return types.uint64(left, types.int64, right, types.int64), generate
