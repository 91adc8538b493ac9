"""Instants: as people write them in requests, and as Kafka stamps its records. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from mars.errors import RequestError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLIS_MAX = 2**63 // 1000 - 1  # so that in microseconds, and a little more or less, it still fits 64 bits


def instant_us(name: str, text: str | None) -> int | None:
    """Microseconds since the epoch, in 64 bits, of RFC 3339 text (without an offset: UTC) or epoch milliseconds."""
    if text is None or text == "":
        return None
    try:
        if text.lstrip("-").isdigit():
            return _in_64_bits(int(text)) * 1000
        # A plus sign that was not escaped in a URL arrives as a space.
        head, sep, tail = text.partition("T")
        time = datetime.fromisoformat(f"{head}{sep}{tail.replace(' ', '+')}")
    except ValueError:
        raise RequestError(f"{name} is not a time", f"{name} = {text}",
                           "give RFC 3339, for example 2026-01-31T12:00:00Z, or milliseconds since 1970") from None
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH) // timedelta(microseconds=1)


def _in_64_bits(millis: int) -> int:
    if abs(millis) > MILLIS_MAX:
        raise ValueError(f"{millis} has other units")
    return millis


def instants(time_ms: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Milliseconds since 1970, as Kafka has them, as TIMESTAMP; NULL beyond the range of a TIMESTAMP, as when a producer
    gives nanoseconds."""
    millis, most = time_ms.cast(pa.int64()), MILLIS_MAX + 1
    known = pc.and_(pc.less_equal(millis, most), pc.greater_equal(millis, -most))
    return pc.if_else(known, millis, None).cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))
