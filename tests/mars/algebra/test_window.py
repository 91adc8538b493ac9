from __future__ import annotations

import numpy as np
import pytest

from mars.algebra import window
from mars.model.plan import Stream, Window

MINUTE = Window("tumbling", 60_000)


def stream(unit: str) -> Stream:
    return Stream("s", 1, "topic", "id", (), "CSV", "t", unit)


@pytest.mark.parametrize(("unit", "size"), [("s", 60), ("ms", 60_000), ("us", 60_000_000), ("ns", 60_000_000_000)])
def test_windows_are_aligned_to_the_epoch_in_the_streams_unit(unit: str, size: int) -> None:
    times = np.array([0, size - 1, size, 2 * size + 1, -1, -size, -size - 1], np.int64)
    starts = window.assign(MINUTE, stream(unit), times)
    assert starts.tolist() == [0, 0, size, 2 * size, -size, -size, -2 * size]
    assert window.end(MINUTE, stream(unit), starts).tolist() == (starts + size).tolist()


def test_a_batch_inside_one_window_gets_its_start() -> None:
    assert window.assign(MINUTE, stream("ms"), np.array([-1, -60_000], np.int64)).tolist() == [-60_000, -60_000]
    assert window.assign(MINUTE, stream("ms"), np.array([59_999, 0], np.int64)).tolist() == [0, 0]


def test_no_tuples_have_no_windows() -> None:
    assert window.assign(MINUTE, stream("ms"), np.empty(0, np.int64)).tolist() == []


def test_without_a_window_all_tuples_share_the_start_zero() -> None:
    assert window.assign(None, stream("ms"), np.array([5, -5], np.int64)).tolist() == [0, 0]
