from __future__ import annotations

import numpy as np
import pytest

from mars.algebra.windows import KINDS, NEVER, Windows
from mars.model.plan import Stream, Window


def minutes(unit: str, grace_ms: int = 0) -> Windows:
    return KINDS["tumbling"](Window("tumbling", 60_000), Stream("s", 1, "topic", "id", (), "CSV", "t", unit), grace_ms)


@pytest.mark.parametrize(("unit", "size"), [("s", 60), ("ms", 60_000), ("us", 60_000_000), ("ns", 60_000_000_000)])
def test_windows_are_aligned_to_the_epoch_in_the_streams_unit(unit: str, size: int) -> None:
    times = np.array([0, size - 1, size, 2 * size + 1, -1, -size, -size - 1], np.int64)
    windows = minutes(unit).panes(times)
    assert windows.tolist() == [0, 0, size, 2 * size, -size, -size, -2 * size]
    assert minutes(unit).start(windows).tolist() == windows.tolist()
    assert minutes(unit).end(windows).tolist() == (windows + size).tolist()
    assert minutes(unit).shortest_us == 60_000_000


def test_a_batch_inside_one_window_gets_its_start() -> None:
    assert minutes("ms").panes(np.array([-1, -60_000], np.int64)).tolist() == [-60_000, -60_000]
    assert minutes("ms").panes(np.array([59_999, 0], np.int64)).tolist() == [0, 0]


def test_no_tuples_have_no_windows() -> None:
    assert minutes("ms").panes(np.empty(0, np.int64)).tolist() == []


def test_a_window_closes_when_the_watermark_is_at_its_end_and_grace() -> None:
    assert [minutes("s", grace_ms=5_000).closed_end(watermark) for watermark in (64, 65)] == [59, 60]
    assert minutes("s", grace_ms=5_000).delay_us == 5_000_000


def test_without_a_window_all_tuples_share_one_that_never_ends() -> None:
    whole = KINDS[None](None, Stream("s", 1, "topic", "id", (), "CSV", "t"), 0)
    assert whole.panes(np.array([5, -5], np.int64)).tolist() == [0, 0]
    assert whole.last_end(np.zeros(1, np.int64)).tolist() == [NEVER]
