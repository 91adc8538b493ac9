"""The demo's check finds a lost, a doubled and an invented tuple, also in NULL groups."""

import pyarrow as pa
import pytest

from api.demo.check import GROWING, LEFT_OUT, LOST, OTHERS, UNREAD, Bounds, Counted, Verdict, compare, judge

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


def told(counts: list[int], tuples: int = 6, later: pa.Table | None = None, known: int = 6, **more: int | bool) -> Verdict:
    """The verdict over these counts, where `known` tuples were sent and `tuples` of them arrived."""
    counters = dict.fromkeys(("bad", "late", "future"), 0) | {"tuples": tuples}
    flags = {name: more.pop(name, False) for name in ("lost", "others")}
    sent = Counted(EXPECTED, Bounds(known, known))
    grown = sent.none() if later is None else Counted(later, Bounds(later.num_rows, later.num_rows))
    return judge(sent, grown, results(counts), counters | more, **flags)


def test_without_a_reason_own_tuples_must_be_equal():
    assert (told([3, 2, 1]).difference, told([3, 2, 1]).doubt) == ("", "")
    for counts in ([3, 2, 2], [2, 2, 1], [2, 3, 1]):
        assert "differ" in told(counts).difference, counts
    assert told([2, 2, 1], tuples=5).difference == "6 tuples were sent, 5 arrived"
    assert told([3, 2, 2], tuples=7).difference == "6 tuples were sent, 7 arrived"
    assert told([2, 2, 1], tuples=5, late=1).difference == "6 tuples were sent, 5 arrived", "late ones are among them"


@pytest.mark.parametrize(("counts", "more", "why"), [
    ([2, 2, 1], {"late": 1}, LEFT_OUT), ([3, 1, 1], {"bad": 1, "tuples": 9, "known": 9}, LEFT_OUT),
    ([3, 2, 2], {"tuples": 7, "known": 7}, UNREAD), ([0, 2, 1], {"lost": True, "tuples": 3}, LOST),
    ([3, 9, 1], {"others": True, "tuples": 13}, OTHERS)])
def test_where_two_engines_may_differ_nothing_is_called_wrong_or_exact(counts, more, why):
    verdict = told(counts, **more)
    assert (verdict.difference, why in verdict.doubt) == ("", True), verdict


def test_they_may_differ_by_no_more_than_either_left_out():
    assert "differ" in told([1, 2, 1], late=1).difference
    assert "differ" in told([3, 2, 3], tuples=7, known=7).difference
    assert "differ" in told([3, 1, 2], late=1).difference


def test_a_topic_that_grows():
    later = pa.table({"sip": ["a", "a"], "timestamp": [120, 180], "count": [1, 1]})
    assert told([3, 2, 1], later=later).doubt == f"2 {GROWING}"
    assert told([3, 3, 1], tuples=7, later=later).doubt == f"1 {GROWING}"
    assert told([3, 3, 1], tuples=7, later=later.slice(0, 1)) == Verdict(3, 7, 1)
    assert "2 to 3 were sent, the result has 4" in told([3, 4, 1], tuples=8, later=later).difference
    assert "3 were sent, the result has 4" in told([4, 2, 1], tuples=7, later=later).difference
    assert "differ" in told([3, 1, 1], tuples=6, later=later).difference
    assert told([3, 2, 1], tuples=9, later=later).difference == "6 to 8 tuples were sent, 9 arrived"
