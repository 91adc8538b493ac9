"""What a query may hold: exact figures, cells of one group in several tables counted once, and not at each commit."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest

from mars.algebra import cells
from mars.config import Config
from reducer.state.limits import Limits, Verdict
from tests.reducer.pieces import QUERY, STREAM, fresh, piece

FITS = Verdict()


def filled(pieces: int):
    """Three groups in each piece, the same ones."""
    state = fresh()
    for number in range(pieces):
        state.accept(piece(number, 0, number * 3, [1, 2, 3]))
    return state


def limits(**settings: int) -> Limits:
    return Limits(Config().model_copy(update=settings))


def test_groups_are_counted_once_however_many_tables_hold_them():
    assert limits(query_groups_max=3).judge(filled(20), 1) == FITS


def test_a_group_too_many_is_named_with_both_figures():
    state = filled(2)
    reason = limits(query_groups_max=2).judge(state, 1).exceeded
    assert reason.startswith("key part 1 holds 3 groups in open windows, and query_groups_max is 2;")
    assert "RESUME QUERY" in reason


def test_groups_are_not_merged_again_before_so_many_more_have_come(monkeypatch):
    checked, calls, real = limits(query_groups_max=10), [], cells.merge
    monkeypatch.setattr("reducer.state.limits.cells.merge", lambda *a: calls.append(1) or real(*a))
    state = filled(4)
    for number in range(4, 20):
        assert checked.judge(state, 0) == FITS
        state.accept(piece(number, 0, number * 3, [1, 2, 3]))
    assert 1 <= len(calls) <= 8


def test_after_windows_have_closed_what_is_left_is_counted():
    state, checked = filled(4), limits(query_groups_max=6)
    assert checked.judge(state, 0) == FITS
    state.close(50)
    assert checked.judge(state, 0) == FITS
    for number in range(3):
        state.accept(piece(10 + number, 0, 12 + number * 3, [100 + 20 * number] * 3))
    assert "9 groups" in checked.judge(state, 0).exceeded


@pytest.mark.parametrize(("most", "held"), [(10_000, False), (90, True)])
def test_bytes_are_those_that_are_held(most, held):
    assert bool(limits(query_state_bytes_max=most).judge(filled(2), 0).exceeded) == held


def test_bytes_of_the_same_groups_in_many_tables_count_once_and_are_put_together():
    """How many tables hold a state is luck: what it comes to when they are merged decides."""
    one, many = filled(1), filled(20)
    held = one.delta[0].nbytes
    assert sum(table.nbytes for table in many.delta) > 5 * held
    assert limits(query_state_bytes_max=held).judge(many, 0) == Verdict(fits_only_merged=True), (
        "else it would hold as much for as long as segments may gather")
    assert limits(query_state_bytes_max=held).judge(one, 0) == FITS, "one table is as it would be written"
    assert f"holds {held:,} bytes" in limits(query_state_bytes_max=held - 1).judge(many, 0).exceeded


def test_texts_of_closed_windows_do_not_count():
    """A dictionary keeps what no row names any more."""
    keys = pa.array([0] * 3, pa.int32())
    state = SimpleNamespace(query=QUERY, stream=STREAM, commit=SimpleNamespace(state=[SimpleNamespace(length=10_000)]),
                            delta=[], held_beside=list, open=[pa.table({
                                "w": pa.array([0, 10, 20]),
                                "k0": pa.DictionaryArray.from_arrays(keys, ["short", "long" * 500])})])
    assert limits(query_state_bytes_max=200).judge(state, 0).exceeded == ""
