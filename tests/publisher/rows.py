"""Rows of a result with every type, for tests of targets."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa

from mars.model import types
from mars.publisher.target import Shape

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
COLUMNS = (("window_start", "TIMESTAMP"), ("window_end", "TIMESTAMP"), ('pa"g e', "STRING"), ("Big", "BIGINT"),
           ("small", "INT"), ("price", "DECIMAL(20,4)"), ("ratio", "FLOAT"), ("mean", "DOUBLE"), ("day", "DATE"),
           ("ok", "BOOLEAN"))
SHAPE = Shape(COLUMNS, ('pa"g e',))
LINES = [
    ("a", 1, 2, Decimal("1.2345"), 0.1, 0.1, date(2026, 1, 1), True),
    (None, None, None, None, None, None, None, None),
    ("é'\\\n", 2**62, -2**31, Decimal("-9999999999999999.0001"), 3.4e38, float("inf"), date(1, 1, 1), False),
    ("", -2**63, 0, Decimal(0), float("nan"), float("nan"), date(9999, 12, 31), True),
]


def table(lines: list[tuple] = LINES, first: datetime = START) -> pa.Table:
    """One window of these lines."""
    rows = [(first, first + MINUTE, *line) for line in lines]
    return pa.Table.from_arrays([pa.array([row[i] for row in rows], types.to_arrow(type_))
                                 for i, (_, type_) in enumerate(COLUMNS)], names=[name for name, _ in COLUMNS])
