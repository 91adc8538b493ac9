"""What a mapper tells is what the reducer hears."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mars.errors import InvariantError
from mars.model.entries import Entry, Header, Share, decode, encode

OFFSETS = st.integers(0, 2**63 - 1)
COUNTS = st.dictionaries(st.text(max_size=5), st.integers(1, 2**53), max_size=3)
SHARES = st.dictionaries(st.text(min_size=1, max_size=4), st.builds(Share, st.binary(max_size=20), COUNTS, COUNTS),
                         max_size=4)
KEPT = (b'{"v":3,"partition":3,"start":10,"end":14,"max_event_time":-5,"log":[1,14],'
        b'"tasks":[["q1",2,0],["q2",1,1],["q3",7,2],["q4",8,0]],'
        b'"shares":[[3,{"tuples":4,"bad":1},{"v: not a number":1}],[0,{},{}],[2,{},{}]]}', b"abcde")


@given(OFFSETS, OFFSETS, st.none() | st.integers(-2**63, 2**63 - 1), st.none() | st.tuples(st.integers(0, 9), OFFSETS),
       SHARES)
def test_what_is_encoded_is_decoded(start, end, time, log, shares):
    header = Header(1, start, end, {query: i for i, query in enumerate(shares)}, time, log)
    assert decode(7, *encode(header, shares)) == Entry(7, header, shares)


def test_the_form_in_the_log_stays():
    header = Header(3, 10, 14, {"q1": 2, "q2": 1, "q3": 7, "q4": 8}, -5, (1, 14))
    both = Share(b"abc", {"tuples": 4, "bad": 1}, {"v: not a number": 1})
    shares = {"q1": both, "q2": Share(), "q3": Share(b"de"), "q4": both}
    assert encode(header, shares) == KEPT
    assert decode(1, *KEPT) == Entry(1, header, shares)


def test_what_tasks_have_together_is_one_object_and_counts_once():
    found = decode(1, *KEPT)
    assert found.shares["q1"] is found.shares["q4"]
    assert found.cells_bytes == 5


@pytest.mark.parametrize("version", [{}, {"v": 1}, {"v": 2}, {"v": 4}])
def test_an_entry_of_another_version_is_thrown_away(version):
    told = {name: value for name, value in orjson.loads(KEPT[0]).items() if name != "v"} | version
    with pytest.raises(InvariantError, match="another version"):
        decode(1, orjson.dumps(told), KEPT[1])
