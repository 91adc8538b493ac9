"""Reasons name the exact range that is missing, and the way out."""

from __future__ import annotations

import pytest

from mapper.decode import CorruptRecords
from mapper.push import too_many_cells
from mapper.stop import state_of, why
from mars.adapters.kafka.errors import CorruptLog, LogTruncated, OffsetOutOfRange, TopicRecreated
from mars.config import Config
from mars.model.claims import Claim

CLAIM = Claim(1, 3, 100, 200, {"q1": 1}, 1, 1, None)


@pytest.mark.parametrize(("error", "state", "said"), [
    (OffsetOutOfRange("t", 3, 100, 170, 900), "DATA_LOSS", ["[100, 170) of partition 3", "[170, 900)", "FROM EARLIEST"]),
    (OffsetOutOfRange("t", 3, 100, 0, 40), "LOG_TRUNCATED", ["[40, 100) of partition 3", "FROM EARLIEST"]),
    (LogTruncated("t", 3, 100, 5, 60), "LOG_TRUNCATED", ["[60, 100) of partition 3", "FROM EARLIEST"]),
    (CorruptRecords("topic t, partition 3: bad CRC", 130), "FAILED", ["[100, 200) of partition 3", "bad CRC"]),
    (CorruptLog("t", 3, 130), "FAILED", ["[100, 200) of partition 3", "from offset 130 on"]),
    (TopicRecreated("t", "a", "b"), "TOPIC_RECREATED", ["[100, 200) of partition 3", "was a and is b", "DROP the query"]),
])
def test_the_reason_names_the_range(error, state, said):
    assert state_of(CLAIM, error) == state
    for text in said:
        assert text in why(CLAIM, error)


def test_cells_that_are_too_many_are_named_with_range_and_figures():
    reason = too_many_cells(CLAIM, 70_000_000, Config(), 1 << 30)
    assert "offsets [100, 200) of partition 3 gave 70,000,000 bytes" in reason
    assert "query_cells_bytes_max is 67,108,864" in reason


def test_cells_that_a_small_redis_never_takes_are_too_many_too():
    assert too_many_cells(CLAIM, 60_000_000, Config(), 1 << 30) is None
    assert too_many_cells(CLAIM, 60_000_000, Config(), 0) is None
    reason = too_many_cells(CLAIM, 60_000_000, Config(), 64 << 20)
    assert "60,000,000 bytes" in reason
    assert "takes 16,777,216 of one query at once (redis_memory_bytes_max)" in reason
