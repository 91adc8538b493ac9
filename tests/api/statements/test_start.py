"""FROM 't': the first record stamped at or after t, in Kafka's whole milliseconds."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from api.statements import define
from mars.errors import SqlError
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse

STREAM = compile_stream(parse("CREATE STREAM s (t BIGINT) FROM KAFKA 'x' FORMAT CSV TIMESTAMP t"))
TOPIC = SimpleNamespace(partitions=[0, 1])
SECOND_S = 1_769_860_800  # 2026-01-31T12:00:00Z


def asked_ms(start: str) -> int:
    """The time that Kafka is asked for."""
    asked = []
    kafka = SimpleNamespace(offsets_at=lambda topic, partitions, time_ms: asked.append((topic, partitions, time_ms)))
    select = parse(f"SELECT count(*) FROM s WINDOWING 60 s FROM '{start}'")
    plan = compile_select(select, STREAM, continuous=True)
    define.start_offsets(SimpleNamespace(kafka=kafka), STREAM, select, plan, TOPIC)
    [(topic, partitions, time_ms)] = asked
    assert (topic, partitions) == ("x", [0, 1])
    return time_ms


@pytest.mark.parametrize(("start", "ms"), [
    ("2026-01-31T12:00:00Z", 0), ("2026-01-31T12:00:00.001", 1), ("2026-01-31T12:00:00.0005", 1),
    ("2026-01-31T12:00:00.001001", 2), ("2026-01-31T12:00:00.001999", 2), ("2026-01-31T12:00:00.000000001Z", 1),
    ("2026-01-31T14:00:00.999999+02:00", 1_000), ("2026-01-31T11:59:59.999999", 0), ("2026-01-31T11:59:59.998001", -1)])
def test_a_start_between_two_milliseconds_is_the_later_one(start: str, ms: int) -> None:
    assert asked_ms(start) == SECOND_S * 1000 + ms


@pytest.mark.parametrize("start", ["1970-01-01", "1969-12-31T23:59:59.999", "1969-12-31T23:59:59.998", "0001-01-01"])
def test_a_start_before_all_stamps_is_the_first_of_them(start: str) -> None:
    """And not one of Kafka's signs below 0: -1 is the end of the topic."""
    assert asked_ms(start) == 0


def test_a_start_is_in_the_future_by_itself_and_not_by_its_millisecond(monkeypatch) -> None:
    monkeypatch.setattr(define.time, "time", lambda: SECOND_S + 0.000_250)
    assert asked_ms("2026-01-31T12:00:00.000250Z") == SECOND_S * 1000 + 1
    with pytest.raises(SqlError, match="is in the future"):
        asked_ms("2026-01-31T12:00:00.000300Z")
