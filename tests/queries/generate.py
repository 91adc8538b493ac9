"""Tuples from a seed, with values that break careless code; the same for a schema and a seed on every machine."""

from __future__ import annotations

import json
import random

from mars.model.plan import UNITS_PER_SECOND, Stream

BASE_S = 1_699_999_200
SPAN_S = 600

TEXTS = ("a", "b", "", "Ä", "zwölf, elf", 'say "hi"', "два\nlines", "日本", "🪐", " x ", "NULL", "0", "a'b", "\\", "%_")
DOUBLES = ("0.0", "-0.0", "0.1", "-2.5", "1e3", "NaN", "Infinity", "123.456", "7", "-0.001")
BAD = {"INT": ("x", "2147483648", "1.5"), "BIGINT": ("9223372036854775808", "1e3", "-"), "DOUBLE": ("1,5", "zero"),
       "FLOAT": ("0x1",), "DATE": ("2023-02-30", "yesterday"), "BOOLEAN": ("maybe",), "TIMESTAMP": ("25:00", "2023-13-01")}
NULL_SHARE, BAD_SHARE = 0.08, 0.01


def messages(stream: Stream, seed: int, tuples: int, partitions: int, disorder_s: int) -> list[tuple[int, bytes]]:
    """(partition, value) in order: event times over SPAN_S that are at most `disorder_s` out of order, and at the end
    of each partition one tuple an hour later, which closes every window before it."""
    rng = random.Random(seed)
    made = []
    for i in range(tuples):
        back = rng.randrange(disorder_s * 1000 + 1) / 1000
        time_s = max(BASE_S, BASE_S + i * SPAN_S / tuples - back)
        made.append((rng.randrange(partitions), _message(stream, rng, time_s)))
    return made + [(p, _message(stream, rng, BASE_S + SPAN_S + 3_600, plain=True)) for p in range(partitions)]


def _message(stream: Stream, rng: random.Random, time_s: float, plain: bool = False) -> bytes:
    values = {}
    for column in stream.columns:
        if column.name == stream.time_column:
            values[column] = _time(stream, time_s)
        else:
            share = 1.0 if plain else rng.random()
            values[column] = value_of(column.type, rng, share)
    return (_json if stream.format == "JSON" else _csv)(stream, values, rng)


def value_of(type_: str, rng: random.Random, share: float) -> str | None:
    """The text of a value: rarely NULL, more rarely one that does not read."""
    if share < BAD_SHARE and type_ in BAD:
        return rng.choice(BAD[type_])
    if share < NULL_SHARE:
        return None
    if type_.startswith("DECIMAL"):
        return f"{rng.randrange(-99_999, 99_999) / 100:.2f}"
    return {"INT": lambda: str(rng.choice((0, 1, -1, 7, 2_147_483_647, -2_147_483_648, rng.randrange(100)))),
            "BIGINT": lambda: str(rng.choice((0, -1, 3, 1 << 40, -(1 << 63), (1 << 63) - 1, rng.randrange(1_000)))),
            "DOUBLE": lambda: rng.choice((*DOUBLES, repr(rng.randrange(-4_000, 4_000) / 4))),
            "FLOAT": lambda: rng.choice(("0.5", "-0.25", "3", repr(rng.randrange(100) / 8))),
            "STRING": lambda: rng.choice(TEXTS),
            "BOOLEAN": lambda: rng.choice(("true", "false")),
            "DATE": lambda: f"{rng.choice((1969, 2000, 2024))}-02-{rng.randrange(1, 29):02d}",
            "TIMESTAMP": lambda: f"2023-11-1{rng.randrange(10)}T0{rng.randrange(10)}:30:00.{rng.randrange(1000):03d}Z",
            }[type_]()


def _time(stream: Stream, time_s: float) -> str:
    type_ = stream.column(stream.time_column).type
    if type_ in ("INT", "BIGINT"):
        per_second = UNITS_PER_SECOND[stream.time_unit]
        return str(int(time_s) if per_second == 1 else round(time_s * 1000) * (per_second // 1000))
    seconds, millis = divmod(round(time_s * 1000), 1000)
    minutes, second = divmod(seconds - BASE_S, 60)
    hours, minute = divmod(minutes, 60)
    return f"2023-11-14T{22 + hours:02d}:{minute:02d}:{second:02d}.{millis:03d}{'Z' if type_ == 'STRING' else ''}"


def _csv(stream: Stream, values: dict, rng: random.Random) -> bytes:
    delimiter, quote = stream.options["delimiter"], stream.options["quote"]
    fields = []
    for value in values.values():
        special = value == "" or (value is not None and any(char in value for char in f"{delimiter}{quote}\r\n"))
        quoted = value is not None and (special or rng.random() < 0.05)
        fields.append(stream.options["null"] if value is None else
                      f"{quote}{value.replace(quote, quote * 2)}{quote}" if quoted else value)
    return delimiter.join(fields).encode()


def _json(stream: Stream, values: dict, rng: random.Random) -> bytes:
    document: dict = {}
    for column, value in values.items():
        if value is None and rng.random() < 0.5:
            continue  # a missing key is NULL too
        *path, last = (column.path or column.name).split(".")
        place = document
        for name in path:
            place = place.setdefault(name, {})
        place[last] = _json_value(column.type, value)
    return json.dumps(document, ensure_ascii=rng.random() < 0.5, allow_nan=False).encode()


def _json_value(type_: str, text: str | None) -> object:
    """Numbers and truth values as JSON has them; what JSON has no number for stays text."""
    if text is None or type_ not in ("INT", "BIGINT", "DOUBLE", "FLOAT", "BOOLEAN"):
        return text
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return text if (isinstance(value, float) and value != value) or value in (float("inf"), float("-inf")) else value
