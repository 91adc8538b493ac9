"""A buffer is used again when nobody holds anything of it, and not before."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from mars.adapters.kafka import buffers
from mars.adapters.kafka.buffers import STEP_BYTES, Buffers

SIZE = STEP_BYTES - 1


def address(view: memoryview) -> int:
    """Where it lies."""
    return np.frombuffer(view, np.uint8).ctypes.data


@pytest.mark.parametrize("hold", [
    lambda view: view, lambda view: view[5:9], lambda view: view.toreadonly()[5:9],
    lambda view: np.frombuffer(view, np.uint8), lambda view: np.frombuffer(view[7:], np.uint8)[3:5]])
def test_who_holds_any_part_keeps_the_whole(hold):
    kept = Buffers()
    view = kept.take(SIZE)
    first, part = address(view), hold(view)
    del view
    gc.collect()
    other = kept.take(SIZE)
    assert address(other) != first
    del part
    assert address(kept.take(SIZE)) == first


def test_a_buffer_that_is_too_small_is_replaced_and_only_some_are_kept(monkeypatch):
    kept = Buffers()
    views = [kept.take(SIZE) for _ in range(buffers.KEPT_MAX + 2)]
    assert [len(view) for view in views] == [SIZE] * len(views)
    views.clear()
    assert len(kept._kept) == buffers.KEPT_MAX
    assert len(kept.take(STEP_BYTES + 1)) == STEP_BYTES + 1
    assert [len(whole) for whole in kept._kept] == [STEP_BYTES] * (buffers.KEPT_MAX - 1) + [2 * STEP_BYTES]
    monkeypatch.setattr(buffers, "KEPT_BYTES_MAX", 0)
    kept.take(SIZE)
    assert len(kept._kept) == buffers.KEPT_MAX - 1
