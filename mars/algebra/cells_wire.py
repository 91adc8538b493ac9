"""Cells as bytes: an Arrow IPC stream of one record batch, whose dictionaries hold only values that are used."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from mars.algebra.evaluation.arrays import codes_of, is_coded, masked, single, valid_mask
from mars.errors import InvariantError

VERSION = b"1"
METADATA = {b"mars.cells": VERSION}
OPTIONS = pa.ipc.IpcWriteOptions()  # the default ones: without any, each writer asks the environment for some
MANY = 8  # parts of one table: so many are compacted together


def encode(cells: pa.Table | pa.RecordBatch) -> bytes:
    """The cells as bytes that `decode` reads. A batch is compacted already."""
    batch, sink = compacted(cells) if isinstance(cells, pa.Table) else cells, pa.BufferOutputStream()
    batch = batch.replace_schema_metadata(METADATA)
    with pa.ipc.new_stream(sink, batch.schema, options=OPTIONS) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def decode(data: bytes | memoryview, expected: pa.Schema | None = None) -> pa.Table:
    """The cells of `encode`, without copying them out of `data`.

    Raises InvariantError for bytes that are no cells of this version or, with `expected`, of another schema.
    """
    try:
        cells = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise InvariantError("Cells do not read", str(error)) from error
    if (cells.schema.metadata or {}).get(b"mars.cells") != VERSION:
        raise InvariantError("Cells of another version", f"metadata {cells.schema.metadata}")
    cells = cells.replace_schema_metadata(None)
    if expected is not None and cells.schema != expected:
        raise InvariantError("Cells of another plan", f"expected {expected}, found {cells.schema}")
    return cells


def compacted(cells: pa.Table) -> pa.RecordBatch:
    """The cells in one batch, each dictionary with only the used values."""
    return pa.RecordBatch.from_arrays([compact(single(column)) for column in cells.columns], schema=cells.schema)


def parts_of(cells: pa.Table, starts: np.ndarray) -> list[pa.Table] | list[pa.RecordBatch]:
    """The cells between each of these places and the next one. Many parts are compacted."""
    places = starts.tolist()
    if len(places) <= MANY:
        return [cells.slice(first, end - first) for first, end in pairwise(places)]
    columns = [_compact_parts(single(column), starts) for column in cells.columns]
    return [pa.RecordBatch.from_arrays(list(part), schema=cells.schema) for part in zip(*columns, strict=True)]


def _compact_parts(column: pa.Array, starts: np.ndarray) -> list[pa.Array]:
    """The rows of each part."""
    places = list(pairwise(starts.tolist()))
    if not is_coded(column):
        return [column.slice(first, end - first) for first, end in places]
    if valid_mask(column) is not None:
        return [compact(column.slice(first, end - first)) for first, end in places]
    size, part = max(len(column.dictionary), 1), np.repeat(np.arange(len(places)), np.diff(starts))
    used, local = np.unique(part * size + codes_of(column), return_inverse=True)
    firsts = np.searchsorted(used, np.arange(len(starts)) * size)
    values = column.dictionary.take(pa.array(used % size))
    codes = pa.array((local - firsts[part]).astype(np.int32))
    bounds = pairwise(firsts.tolist())
    return [pa.DictionaryArray.from_arrays(codes.slice(first, end - first), values.slice(low, high - low), safe=False)
            for (first, end), (low, high) in zip(places, bounds, strict=True)]


def compact(column: pa.Array) -> pa.Array:
    """The column with only the used values in its dictionary; a column without dictionary as it is."""
    if not is_coded(column):
        return column
    codes, valid = codes_of(column), valid_mask(column.indices)
    used = np.zeros(len(column.dictionary), np.bool_)
    used[codes if valid is None else codes[valid]] = True
    if used.all():
        return column
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    indices = place[codes] if len(used) else np.zeros(len(column), np.int32)
    return pa.DictionaryArray.from_arrays(masked(indices, valid, pa.int32()),
                                          column.dictionary.take(pa.array(np.flatnonzero(used))), safe=False)
