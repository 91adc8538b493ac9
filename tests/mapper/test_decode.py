"""Record batches to messages, on bytes made by hand."""

from __future__ import annotations

import contextlib
import random
import struct

import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapper.decode import CorruptRecords, decode
from mapper.kernels import records as layout
from mapper.records import PADDING
from tests.mapper.record_batches import CODECS, Record, batch, marker, values


def found(decoded) -> list[tuple[int, bytes]]:
    m = decoded.messages
    return [(int(o), m.buffer[s:s + n].tobytes()) for o, s, n in zip(m.offset, m.start, m.length, strict=True)]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_gives_the_values(codec):
    items = [b"v%d" % i * 20 for i in range(300)]
    decoded = decode(values(7, *items, codec=codec), 7)
    assert found(decoded) == [(7 + i, item) for i, item in enumerate(items)]
    assert decoded.next_offset == 307


def test_plain_batches_are_not_copied_but_the_last_one_that_the_answer_ends_with():
    first, last, cut = values(0, b"a" * 100, b"b"), values(2, b"c"), values(3, b"d" * 100)
    for rest in (b"", cut[:PADDING - 1]):
        kept, copied = decode(first + last + rest, 0).records.parts
        assert bytes(kept.buffer) == first + last + rest
        assert (kept.rows[:, layout.BASE].tolist(), copied.rows[:, layout.BASE].tolist()) == ([0], [2])
        assert len(copied.buffer) == len(last) - layout.HEADER + PADDING
    whole, = decode(first + last + cut[:PADDING], 0).records.parts
    assert whole.rows[:, layout.BASE].tolist() == [0, 2]


def test_keys_headers_nulls_and_empty_values():
    records = [Record(0, b"x", b"key", ((b"h", b"v"), (b"", b""))), Record(1, None), Record(2, b""), Record(3, b"y", b"")]
    assert found(decode(batch(0, records), 0)) == [(0, b"x"), (2, b""), (3, b"y")]


def test_times_are_the_records_or_the_logs():
    records = [Record(0, b"a", time_delta=5), Record(1, b"b", time_delta=-3)]
    assert decode(batch(0, records), 0).messages.time_ms.tolist() == [1005, 997]
    assert decode(batch(0, records, append_time=77), 0).messages.time_ms.tolist() == [77, 77]


def test_gaps_and_batches_kept_empty_move_the_next_offset():
    data = batch(10, [Record(2, b"a"), Record(5, b"b")], last_delta=9) + batch(30, [], last_delta=4, count=0)
    decoded = decode(data, 10)
    assert found(decoded) == [(12, b"a"), (15, b"b")]
    assert decoded.next_offset == 35


def test_a_control_batch_that_the_cleaner_has_emptied_is_no_abort():
    """It keeps the last number of a producer, in topics that are compacted; another transaction may be aborted there."""
    data = (values(0, b"a", b"b", b"c") + batch(3, [], last_delta=0, count=0, producer=1, transactional=True, control=True)
            + values(4, b"x", producer=2, transactional=True) + marker(5, 2, abort=True))
    decoded = decode(data, 0, aborted=[(2, 4)])
    assert [text for _, text in found(decoded)] == [b"a", b"b", b"c"]
    assert decoded.next_offset == 6


def test_a_batch_may_start_before_the_asked_offset_and_reach_past_the_end():
    decoded = decode(values(0, *[b"%d" % i for i in range(10)]), 4, 7)
    assert found(decoded) == [(4, b"4"), (5, b"5"), (6, b"6")]
    assert decoded.next_offset == 10


def test_batches_at_or_past_the_end_are_not_looked_at():
    broken = bytearray(values(5, b"x"))
    broken[-1] ^= 1
    decoded = decode(values(0, b"a", b"b", b"c", b"d", b"e") + bytes(broken), 0, 5)
    assert decoded.next_offset == 5


@pytest.mark.parametrize("kept", [0, 10, 60, 61, 70])
def test_a_cut_batch_is_left_for_the_next_fetch(kept):
    whole = values(0, b"a")
    decoded = decode(whole + values(1, b"b" * 50)[:kept], 0)
    assert found(decoded) == [(0, b"a")]
    assert decoded.next_offset == 1


def test_nothing_gives_nothing():
    decoded = decode(b"", 42)
    assert (found(decoded), decoded.next_offset, decoded.epochs) == ([], 42, [])


@pytest.mark.parametrize("codec", CODECS)
def test_aborted_transactions_and_control_batches_are_skipped(codec):
    def of(producer, base, *items):
        return values(base, *items, codec=codec, producer=producer, transactional=True)
    data = (of(1, 0, b"no") + of(2, 1, b"yes") + values(2, b"plain", codec=codec) + marker(3, 1, abort=True)
            + of(1, 4, b"again") + marker(5, 2, abort=False) + marker(6, 1, abort=False)
            + of(1, 7, b"no more") + marker(8, 1, abort=True))
    decoded = decode(data, 0, aborted=[(1, 7), (1, 0)])
    assert found(decoded) == [(1, b"yes"), (2, b"plain"), (4, b"again")]
    assert decoded.next_offset == 9


def test_epochs_are_told_by_place():
    decoded = decode(values(0, b"a", epoch=3) + values(1, b"b", epoch=3) + values(2, b"c", epoch=5), 0)
    assert decoded.epochs == [(0, 2, 3), (2, 3, 5)]
    assert [decoded.epoch_before(offset) for offset in (0, 1, 2, 3)] == [None, (3, 1), (3, 2), (5, 3)]


def test_every_flipped_byte_under_the_checksum_is_found():
    good = values(0, b"abc", b"def")
    for at in range(16, len(good)):
        bad = bytearray(good)
        bad[at] ^= 0x55
        with pytest.raises(CorruptRecords):
            decode(bytes(bad), 0)


@pytest.mark.parametrize("make", [
    lambda: batch(0, [Record(0, b"a")], count=2),
    lambda: batch(0, [Record(0, b"a")], count=2**31 - 1),
    lambda: batch(0, [Record(0, b"a"), Record(1, b"b")], count=1),
    lambda: batch(0, [Record(5, b"a")], last_delta=4),
    lambda: batch(0, [Record(1, b"a"), Record(1, b"b")]),
    lambda: values(5, b"a") + values(5, b"b"),
    lambda: values(0, b"a")[:16] + b"\1" + values(0, b"a")[17:],
])
def test_lies_with_a_right_checksum_are_found(make):
    with pytest.raises(CorruptRecords):
        decode(make(), 0).records.messages()


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 2**31 - 1))
def test_any_record_bytes_are_read_within_bounds(data, count):
    """A right header over random records: they read, or CorruptRecords, and never anything else."""
    checked = struct.pack(">hiqqqhii", 0, 2**31 - 1, 0, 0, -1, 0, 0, count) + data
    with contextlib.suppress(CorruptRecords):
        head = struct.pack(">qiibI", 0, len(checked) + 9, 0, 2, google_crc32c.value(checked))
        decode(head + checked, 0).records.messages()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.one_of(st.none(), st.binary(max_size=300)), min_size=1, max_size=30), max_size=6),
       st.integers(0, 100), st.integers(0, 100), st.randoms(use_true_random=False))
def test_round_trip(batches, start, end, rng: random.Random):
    data, expected, base = b"", [], 0
    for items in batches:
        data += values(base, *items, codec=rng.choice(CODECS))
        expected += [(base + i, item) for i, item in enumerate(items) if item is not None]
        base += len(items) + rng.randint(0, 3)
    assert found(decode(data, start, end)) == [(o, v) for o, v in expected if start <= o < end]
