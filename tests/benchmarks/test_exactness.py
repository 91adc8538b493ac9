"""What is lost and what is doubled is found, group by group."""

import pyarrow as pa

from benchmarks.exactness import Exactness, judge


def counts(*rows: tuple[str, str, int, int]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(("sip", "type", "timestamp", "count"), row, strict=True)) for row in rows])


SENT = counts(("a", "dns", 0, 5), ("a", "ssh", 0, 7), ("a", "dns", 60_000, 2))


def test_the_same_in_another_order_is_exact():
    verdict = judge(SENT, SENT.take([2, 0, 1]).select(["count", "timestamp", "type", "sip"]))
    assert (verdict.exact, verdict.groups, str(verdict)) == (True, 3, "exact")


def test_a_row_that_comes_twice_is_doubled():
    assert judge(SENT, pa.concat_tables([SENT, SENT.slice(1, 1)])) == Exactness(3, wrong=1, lost=0, doubled=7)


def test_a_row_that_is_missing_is_lost():
    assert judge(SENT, SENT.slice(0, 2)) == Exactness(3, wrong=1, lost=2, doubled=0)
    assert judge(SENT, SENT.slice(0, 0)) == Exactness(3, wrong=3, lost=14, doubled=0)


def test_a_tuple_in_the_wrong_group_is_lost_there_and_doubled_here():
    found = counts(("a", "dns", 0, 4), ("a", "ssh", 0, 7), ("a", "dns", 60_000, 2), ("b", "dns", 0, 1))
    assert judge(SENT, found) == Exactness(3, wrong=2, lost=1, doubled=1)
