"""The second reader against a library that gives what is listed: when a range is complete."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError

from tests.mapper import confluent_reader
from tests.mapper.confluent_reader import ConfluentReader

LIMIT = 1 << 20


def record(offset: int) -> SimpleNamespace:
    return SimpleNamespace(offset=lambda: offset, error=lambda: None, value=lambda: b"%d" % offset, timestamp=lambda: (1, 0))


def failing(code: int, offset: int = -1) -> SimpleNamespace:
    return SimpleNamespace(offset=lambda: offset, error=lambda: KafkaError(code))


def reader(monkeypatch, *batches: list) -> ConfluentReader:
    """Whose library gives these batches, and then nothing any more."""
    monkeypatch.setattr(confluent_reader, "POLL_S", 0.0)
    made, left = ConfluentReader.__new__(ConfluentReader), list(batches)
    made.topic, made._assigned, made._surplus = "t", None, []
    made._consumer = SimpleNamespace(assign=lambda _: None, consume=lambda *_: left.pop(0) if left else [])
    return made


@pytest.mark.parametrize("code", [KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN])
@pytest.mark.parametrize("position", range(4))
def test_an_error_that_passes_loses_no_position(monkeypatch, code, position):
    """Else what has been given already is awaited without end."""
    batch = [record(3), record(4), failing(KafkaError._PARTITION_EOF, 6)]
    batch.insert(position, failing(code))
    asked = iter([False] * 5)
    found = reader(monkeypatch, batch).read(0, 3, 6, LIMIT, should_stop=lambda: next(asked, True))
    assert found is not None
    assert found.messages.offset.tolist() == [3, 4]


def test_what_lies_past_the_end_is_given_by_the_next_read(monkeypatch):
    both = reader(monkeypatch, [record(3), failing(KafkaError._TRANSPORT), record(7), record(8)])
    assert both.read(0, 3, 6, LIMIT).messages.offset.tolist() == [3]
    assert both.read(0, 6, 9, LIMIT).messages.offset.tolist() == [7, 8]
