"""The local file of a batch: the needed columns as read, or its queries' cells where they were counted at once, so that a
restarted mapper need not fetch and parse again.

The file is a cache of one generation (rule 16): its name and header carry generation, topic id and range, and its length
and CRC-32C are registered. On any mismatch it is deleted, and the batch is read from Kafka.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterable
from pathlib import Path

import google_crc32c
import numpy as np
import pyarrow as pa

from mapper.batch import CountedBatch, Judged, ParsedBatch, TaskResult, alike
from mars.model.claims import Claim
from mars.model.plan import Stream
from mars.runtime.system import SYSTEM, Clock

HOST = socket.gethostname()
RESULTS, JUDGED = b"results", b"judged"  # in the metadata of a file of cells, and of one of columns


class Spill:
    """The local files of this host, all in one folder. `host` is the name under which they are registered."""

    host = HOST

    def __init__(self, folder: Path, clock: Clock = SYSTEM.clock) -> None:
        self._folder, self._clock = folder, clock

    def write(self, stream: Stream, generation: int, claim: Claim, batch: ParsedBatch | CountedBatch,
              log: tuple[int, int] | None = None) -> dict:
        """Write the batch and return what is to be registered: host, path, length, CRC, and the log from which it was
        read."""
        table = _cells_of(claim, batch) if isinstance(batch, CountedBatch) else _columns_of(stream, batch)
        data = _encoded(table, _header(stream, generation, claim))
        path = self._folder / f"{stream.id}-{generation}-{claim.partition}-{claim.start}-{claim.end}-{claim.epoch}.arrow"
        try:
            path.write_bytes(data)
        except OSError:
            path.unlink(missing_ok=True)  # otherwise a full disk would stay full of partial files that nobody knows of
            raise
        crc = google_crc32c.value(np.frombuffer(data, np.uint8))
        return {"host": self.host, "path": str(path), "length": data.size, "crc": crc, **({"log": log} if log else {})}

    def read(self, stream: Stream, generation: int, claim: Claim,
             columns: Iterable[str] = (), own_ms: Iterable[int] = ()) -> ParsedBatch | CountedBatch | None:
        """The batch of a claim that was registered on this host, or None if its file is gone, does not match or lacks one
        of these columns, limits (mapper.timing) or of the claim's tasks: who wrote it may not have known of a query."""
        if not claim.file or claim.file["host"] != self.host:
            return None
        path = Path(claim.file["path"])
        try:
            data = path.read_bytes()
            if len(data) != claim.file["length"] or google_crc32c.value(data) != claim.file["crc"]:
                raise ValueError("length or checksum")
            table = pa.ipc.open_stream(data).read_all()
            if table.schema.metadata[b"mars"].decode() != _header(stream, generation, claim):
                raise ValueError("header")
            if RESULTS in table.schema.metadata:
                return _counted(table, claim)
            if missing := {f"column {name}" for name in columns}.difference(table.column_names):
                raise ValueError(f"no {missing}")
            batch = _batch(table.combine_chunks())
            if missing_ms := set(own_ms).difference(batch.judged):
                raise ValueError(f"no {missing_ms}")
        except (OSError, ValueError, KeyError, TypeError):
            path.unlink(missing_ok=True)
            return None
        return batch

    def sweep(self, older_than_s: float) -> None:
        """Delete older files. Live workers delete their files themselves."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in self._folder.glob("*.arrow"):
            with contextlib.suppress(FileNotFoundError):
                if self._clock.wall_ms() / 1000 - path.stat().st_mtime > older_than_s:
                    path.unlink()

    def delete(self, file: dict | None) -> None:
        """Delete a registered file of this host."""
        if file and file["host"] == self.host:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file["path"])


def log_of(claim: Claim) -> tuple[int, int] | None:
    """The log from which the registered file was read (see mapper.fetch.Range)."""
    log = claim.file.get("log") if claim.file else None
    return tuple(log) if log else None


def _encoded(table: pa.Table, header: str) -> pa.Buffer:
    """The bytes of the file."""
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), "mars": header})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _cells_of(claim: Claim, batch: CountedBatch) -> pa.Table:
    """The encoded cells of all tasks, a row for each key part; those that tasks have together once."""
    groups = alike(batch.results.values())
    told = [[{r.query: claim.tasks[r.query] for r in same}, len(same[0].parts), same[0].counts, same[0].bad_reasons,
             same[0].max_event_time]
            for same in groups]
    parts = [part for same in groups for part in same[0].parts]
    return pa.table({"cells": pa.array(parts, pa.large_binary())}).replace_schema_metadata(
        {RESULTS: json.dumps([batch.tuples, batch.max_event_time, told])})


def _counted(table: pa.Table, claim: Claim) -> CountedBatch:
    """The batch of such a table; ValueError if it lacks one of the claim's tasks."""
    tuples, greatest, told = json.loads(table.schema.metadata[RESULTS])
    parts, at = table.column("cells").to_pylist(), 0
    results: dict[str, TaskResult] = {}
    for tasks, count, counts, bad_reasons, own_greatest in told:
        own = parts[at:at + count]
        results |= {query: TaskResult(query, own, counts, bad_reasons, own_greatest) for query, incarnation in tasks.items()
                    if claim.tasks.get(query) == incarnation}
        at += count
    if missing := claim.tasks.keys() - results.keys():
        raise ValueError(f"no {missing}")
    return CountedBatch(results, tuples, greatest)


def _columns_of(stream: Stream, batch: ParsedBatch) -> pa.Table:
    """The tuples, without what follows from the rest: a third of it is what a plain batch needs."""
    arrays = {f"column {name}": array for name, array in batch.columns.items()}
    arrays |= {f"bad {name}": pa.array(reasons) for name, reasons in batch.bad.items()}
    if batch.tuple_bad is not None:
        arrays["tuple_bad"] = pa.array(batch.tuple_bad)
    for limit, judged in batch.judged.items():
        if judged.future is not None:
            arrays[f"future {limit}"] = pa.array(judged.future.view(np.uint8))
    greatest = [(limit, judged.max_event_time) for limit, judged in batch.judged.items()]
    metadata: dict[bytes | str, str] = {JUDGED: json.dumps(greatest)}
    if _is_column(batch, stream):
        metadata["event_time"] = stream.time_column
    else:
        arrays["event_time"] = pa.array(batch.event_time)
    if _is_gapless(batch):
        metadata["first_offset"] = str(batch.offset[0])
    else:
        arrays |= {"offset": pa.array(batch.offset), "line": pa.array(batch.line)}
    return pa.table(arrays).replace_schema_metadata(metadata)


def _header(stream: Stream, generation: int, claim: Claim) -> str:
    return json.dumps([stream.topic_id, generation, claim.partition, claim.start, claim.end])


def _is_column(batch: ParsedBatch, stream: Stream) -> bool:
    """Does the event time share the memory of its column?"""
    column = batch.columns.get(stream.time_column)
    return (column is not None and pa.types.is_int64(column.type) and column.null_count == 0 and len(column) > 0
            and column.buffers()[1].address == batch.event_time.ctypes.data)


def _is_gapless(batch: ParsedBatch) -> bool:
    """Is there one tuple for each offset?"""
    return (len(batch) > 0 and int(batch.offset[-1]) - int(batch.offset[0]) == len(batch) - 1
            and not batch.line.any())


def _batch(table: pa.Table) -> ParsedBatch:
    def chunk(name: str) -> pa.Array:
        column = table.column(name)
        return column.chunk(0) if column.num_chunks else pa.array([], column.type)

    def numbers(name: str) -> np.ndarray:
        return chunk(name).to_numpy(zero_copy_only=True)

    names, metadata = table.column_names, table.schema.metadata
    time = f"column {metadata[b'event_time'].decode()}" if b"event_time" in metadata else "event_time"
    if b"first_offset" in metadata:
        first = int(metadata[b"first_offset"])
        offset, line = np.arange(first, first + table.num_rows), np.zeros(table.num_rows, np.int32)
    else:
        offset, line = numbers("offset"), numbers("line")
    return ParsedBatch(
        columns={n.removeprefix("column "): chunk(n) for n in names if n.startswith("column ")},
        event_time=numbers(time), offset=offset, line=line,
        bad={n.removeprefix("bad "): numbers(n) for n in names if n.startswith("bad ")},
        tuple_bad=numbers("tuple_bad") if "tuple_bad" in names else None,
        judged={limit: Judged(numbers(f"future {limit}").view(np.bool_) if f"future {limit}" in names else None, greatest)
                for limit, greatest in json.loads(metadata[JUDGED])})
