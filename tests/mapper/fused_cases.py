"""Random streams, and record batches of messages for them, from plain to nasty: they compare both ways of reading."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mapper.decode import decode
from mapper.records import Records, following
from mars.model.expressions import Column
from mars.model.partials import AggregateCall
from mars.model.plan import UNITS_PER_SECOND, Key, QueryPlan, Stream, StreamColumn, Window
from tests.mapper.parsing import stream
from tests.mapper.record_batches import CODECS, Record, batch
from tests.plans import made

NOW_MS = 1_750_000_000_000
FUTURE_LIMIT_MS = 60_000
INTEGERS = ("0", "7", "-3", "+5", "007", " 12", "12 ", "2147483647", "2147483648", "-2147483649", "9999999999999999",
            "10000000000000000", "9223372036854775807", "9223372036854775808", "1e3", "1.0", "x", "-", "", "\uff11", "1\0")
TEXTS = ("a", "b", "ab", "10.0.0.1", "10.0.0.12", "x" * 8, "x" * 15, "x" * 16, "x" * 17, "x" * 16 + "y", "x" * 40, "Ä",
         "日本語", "a\0", "\0", " a", "a ", " ", "\t", "a" * 63, "a" * 64, "a" * 65, "a" * 130)
BROKEN = (b"\xff", b"a\x80", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"x" * 20 + b"\xc0\xaf")
BLANKS = (b"", b" ", b"\t \t", b"\r", b"\n", b"\r\n", b"\n\n")
PATHS = ("a.b", "a.c", "a.b.d", "e", "same")
SPACES = (b"", b"  ", b"\t", b"\r\n", b"\n", b"\0")
OTHERS = (b"null", b"true", b"false", b"nul", b"1.5", b"-7", b"1e3", b"-", b"{}", b"[]", b'{"a": [1, 2]}', b"[[1], {}]",
          b'""', b'"\\u0041b"', b'"\\n"', b'"\\x"', b'"\\ud800"', b'"\xff"', b'"a\nb"', b"12345678901234567", b"00",
          b"\xc3\xa9")
LATE_S = (0, 0, 0, 1, 5, 3_000)


@dataclass
class Case:
    """A stream, the columns that are wanted of it, and how many in a thousand values, rows and messages are unusual."""

    rng: random.Random
    stream: Stream
    wanted: tuple[str, ...]
    nasty: int

    def is_nasty(self) -> bool:
        """Shall the next thing be unusual?"""
        return self.rng.randrange(1000) < self.nasty


def case_of(seed: int, format_: str = "CSV") -> Case:
    """The case of a seed."""
    rng = random.Random(seed)
    types = [rng.choice(("INT", "BIGINT", "STRING", "STRING")) for _ in range(rng.randrange(8))]
    columns = {f"c{i}": type_ for i, type_ in enumerate(types)} | {"t": rng.choice(("INT", "BIGINT", "BIGINT"))}
    columns |= {f"x{i}": rng.choice(("DOUBLE", "DATE", "STRING", "INT")) for i in range(rng.randrange(3))}
    names = list(columns)
    rng.shuffle(names)
    unit = rng.choice(("s", "ms", "us")) if columns["t"] == "BIGINT" else "s"
    options = {"delimiter": rng.choice((",", ",", ",", ";", "\t", "|", " ")), "quote": rng.choice(('"', '"', '"', "'", "")),
               "null": rng.choice(("", "", "NULL", "\\N", "0", "a"))}
    of = stream({name: columns[name] for name in names}, format_, unit=unit, options=options,
                key_parts=rng.choice((1, 2, 3)))
    wanted = [name for name in names if not name.startswith("x") and rng.random() < 0.6]
    nasty = rng.choice((0, 0, 1, 5, 20, 60))
    if format_ == "JSON":
        paths = [rng.choice((None, f"a.{name}", f"a.b.{name}", *PATHS[:nasty])) for name in names]
        of = replace(of, columns=tuple(replace(column, path=path) for column, path in zip(of.columns, paths, strict=True)))
    return Case(rng, of, tuple(sorted({*wanted, "t"})), nasty)


def plan_of(case: Case) -> QueryPlan:
    """A query of the plainest kind over the wanted columns."""
    rng, columns = case.rng, [case.stream.column(name) for name in case.wanted]
    integers = [column for column in columns if column.type != "STRING"]
    keys = rng.sample([column for column in columns if column.name != "t"], rng.randrange(min(4, len(columns))))
    calls = [AggregateCall("count", None, None, "BIGINT")] * rng.randrange(2)
    for _ in range(rng.randrange(3)):
        column, function = rng.choice(integers), rng.choice(("sum", "min", "max"))
        type_ = "BIGINT" if function == "sum" else column.type
        calls.append(AggregateCall(function, Column(column.name, column.type), None, type_))
    return made(case.wanted, tuple(Key(c.name, Column(c.name, c.type), c.type) for c in keys), tuple(calls),
                window=Window("tumbling", rng.choice((1_000, 7_000, 60_000, 3_600_000))))


def text_of(case: Case, type_: str) -> bytes:
    """A value of a text or integer column."""
    rng = case.rng
    if case.is_nasty():
        return rng.choice((rng.choice(BROKEN), rng.choice(INTEGERS).encode(), rng.choice(TEXTS).encode(), b"",
                           case.stream.options["null"].encode()))
    if type_ != "STRING":
        return str(rng.choice((rng.randrange(1, 10), rng.randrange(1, 2**31), rng.randrange(10, 99_999)))).encode()
    text = rng.choice((f"k{rng.randrange(9)}", f"10.{rng.randrange(3)}.0.{rng.randrange(300)}", f"é{rng.randrange(5)}",
                       f"a text of more than sixteen bytes {rng.randrange(40)}"))
    return text.replace(case.stream.options["delimiter"], "_").encode()


def time_of(case: Case, written_ms: int) -> bytes:
    """An event time about the record's own."""
    rng, per_second = case.rng, UNITS_PER_SECOND[case.stream.time_unit]
    second = written_ms // 1000 if written_ms > 10**7 else NOW_MS // 1000
    if case.is_nasty():
        seconds = rng.choice((second + 59, second + 60, second + 61, second + 10**6, 253_370_764_799, 253_370_764_800, 0, 1))
        return rng.choice((str(seconds * per_second).encode(), rng.choice(INTEGERS).encode(), b"-%d" % per_second))
    return str((second - rng.choice(LATE_S)) * per_second + rng.randrange(per_second)).encode()


def json_value_of(case: Case, column: StreamColumn, written_ms: int) -> bytes:
    """A value of a column as JSON, or as what somebody takes for JSON."""
    rng = case.rng
    text = time_of(case, written_ms) if column.name == "t" else text_of(case, column.type)
    if case.is_nasty():
        return rng.choice((*OTHERS, text, b'"%b"' % text, b'"%b' % text, b"{%b}" % json_pair_of(case, b"k", text)))
    if column.type == "STRING":
        return b'"%b"' % text.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return text


def json_pair_of(case: Case, key: bytes, value: bytes) -> bytes:
    """A key and its value."""
    space = case.rng.choice(SPACES) if case.is_nasty() else b" "
    if case.is_nasty():
        key = case.rng.choice((b"\\u%04x%b" % (key[0], key[1:]), key + b"\\", key * 2))
    return b'"%b":%b%b' % (key, space, value)


def json_row_of(case: Case, written_ms: int) -> bytes:
    """One object, with the values of columns at their paths."""
    rng, found = case.rng, {}
    for column in case.stream.columns:
        *way, last = (column.path or column.name).split(".")
        inner = found
        for key in way:
            inner = inner.setdefault(key, {})
            inner = inner if isinstance(inner, dict) else {}
        inner[last] = json_value_of(case, column, written_ms)

    def written(pairs: dict) -> bytes:
        made = [json_pair_of(case, key.encode(), written(value) if isinstance(value, dict) else value)
                for key, value in pairs.items()]
        if case.is_nasty():
            made.insert(rng.randrange(len(made) + 1), rng.choice((*made, b'"more": [1, {"t": 2}]', b"", b"x")))
        if case.is_nasty():
            rng.shuffle(made)
        if case.is_nasty():
            made = made[1:]
        return b"{%b}" % (rng.choice((b", ", b",", b" ,\n ")) if case.is_nasty() else b", ").join(made)

    row = written(found)
    return row[:rng.randrange(len(row) + 1)] + rng.choice((b"", b"", b" x")) if case.is_nasty() else row


def row_of(case: Case, written_ms: int) -> bytes:
    """One line."""
    if case.stream.format == "JSON":
        return json_row_of(case, written_ms)
    rng, options = case.rng, case.stream.options
    quote, delimiter = options["quote"].encode(), options["delimiter"].encode()
    values = [time_of(case, written_ms) if column.name == "t" else text_of(case, column.type)
              for column in case.stream.columns]
    if quote and case.is_nasty():
        i = rng.randrange(len(values))
        inside = rng.choice((values[i], delimiter, b"\n", b"a\r\nb", quote * 2, b"", values[i] + delimiter))
        values[i] = rng.choice((quote + inside + quote, quote + inside, inside + quote, quote + inside + quote + b"z"))
    if case.is_nasty():
        values = values[:rng.randrange(len(values) + 1)] + [b"more"] * rng.choice((0, 0, 1, 70))
    return delimiter.join(values)


def message_of(case: Case, written_ms: int) -> bytes | None:
    """The value of one record: a row, or many."""
    rng = case.rng
    if case.is_nasty():
        return rng.choice((None, rng.choice(BLANKS), rng.randbytes(rng.randrange(90)), row_of(case, written_ms) + b" "))
    if rng.random() < 0.7:
        return row_of(case, written_ms) + (rng.choice((b"\n", b"\r\n", b"\r")) if rng.random() < 0.1 else b"")
    rows = [row_of(case, written_ms) for _ in range(rng.choice((2, 3, 10, 40)))]
    if case.stream.format == "JSON" and case.is_nasty():
        return b"[%b]" % b",".join(rows)
    if case.is_nasty():
        rows.insert(rng.randrange(len(rows) + 1), rng.choice(BLANKS))
    return rng.choice((b"\n", b"\n", b"\r\n")).join(rows)


def batches_of(case: Case, messages: int) -> Iterator[tuple[int, bytes]]:
    """Record batches with about so many messages: (offset after the last, bytes) each."""
    rng, at, codec = case.rng, rng_offset(case.rng), case.rng.choice(CODECS)
    while messages > 0:
        count, base_ms = rng.choice((1, 3, 20, 60)), rng.choice((NOW_MS, NOW_MS, NOW_MS + rng.randrange(10**6), 0, -1))
        append_ms = base_ms + 70_000 if rng.random() < 0.2 else None
        records, delta = [], 0
        for _ in range(count):
            time_delta = rng.choice((0, 0, 1, 17, 900, 70_000, -5))
            written_ms = append_ms if append_ms is not None else base_ms + time_delta
            headers = ((b"h", b"v"),) if rng.random() < 0.05 else ()
            records.append(Record(delta, message_of(case, written_ms), rng.choice((None, None, b"", b"key")), headers,
                                  time_delta))
            delta += rng.choice((1, 1, 1, 1, 2, 9))
        yield at + delta, batch(at, records, codec=codec, base_time=base_ms, append_time=append_ms, last_delta=delta - 1)
        at += delta
        messages -= count


def rng_offset(rng: random.Random) -> int:
    """Where a log begins."""
    return rng.choice((0, 0, 1, 2**31 - 5, 2**45))


def records_of(case: Case, messages: int) -> Records:
    """Their records as a claim has them: of one answer or of several, perhaps from the midst of a batch to the midst of
    another."""
    rng, made = case.rng, list(batches_of(case, messages))
    ends, answers = [end for end, _ in made], []
    while made:
        several = made[:rng.choice((1, 2, len(made)))]
        made = made[len(several):]
        data = b"".join(part for _, part in several)
        tail = made[0][1][:rng.choice((0, 30, 61, 200))] if made else b""
        first = answers[-1].next_offset if answers else 0
        answers.append(decode(data + (tail if len(tail) < len(made[0][1]) else b"") if made else data, first))
    start, end = (0, ends[-1]) if rng.random() < 0.6 else sorted(rng.randrange(ends[-1] + 1) for _ in range(2))
    if rng.random() < 0.3:
        start = max(0, ends[0] - rng.randrange(1, 9))
    return following((answer.records for answer in answers), start, max(start, end))
