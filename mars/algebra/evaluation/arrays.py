"""Between Arrow arrays and numpy: values, validity, order. Nothing here loops over rows in Python."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

STRING = pa.string()
CODED_STRING = pa.dictionary(pa.int32(), pa.string())
FIXED_WIDTH = {pa.int64(): np.int64, pa.int32(): np.int32, pa.float64(): np.float64}


def single(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column as one array; the dictionaries of its chunks are unified."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def is_coded(array: pa.Array | pa.Scalar) -> bool:
    """True for a dictionary-coded array."""
    return isinstance(array, pa.DictionaryArray)


def plain(array: pa.Array) -> pa.Array:
    """The array without dictionary coding."""
    return array.dictionary_decode() if is_coded(array) else array


def coded(array: pa.Array) -> pa.DictionaryArray:
    """A string array in dictionary coding (int32 codes)."""
    if not is_coded(array):
        return array.dictionary_encode()
    return array if array.type == CODED_STRING else array.cast(CODED_STRING)


def codes_of(column: pa.DictionaryArray) -> np.ndarray:
    """The int32 codes of a coded column, 0 at a NULL."""
    indices = column.indices
    return fixed_width(indices, np.int32) if indices.null_count == 0 else indices.fill_null(0).to_numpy()


def taken(array: pa.Array, rows: np.ndarray) -> pa.Array:
    """The rows (int64) of the array, as `array.take` gives them; the call of `take` alone costs more than a small array's
    rows."""
    if array.null_count == 0 and is_coded(array) and array.type.index_type == pa.int32():
        return pa.DictionaryArray.from_arrays(pa.array(codes_of(array)[rows]), array.dictionary, safe=False)
    if array.null_count == 0 and array.type in FIXED_WIDTH:
        values = fixed_width(array, FIXED_WIDTH[array.type])[rows]
        return pa.Array.from_buffers(array.type, len(rows), [None, pa.py_buffer(values)])
    return array.take(pa.array(rows))


def valid_mask(array: pa.Array) -> np.ndarray | None:
    """bool[n], False where the value is NULL; None if there is no NULL."""
    if is_coded(array) and array.dictionary.null_count:
        return array.is_valid().to_numpy(False) & plain(array).is_valid().to_numpy(False)
    return array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None


def fixed_width(array: pa.Array, dtype: npt.DTypeLike) -> np.ndarray:
    """The values of a fixed-width array as a read-only view of its buffer; the value at a NULL is undefined."""
    if len(array) == 0:
        return read_only(np.empty(0, dtype))
    itemsize = np.dtype(dtype).itemsize
    return read_only(np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * itemsize))


def read_only(values: np.ndarray) -> np.ndarray:
    """The array as a read-only one. Arrow's buffers may be writable or not, and numba compiles a kernel for each kind."""
    values.flags.writeable = False
    return values


def numbers(array: pa.Array) -> np.ndarray:
    """The values of a BOOLEAN, integer, float, DATE or TIMESTAMP array; the value at a NULL is undefined.

    BOOLEAN gives uint8, DATE days as int32, TIMESTAMP its unit as int64.
    """
    if pa.types.is_boolean(array.type):
        return array.cast(pa.uint8()).fill_null(0).to_numpy()
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.int64)
    if pa.types.is_date32(array.type):
        return fixed_width(array, np.int32)
    if pa.types.is_timestamp(array.type):
        return fixed_width(array, np.int64)
    return fixed_width(array, array.type.to_pandas_dtype())


def limbs(array: pa.Array) -> np.ndarray:
    """The 64-bit limbs of a decimal array, least first: int64[n, 2] or int64[n, 4]; undefined at a NULL."""
    words = array.type.bit_width // 64
    if len(array) == 0:
        return np.empty((0, words), np.int64)
    return np.frombuffer(array.buffers()[1], np.int64)[array.offset * words:][:len(array) * words].reshape(-1, words)


def canonical_bits(values: np.ndarray) -> np.ndarray:
    """int64 bits of floats as doubles, with one NaN and with -0 = 0: equal bits if and only if Spark groups them."""
    doubles = values.astype(np.float64) + 0.0
    doubles[np.isnan(doubles)] = np.nan
    return doubles.view(np.int64)


def order_keys(array: pa.Array) -> np.ndarray:
    """int64 keys that sort as Spark sorts the values (strings by UTF-8 bytes, NaN greatest, -0 = 0); undefined at a NULL."""
    if is_coded(array):
        ranks = _ranks(array.dictionary)
        codes = codes_of(array)
        return ranks[codes] if len(ranks) else np.zeros(len(array), np.int64)
    if pa.types.is_floating(array.type):
        bits = canonical_bits(numbers(array))
        return np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)
    if pa.types.is_decimal(array.type) or pa.types.is_string(array.type):
        return _ranks(array)
    return numbers(array).astype(np.int64)


def _ranks(array: pa.Array) -> np.ndarray:
    if len(array) == 0:
        return np.zeros(0, np.int64)
    return pc.rank(array, "ascending", tiebreaker="dense").to_numpy().astype(np.int64)


def masked(values: np.ndarray, valid: np.ndarray | None, type_: pa.DataType) -> pa.Array:
    """An Arrow array of numpy values, NULL where `valid` is False."""
    return pa.array(values, type_, mask=None if valid is None else ~valid)
