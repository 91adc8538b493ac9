"""Compiled kernels: free functions over buffers, one module per subject, no Python objects inside.

Every kernel is compiled once for explicit types and releases the GIL. It takes read-only buffers, so numba refuses code
that would write to them. `python -m mapper.warm` compiles them all; mars/kernel_cache.py says where the code is kept.
"""

from __future__ import annotations

from llvmlite import ir

from mars.kernel_cache import numba

njit, types = numba.njit, numba.types
CHECKED = bool(numba.config.BOUNDSCHECK)  # by NUMBA_BOUNDSCHECK, in tests
U8 = types.Array(types.uint8, 1, "C", readonly=True)  # the type of input arrays; writable arrays convert to it
I32 = types.Array(types.int32, 1, "C", readonly=True)
I64 = types.Array(types.int64, 1, "C", readonly=True)
I64_2D = types.Array(types.int64, 2, "C", readonly=True)
OUT_U8 = types.uint8[::1]
OUT_I32 = types.int32[::1]
OUT_I64 = types.int64[::1]
OUT_U64 = types.uint64[::1]
OUT_F64 = types.float64[::1]
OUT_I64_2D = types.int64[:, ::1]
OUT_U8_2D = types.uint8[:, ::1]
OUT_U64_2D = types.uint64[:, ::1]

# The kinds of content at a field's place; 128 + reason is a field that cannot be read.
NULL, TEXT, ESCAPED, NUMBER, FRACTION, LITERAL, NESTED, SPECIAL = range(8)
BAD = 128


def check_span(context, builder, array, index, width):
    """Where bounds are checked, a read of `width` bytes at array[index] that leaves the array raises IndexError: numba
    itself checks single elements alone."""
    if CHECKED:
        for at in (index, builder.add(index, ir.Constant(index.type, width - 1))):
            numba.core.cgutils.do_boundscheck(context, builder, at, array.nitems)


def kernel(signature):
    """A compiled kernel of exactly that signature. Kernels own no memory: without numba's reference counts, which are
    atomic and are touched at every call of a helper, they are up to three times as fast."""
    return njit(signature, nogil=True, cache=True, error_model="numpy", _nrt=False)


def helper(function):
    """A function that kernels call; compiled into each of them."""
    return njit(function, nogil=True, cache=True, error_model="numpy", _nrt=False)


def inlined(function):
    """A helper that becomes a part of its callers. For helpers that are called for every field, where the call costs more
    than the work."""
    return njit(function, nogil=True, cache=True, error_model="numpy", _nrt=False, forceinline=True)
