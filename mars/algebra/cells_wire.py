"""Cells as bytes: an Arrow IPC stream of one record batch, whose dictionaries hold only values that are used."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mars.algebra.evaluation.arrays import codes_of, is_coded, masked, single, valid_mask
from mars.errors import InvariantError

VERSION = b"1"
METADATA = {b"mars.cells": VERSION}


def encode(cells: pa.Table) -> bytes:
    """The cells as bytes that `decode` reads."""
    fields = cells.schema.with_metadata(METADATA)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, fields) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([compact(single(column)) for column in cells.columns], schema=fields))
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
