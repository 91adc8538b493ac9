"""When the rows that a delivery holds go to the target."""

from __future__ import annotations

import pyarrow as pa

from mars.publisher.batch import Batch
from mars.publisher.target import Pace
from tests.clock import ManualClock

ROWS = pa.table({"a": pa.array(range(10), pa.int64())})


def test_rows_wait_no_longer_than_the_pace_says_though_no_others_come() -> None:
    clock = ManualClock()
    batch = Batch(Pace(7.0, 1_000, 1_000_000), ROWS.schema, clock)
    assert not batch.is_due()
    clock.sleep(100)
    batch.add(ROWS)
    clock.sleep(5)
    batch.add(ROWS)
    assert (batch.is_due(), batch.due_in_s()) == (False, 2)
    clock.sleep(2)
    assert (batch.is_due(), batch.due_in_s()) == (True, 0)
    assert len(batch.take()) == 20
    assert not batch.is_due()


def test_so_many_rows_or_bytes_do_not_wait() -> None:
    for pace in (Pace(7.0, 20, 1_000_000), Pace(7.0, 1_000, 2 * ROWS.nbytes)):
        batch = Batch(pace, ROWS.schema, ManualClock())
        batch.add(ROWS)
        assert not batch.is_due()
        batch.add(ROWS)
        assert (batch.is_due(), batch.due_in_s()) == (True, 0)
