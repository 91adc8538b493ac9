"""What each part that decides an answer makes of fixed values, as a digest: `python -m tests.mars.answers` prints all.

The values are fixed, or made of integers alone, so that they are the same on every machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mapper.batch import Messages, ParsedBatch
from mapper.parse import Parser
from mapper.timing import Limits, judge
from mars.algebra import aggregates, hashing
from mars.algebra.aggregate_functions import AGGREGATES
from mars.algebra.coercion import TypeMismatch
from mars.algebra.evaluate import evaluate
from mars.algebra.functions import SCALARS
from mars.algebra.grouping import group
from mars.algebra.partials import Order
from mars.algebra.windows import KINDS
from mars.model import types
from mars.model.expressions import Call, Column
from mars.model.plan import Window
from tests.mapper.parsing import messages, rows, stream
from tests.mars.algebra import kept
from tests.mars.algebra.test_evaluate_against_spark import typed
from tests.mars.answers_values import CALLS, CSV, JSON, TEXTS, VALUES

DAYS = (date.min.toordinal() - date(1970, 1, 1).toordinal(), date.max.toordinal() - date(1970, 1, 1).toordinal())
WINDOWS = (Window("hopping", 60_000, 25_000, -7_000), Window("landmark each", 600_000, 40_000),
           Window("landmark from", 90_000, 90_000, from_us=-1_000_000), Window("emitted", 60_000, 25_000))
DAY_MS = 86_400_000
ZONED = (Window("days", 7 * DAY_MS, DAY_MS, zone="Australia/Lord_Howe"),
         Window("landmark days", 2 * DAY_MS, 5_400_000, zone="Europe/Berlin"))


def mixed(count: int, seed: int) -> np.ndarray:
    """uint64[count] that look like chance, by splitmix64."""
    word = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def doubles(count: int, seed: int, least: float, greatest: float) -> pa.Array:
    """Doubles between the bounds."""
    share = (mixed(count, seed) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return pa.array(least + (greatest - least) * share)


def columns_of(type_: str) -> dict[str, pa.Array]:
    """Each value of a type beside each, and for DOUBLE many more."""
    arrow, values = types.to_arrow(type_), VALUES[type_]
    a, b = (pa.array([pair[i] for pair in ((x, y) for x in values for y in values)], arrow) for i in (0, 1))
    if type_ != "DOUBLE":
        return {"a": a, "b": b}
    every = mixed(10_000, 1).view(np.float64)
    every = pa.array(np.where(np.isnan(every), 0.5, every))  # no text reads as a NaN that signals
    return {"a": pa.concat_arrays([a, every, doubles(20_000, 2, -100, 700), doubles(10_000, 3, 0, 2)]),
            "b": pa.concat_arrays([b, doubles(10_000, 4, -2, 2), doubles(20_000, 5, -100, 100), doubles(10_000, 6, -9, 9)])}


def bits(array: pa.Array) -> bytes:
    """The values of an array to the bit, but with one NaN; NULL is told from all of them."""
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    if pa.types.is_date(array.type):
        days = array.cast(pa.int32())
        outside = pc.or_(pc.less(days, DAYS[0]), pc.greater(days, DAYS[1]))
        array = days if pc.any(outside).as_py() else array  # Python has no such dates
    if not pa.types.is_floating(array.type):
        return repr(array.to_pylist()).encode()
    values = array.fill_null(0).to_numpy().astype(np.float64)
    return np.where(np.isnan(values), np.nan, values).tobytes() + valid.tobytes()


def function_answers(name: str) -> Iterator[bytes]:
    """All that a scalar function gives: on two columns of each type that it takes, or for its CALLS."""
    for type_, what in CALLS.get(name, ()):
        columns = {"a": type_, "b": type_}
        wanted = Call("cast", (Column("a", type_),), what) if isinstance(what, str) else typed(what, columns)
        if wanted != Call("cast", (Column("a", type_),), type_):
            data = columns_of(type_)
            yield bits(evaluate(wanted, data, len(data["a"])))
    for type_ in () if name in CALLS else VALUES:
        try:
            call = typed((name, *("a", "b")[:SCALARS[name].minimum]), {"a": type_, "b": type_})
        except TypeMismatch:
            continue
        data = columns_of(type_)
        yield bits(evaluate(call, data, len(data["a"])))


def aggregate_answers(name: str) -> Iterator[bytes]:
    """Two halves merged and finished, for each type that it takes."""
    for type_ in VALUES:
        try:
            call = kept.call_of(name, type_)
            wanted = AGGREGATES[name].wanted(type_)
        except TypeMismatch:
            continue
        if wanted != type_:
            continue
        columns = columns_of(type_).values()
        values, others = (column.dictionary_encode() if type_ == "STRING" else column for column in columns)
        half, groups = len(values) // 2, 5
        ids = (mixed(len(values), 9) % np.uint64(groups)).astype(np.int32)
        time, offset = (mixed(len(values), 8) % np.uint64(40)).astype(np.int64), np.arange(len(values))
        order = Order(time, 3, offset, np.zeros(len(values), np.int32))
        parts = [kept.update(call, values[at], None, ids[at], groups, order.take(at), others[at] if call.second else None)
                 for at in (np.s_[:half], np.s_[half:])]
        both = [pa.concat_arrays([pa.array(part.to_pylist(), field) for part in column]) for column, field in
                zip(zip(*parts, strict=True), kept.columns(call), strict=True)]
        merged = kept.merge(call, both, np.tile(np.arange(groups, dtype=np.int32), 2), groups)
        yield bits(aggregates.finish(call, merged))


def reader_answers(columns: dict[str, str], format_: str, given: list[bytes], **more: object) -> Iterator[bytes]:
    """What a format, or a type, reads from messages."""
    parsed = Parser(stream(columns, format_, **more), tuple(columns)).parse(messages(given))
    yield repr(rows(parsed, tuple(columns))).encode()


def key_columns() -> list[list[pa.Array]]:
    """Each type as a key of its own, and all types together."""
    alone = [[columns_of(type_)["a"]] for type_ in VALUES]
    return [*alone, [columns_of(type_)["b"][:9] for type_ in VALUES]]


def window_answers(window: Window, times: np.ndarray) -> Iterator[bytes]:
    """Panes, and the windows that they are in, in two units and around the epoch."""
    for unit in ("ms", "us"):
        kind = KINDS[window.kind](window, stream({"t": "BIGINT"}, unit=unit), 0)
        for given in (times, -times):
            panes = kind.panes(given if window.from_us is None else np.abs(given))
            rows, names = kind.of_panes(panes, None, 20_000_000)
            yield repr((panes.tolist(), rows.tolist(), kind.start(names).tolist(), kind.end(names).tolist())).encode()


def zoned_answers(window: Window, times: np.ndarray) -> Iterator[bytes]:
    """Panes and windows of days of zones, in years for which the zones' data will hardly change any more."""
    for unit in ("s", "ms"):
        second = {"s": 1, "ms": 1_000}[unit]
        kind = KINDS[window.kind](window, stream({"t": "BIGINT"}, unit=unit), 0)
        panes = kind.panes(times % (900_000_000 * second) + 600_000_000 * second)
        rows, names = kind.of_panes(panes, None, kind.closed_end(1_200_000_000 * second))
        yield repr((panes.tolist(), rows.tolist(), kind.start(names).tolist(), kind.end(names).tolist())).encode()


def session_answers(times: np.ndarray) -> Iterator[bytes]:
    """Cells of three groups, and their windows, with and without a longest time."""
    ids = (mixed(len(times), 12) % np.uint64(3)).astype(np.int32)
    for unit in ("ms", "us"):
        for most in (None, 50_000):
            kind = KINDS["session"](Window("session", 7_000, max_ms=most), stream({"t": "BIGINT"}, unit=unit), 0)
            cells = kind.gather([pa.array(ids)], kind.panes(times), times)
            of = ids[cells.groups.first_row]
            starts, ends = kind.windows_of(of, cells.panes, cells.lasts)
            yield repr(sorted(zip(of.tolist(), cells.panes.tolist(), cells.lasts.tolist(), starts.tolist(), ends.tolist(),
                                  strict=True))).encode()


def sliding_answers(times: np.ndarray) -> Iterator[bytes]:
    """Windows of two groups, as ranges of their panes."""
    parts = [np.unique(part) for part in np.split(times, 2)]
    ids, panes = np.repeat(np.arange(2, dtype=np.int32), [len(part) for part in parts]), np.concatenate(parts)
    for unit in ("ms", "us"):
        kind = KINDS["sliding"](Window("sliding", 9_000), stream({"t": "BIGINT"}, unit=unit), 0)
        first, last, names = kind.ranges(ids, panes, 100_000, 800_000)
        found = (first.tolist(), last.tolist(), kind.start(names).tolist(), kind.end(names).tolist())
        yield repr((kind.panes(times).tolist(), *found)).encode()


def max_ahead_answers(times: np.ndarray) -> Iterator[bytes]:
    """Which tuples are future by limits of their own, and how far they move the watermark."""
    offset, written = np.arange(len(times)), (mixed(len(times), 13) % np.uint64(1_000)).astype(np.int64)
    none = np.zeros(len(times), np.int64)
    batch = ParsedBatch({}, times, offset, none.astype(np.int32))
    judged = judge(stream({"t": "BIGINT"}), batch, Messages(none.view(np.uint8), none, none, offset, written),
                   Limits(500, (0, 20, 900))).judged
    yield repr([(limit, np.flatnonzero(found.future).tolist(), found.max_event_time)
                for limit, found in judged.items()]).encode()


def part_answers() -> Iterator[tuple[str, Iterator[bytes]]]:
    """Every part by its name in mars/computing.py, and what it makes."""
    yield "csv", reader_answers({"t": "BIGINT", "a": "STRING", "b": "STRING"}, "CSV", CSV)
    yield "json", reader_answers({"t": "BIGINT", "a": "STRING", "c": "STRING"}, "JSON", JSON, paths={"c": "b.c"})
    for type_ in VALUES:
        given = [f"{i},{text}".encode() for i, text in enumerate(TEXTS)]
        yield f"read {type_.partition('(')[0]}", reader_answers({"t": "BIGINT", "a": type_}, "CSV", given)
    times = (mixed(1_000, 11) >> np.uint64(20)).view(np.int64)
    units = [(stream({"t": "BIGINT"}, unit=unit), Window("tumbling", size)) for unit in ("s", "ms", "us")
             for size in (1_000, 60_000)]
    yield "window", (repr((kind.panes(t).tolist(), kind.end(0))).encode()
                     for s, w in units for kind in [KINDS[w.kind](w, s, 0)] for t in (times, -times, times[:1]))
    for window in WINDOWS:
        yield f"window {window.kind}", window_answers(window, times % 10_000_000)
    for window in ZONED:
        yield f"window {window.kind}", zoned_answers(window, times)
    yield "window sliding", sliding_answers(times % 900_000)
    yield "window session", session_answers(times % 2_000_000)
    yield "max ahead", max_ahead_answers(times % 1_000)
    yield "hash", (hashing.hash_rows(keys, len(keys[0])).tobytes() + hashing.part_of(keys, 7, len(keys[0])).tobytes()
                   for keys in key_columns())
    yield "group", (repr((found.ids.tolist(), found.first_row.tolist())).encode() for keys in key_columns()
                    for found in [group(keys, np.zeros(len(keys[0]), np.int64))])
    for name in SCALARS:
        yield name, function_answers(name)
    for name in AGGREGATES:
        yield name, aggregate_answers(name)


def digests() -> dict[str, str]:
    """A digest of each part's answers."""
    found = {}
    for name, answers in part_answers():
        answers = list(answers)
        assert answers, name
        found[name] = hashlib.sha256(b"\0".join(answers)).hexdigest()[:16]
    return found


if __name__ == "__main__":
    from numpy._core._multiarray_umath import __cpu_features__ as cpu

    found = digests()
    sample = columns_of("DOUBLE")["a"].drop_null().to_numpy()
    with np.errstate(all="ignore"):
        numpy = hashlib.sha256(bits(pa.array(np.exp(sample)))).hexdigest()
    print(json.dumps({"results": found, "AVX-512": cpu["X86_V4"], "numpy": numpy}))
