"""The parts of ad-hoc queries that run the mappers' own code: Spark tasks over offset ranges, and direct reads of tuples.

Spark's stages exchange (part, bytes): the encoded cells of a key part, or a task's counts under COUNTS, or its error
under FAULT.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mapper.aggregate import aggregate_task
from mapper.batch import REASONS, Messages, ParsedBatch
from mapper.csv_fields import CsvFields
from mapper.fetch import RangeTooLarge, Reader, open_reader
from mapper.json_fields import JsonFields
from mapper.kernels import BAD, NULL
from mapper.parse import Parser
from mapper.timing import Limits, judge, time_reasons
from mars import errors
from mars.adapters.kafka.admin import Message
from mars.adapters.kafka.errors import OffsetOutOfRange
from mars.adapters.kafka.security import security_of
from mars.algebra import cells
from mars.algebra.evaluate import evaluate
from mars.algebra.evaluation.arrays import plain
from mars.config import Config
from mars.errors import MarsError
from mars.model import types
from mars.model.plan import QueryPlan, Stream

COUNTS, FAULT = -1, -2
FIRST_CHUNK = 1_000
PACED = 2  # tasks of a statement with a RATE; each takes its ranges one after the other, at its part of the rate
PACE_S = 0.1  # between looks whether a statement that waits was stopped
RUNS_MAX = 2  # messages read at a time may hold more than expected: above this many runs in bytes, fewer are read

OffsetRange = tuple[int, int, int]
Part = tuple[int, bytes]


@dataclass(frozen=True)
class Task:
    """One statement as it travels to Spark. `ranges` are (partition, start, end)."""

    config: Config
    stream: Stream
    plan: QueryPlan
    ranges: list[OffsetRange]


def mapping(task: Task) -> Callable[[int], list[Part]]:
    """The first stage: the cells by key part and the counts, for the range with this number."""
    def run(number: int) -> list[Part]:
        try:
            return _aggregate_range(task, task.ranges[number])
        except MarsError as error:
            return [(FAULT, json.dumps([_kind(error), error.title, error.detail, error.hint]).encode())]

    return run


def fault(data: bytes) -> MarsError:
    """The error that a task reported under FAULT, as the nearest of its types in mars.errors."""
    kind, *texts = json.loads(data)
    return getattr(errors, kind)(*texts)


def _kind(error: MarsError) -> str:
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)


def merging(task: Task) -> Callable[[tuple[int, Iterable[bytes]]], Part]:
    """The second stage: merges everything that the ranges gave for one key part."""
    def run(gathered: tuple[int, Iterable[bytes]]) -> Part:
        part, data = gathered
        if part == FAULT:
            return FAULT, next(iter(data))
        if part == COUNTS:
            return COUNTS, json.dumps(add_counts([json.loads(counts) for counts in data])).encode()
        tables = [cells.decode(encoded) for encoded in data]
        return part, cells.encode(cells.merge(task.plan.aggregation, task.stream, tables))

    return run


def add_counts(all_counts: list[dict[str, int]]) -> dict[str, int]:
    """Counters by name, added up."""
    total: dict[str, int] = {}
    for counts in all_counts:
        for name, count in counts.items():
            total[name] = total.get(name, 0) + count
    return total


def tuples(config: Config, stream: Stream, plan: QueryPlan, ranges: list[OffsetRange],
           should_stop: Callable[[], bool]) -> Iterator[tuple[pa.Table, int, int]]:
    """The rows of a SELECT that shows tuples, in the order of partition, offset and line, in tables of growing size; each
    with the number of tuples looked at, and of those that cannot be read. Ends early once should_stop() says so, even
    while waiting for a broker that is away."""
    parser, reader = Parser(stream, plan.aggregation.columns), _reader(config, stream)
    try:
        for messages in _chunks(config, reader, ranges, FIRST_CHUNK, should_stop, plan.rate or math.inf):
            begun = time.monotonic()
            batch = parser.parse(messages)
            reads = _reads(plan, stream, batch)
            _pace(begun, len(batch), plan.rate, should_stop)
            yield _shown(plan, batch, reads), len(batch), int(len(batch) - np.count_nonzero(reads))
    finally:
        reader.close()


class RangeReader:
    """Reads ranges of a query again, with all columns of the stream. Used by one thread at a time; close it."""

    def __init__(self, config: Config, stream: Stream, plan: QueryPlan) -> None:
        self.config, self.stream, self.plan = config, stream, plan
        self._parser = Parser(stream, tuple(column.name for column in stream.columns))
        self._reader, self._limits = _reader(config, stream), Limits.of([plan], config.future_limit_ms)

    def counted(self, range_: OffsetRange, should_stop: Callable[[], bool]) -> Iterator[tuple[ParsedBatch, np.ndarray]]:
        """The tuples of a range, as far as Kafka still has them, in some batches; with bool[n], which of them count for the
        query, as aggregate_task says. Ends early once should_stop() says so."""
        for messages in self._still_there(range_, should_stop):
            batch = judge(self.stream, self._parser.parse(messages), messages, self._limits)
            future = batch.judged[self.plan.aggregation.max_ahead_ms].future
            reads = _reads(self.plan, self.stream, batch)
            yield batch, _passing(self.plan, batch, reads if future is None else reads & ~future)

    def _still_there(self, range_: OffsetRange, should_stop: Callable[[], bool]) -> Iterator[Messages]:
        partition, start, end = range_
        while start < end:
            try:
                rest, most = [(partition, start, end)], self.config.batch_tuples
                yield from _chunks(self.config, self._reader, rest, most, should_stop)
                return
            except OffsetOutOfRange as error:
                start = max(error.log_start, start + 1)

    def close(self) -> None:
        """End the connections."""
        self._reader.close()


def schema(plan: QueryPlan) -> pa.Schema:
    """The columns of a SELECT that shows tuples."""
    return pa.schema([(key.name, types.to_arrow(key.type)) for key in plan.aggregation.keys])


def first_event_time(stream: Stream, messages: list[Message]) -> tuple[int | None, str]:
    """The event time, in microseconds, of the first tuple that can be read; else None, and why the first one cannot be
    read (empty if there is no tuple)."""
    batch = Parser(stream, (stream.time_column,)).parse(_as_messages(messages))
    faults = batch.bad.get(stream.time_column, np.zeros(len(batch), np.uint8))
    if batch.tuple_bad is not None:
        faults = np.maximum(faults, batch.tuple_bad)
    if not len(batch):
        return None, ""
    good = np.flatnonzero(faults == 0)
    return (stream.micros(int(batch.event_time[good[0]])), "") if len(good) else (None, REASONS[faults[0]])


def time_finder(stream: Stream) -> Callable[[bytes], list[tuple[int, int]]]:
    """Returns a function that gives, for a message's value, the places of its tuples' event times; only of tuples that
    have one and can be read."""
    fields = (JsonFields if stream.format == "JSON" else CsvFields)(stream, (stream.time_column,))

    def find(value: bytes) -> list[tuple[int, int]]:
        column = fields.fields(_as_messages([Message(0, 0, 0, value)])).columns[stream.time_column]
        places = zip(column.start.tolist(), column.length.tolist(), column.kind.tolist(), strict=True)
        return [(start, start + length) for start, length, kind in places if kind != NULL and kind < BAD]

    return find


def _aggregate_range(task: Task, range_: OffsetRange) -> list[Part]:
    stream, plan, config = task.stream, task.plan, task.config
    parts: list[list[pa.Table]] = [[] for _ in range(stream.key_parts)]
    counts: dict[str, int] = {}
    reader, parser = _reader(config, stream), Parser(stream, plan.aggregation.columns)
    rate, limits = plan.rate and plan.rate / PACED, Limits.of([plan], config.future_limit_ms)
    try:
        for messages in _chunks(config, reader, [range_], config.batch_tuples, bool, rate or math.inf):
            begun = time.monotonic()
            batch = judge(stream, parser.parse(messages), messages, limits)
            made = aggregate_task(plan, stream, batch, range_[0])
            counts = add_counts([counts, made.counts, {f"bad: {r}": n for r, n in made.bad_reasons.items()}])
            for held, table in zip(parts, made.parts, strict=True):
                held.append(table)
            _pace(begun, len(batch), rate, bool)
    finally:
        reader.close()
    merged = [(part, cells.merge(plan.aggregation, stream, held)) for part, held in enumerate(parts)]
    return [(COUNTS, json.dumps(counts).encode()), *((part, cells.encode(table)) for part, table in merged if len(table))]


def _reader(config: Config, stream: Stream) -> Reader:
    reader = open_reader(config.kafka_address, security_of(config), stream.topic, stream.topic_id, asks_all=True)
    reader.last_stable_offsets()  # a range is never read past an end that the reader has not seen
    return reader


def _pace(begun: float, tuples: int, rate: float | None, should_stop: Callable[[], bool]) -> None:
    """Wait until these tuples, which were begun at that time, have taken as long as they must at that rate."""
    while rate and (left := begun + tuples / rate - time.monotonic()) > 0 and not should_stop():
        time.sleep(min(left, PACE_S))


def _chunks(config: Config, reader: Reader, ranges: list[OffsetRange], size: int,
            should_stop: Callable[[], bool], most: float = math.inf) -> Iterator[Messages]:
    """The messages of the ranges in order: at first `size` offsets at a time, then as many as hold about a run's bytes,
    because a message may have a few bytes or a megabyte; at most `most`. Ends early once should_stop() says so."""
    for partition, start, end in ranges:
        while start < end:
            stop = min(start + max(1, int(min(size, most))), end)
            try:
                found = None if should_stop() else reader.read(
                    partition, start, stop, limit_bytes=config.run_bytes_max, should_stop=should_stop,
                    range_bytes_max=RUNS_MAX * config.run_bytes_max if stop > start + 1 else math.inf)
            except RangeTooLarge as error:
                size = _offsets_of_a_run(config, error.offsets, error.bytes)
                continue
            if found is None:
                return
            yield found.messages
            size = min(2 * size, _offsets_of_a_run(config, stop - start, int(found.messages.length.sum())))
            start = stop


def _offsets_of_a_run(config: Config, offsets: int, bytes_: int) -> int:
    """The number of offsets in a run, estimated from these messages; at least one."""
    return max(1, min(config.run_tuples_max, offsets * config.run_bytes_max // max(bytes_, 1)))


def _reads(plan: QueryPlan, stream: Stream, batch: ParsedBatch) -> np.ndarray:
    """bool[n]: the tuple is good for this plan, as aggregate_task judges it."""
    reads = np.ones(len(batch), np.bool_)
    faults = [batch.bad[name] for name in plan.aggregation.columns if name in batch.bad]
    for reasons in [*(reasons for _, reasons in time_reasons(stream, batch)), *faults]:
        reads &= reasons == 0
    return reads


def _shown(plan: QueryPlan, batch: ParsedBatch, reads: np.ndarray) -> pa.Table:
    length, keys = len(batch), plan.aggregation.keys
    reads = _passing(plan, batch, reads)
    columns = [plain(evaluate(key.expression, batch.columns, length)).cast(types.to_arrow(key.type)) for key in keys]
    return pa.Table.from_arrays(columns, schema=schema(plan)).filter(pa.array(reads))


def _passing(plan: QueryPlan, batch: ParsedBatch, reads: np.ndarray) -> np.ndarray:
    """Those of the tuples for which WHERE is true."""
    where = plan.aggregation.where
    if where is None:
        return reads
    return reads & evaluate(where, batch.columns, len(batch)).fill_null(False).to_numpy(zero_copy_only=False)


def _as_messages(messages: list[Message]) -> Messages:
    held = [message for message in messages if message.value is not None]
    values = [message.value for message in messages if message.value is not None]
    lengths = np.array([len(value) for value in values], np.int64)
    return Messages(buffer=np.frombuffer(b"".join(values), np.uint8),
                    start=np.cumsum(lengths) - lengths, length=lengths,
                    offset=np.array([message.offset for message in held], np.int64),
                    time_ms=np.array([message.time_ms for message in held], np.int64))
