"""Messages from values, and parsed batches as plain rows: what the parser's tests share."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mapper.batch import REASONS, Messages, ParsedBatch
from mars.model.plan import Stream, StreamColumn


def messages(items: Iterable[bytes], first: int = 0) -> Messages:
    """Messages with these values at the offsets from `first` on."""
    items = list(items)
    length = np.array([len(item) for item in items], np.int64)
    return Messages(np.frombuffer(b"".join(items), np.uint8), np.cumsum(length) - length, length,
                    np.arange(first, first + len(items)), np.zeros(len(items), np.int64))


def stream(columns: dict[str, str], format_: str = "CSV", time: str = "t", unit: str = "ms", paths=(), **more) -> Stream:
    """A stream with these columns and types."""
    paths = dict(paths)
    declared = tuple(StreamColumn(name, type_, paths.get(name)) for name, type_ in columns.items())
    return Stream("s", 1, "topic", "id", declared, format_, time, unit, **more)


def rows(parsed: ParsedBatch, names: tuple[str, ...]) -> list[tuple]:
    """(offset, line, values...) of each tuple; a value that does not read is its reason in angle brackets."""
    columns = [parsed.columns[name].to_pylist() for name in names]
    bad = [parsed.bad.get(name, np.zeros(len(parsed), np.uint8)) for name in names]
    whole = np.zeros(len(parsed), np.uint8) if parsed.tuple_bad is None else parsed.tuple_bad
    out = []
    for i in range(len(parsed)):
        reasons = [int(whole[i]) or int(column[i]) for column in bad]
        values = [f"<{REASONS[reason]}>" if reason else column[i] for reason, column in zip(reasons, columns, strict=True)]
        assert all(column[i] is None for reason, column in zip(reasons, columns, strict=True) if reason and not whole[i])
        out.append((int(parsed.offset[i]), int(parsed.line[i]), *values))
    return out
