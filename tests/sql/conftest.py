"""The stream that the tests of the dialect compile over."""

from __future__ import annotations

import pytest

from mars.plan import Stream
from sql.create import compile_stream
from sql.parse import parse

FLOWS = """CREATE STREAM flows (
  timestamp BIGINT, sip STRING, dip STRING, type INT, bytes BIGINT, price DECIMAL(10, 2), ratio DOUBLE, ok BOOLEAN,
  d DATE, seen TIMESTAMP
) FROM KAFKA 'flows' FORMAT CSV TIMESTAMP timestamp UNIT ms"""


@pytest.fixture(scope="session")
def flows() -> Stream:
    return compile_stream(parse(FLOWS))
