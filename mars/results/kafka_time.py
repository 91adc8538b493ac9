"""Kafka's own timestamps as TIMESTAMPs."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

MILLIS_MAX = (2**63 - 1) // 1000  # so that in microseconds it still fits 64 bits


def instants(time_ms: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Milliseconds since 1970 as TIMESTAMP; NULL beyond the range of a TIMESTAMP, as when a producer gives
    nanoseconds."""
    millis = time_ms.cast(pa.int64())
    known = pc.and_(pc.less_equal(millis, MILLIS_MAX), pc.greater_equal(millis, -MILLIS_MAX))
    return pc.if_else(known, millis, None).cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))
