"""The demo's check finds a lost, a doubled and an invented tuple, also in NULL groups."""

import pyarrow as pa
import pytest

from api.demo.check import LEFT_OUT, UNREAD, compare

EXPECTED = pa.table({"sip": ["a", "a", None], "timestamp": [60, 120, 60], "count": [3, 2, 1]})


def results(counts: list[int], sips: tuple = ("a", "a", None)) -> pa.Table:
    return pa.table({"window_start": [60, 120, 60], "sip": list(sips), "timestamp": [60, 120, 60],
                     "count": counts, "partial": [False, True, False]})


def test_equal_counts_are_exact_in_any_order():
    verdict = compare(EXPECTED, results([3, 2, 1]).take([2, 0, 1]))
    assert verdict.difference == ""
    assert (verdict.groups, verdict.tuples, verdict.open_windows) == (3, 6, 1)


def test_a_lost_and_a_doubled_tuple_are_named():
    assert "a" in compare(EXPECTED, results([2, 2, 1])).difference
    assert "2 groups differ" in compare(EXPECTED, results([4, 3, 1])).difference
    assert "NULL" in compare(EXPECTED, results([3, 2, 2])).difference


def test_missing_and_invented_groups_are_named():
    assert "the result has 0" in compare(EXPECTED, results([3, 2, 1]).slice(0, 2)).difference
    assert "0 were sent" in compare(EXPECTED.slice(0, 2), results([3, 2, 1])).difference


def test_without_a_reason_two_engines_must_agree():
    assert (compare(EXPECTED, results([3, 2, 1])).difference, compare(EXPECTED, results([3, 2, 1])).doubt) == ("", "")
    for counts in ([3, 2, 2], [2, 2, 1], [2, 3, 1]):
        assert "differ" in compare(EXPECTED, results(counts)).difference, counts


@pytest.mark.parametrize(("counts", "more", "why"), [
    ([2, 2, 1], {"left_out": 1}, LEFT_OUT), ([3, 1, 1], {"left_out": 1}, LEFT_OUT), ([3, 2, 2], {"unread": 1}, UNREAD)])
def test_where_two_engines_may_differ_nothing_is_called_wrong_or_exact(counts, more, why):
    verdict = compare(EXPECTED, results(counts), **more)
    assert (verdict.difference, why in verdict.doubt) == ("", True), verdict


def test_they_may_differ_by_no_more_than_either_left_out():
    assert "differ" in compare(EXPECTED, results([1, 2, 1]), left_out=1).difference
    assert "differ" in compare(EXPECTED, results([3, 2, 3]), unread=1).difference
    assert "differ" in compare(EXPECTED, results([3, 1, 2]), left_out=1).difference
