"""The raw reader against a wire that answers from a list: when a range is complete, and what is kept."""

from __future__ import annotations

import pytest

from mapper.decode import CorruptRecords
from mapper.fetch import RawReader
from mars.adapters.kafka_errors import KafkaUnreachable
from mars.adapters.kafka_wire import FetchedPartition, Want
from tests.mapper.record_batches import Record, batch, values

LIMIT = 1 << 20


class ListWire:
    """Gives the listed answers one after the other, and keeps what was asked."""

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.asked: list[Want] = []

    def fetch(self, topic, topic_id, wants):
        self.asked.append(wants[0])
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [answer]


def answer(records: bytes = b"", lso: int = 1000, throttled: bool = False) -> FetchedPartition:
    return FetchedPartition(0, lso, lso, 0, [], records, throttled)


def reader(*answers) -> RawReader:
    return RawReader(ListWire(*answers), "t", "id")


def texts(range_) -> list[bytes]:
    m = range_.messages
    return [m.buffer[s:s + n].tobytes() for s, n in zip(m.start, m.length, strict=True)]


def numbers(first: int, last: int, **options) -> bytes:
    return values(first, *[b"%d" % i for i in range(first, last)], **options)


def test_the_surplus_serves_the_next_range_without_a_fetch():
    raw = reader(answer(numbers(0, 10)))
    assert texts(raw.read(0, 0, 4, LIMIT)) == [b"0", b"1", b"2", b"3"]
    assert texts(raw.read(0, 4, 10, LIMIT)) == [b"4", b"5", b"6", b"7", b"8", b"9"]
    assert len(raw.wire.asked) == 1


def test_the_surplus_is_joined_with_what_follows():
    raw = reader(answer(numbers(0, 6)), answer(numbers(6, 9)))
    raw.read(0, 0, 4, LIMIT)
    joined = raw.read(0, 4, 8, LIMIT)
    assert texts(joined) == [b"4", b"5", b"6", b"7"]
    assert joined.messages.offset.tolist() == [4, 5, 6, 7]


def test_a_jump_drops_the_surplus():
    raw = reader(answer(numbers(0, 10)), answer(numbers(20, 30)))
    raw.read(0, 0, 4, LIMIT)
    assert texts(raw.read(0, 21, 22, LIMIT)) == [b"21"]
    assert raw.wire.asked[1].offset == 21


def test_an_empty_answer_counts_only_unthrottled_and_with_the_log_stable_past_the_end():
    raw = reader(answer(throttled=True), answer(lso=4), answer(lso=5))
    assert texts(raw.read(0, 0, 5, LIMIT)) == []
    assert not raw.wire.answers


def test_a_batch_that_reaches_the_end_completes_without_messages():
    raw = reader(answer(batch(0, [], last_delta=9, count=0)))
    assert texts(raw.read(0, 0, 10, LIMIT)) == []
    assert len(raw.wire.asked) == 1


def test_an_answer_cut_inside_its_first_batch_is_asked_again_larger():
    whole = numbers(0, 5)
    raw = reader(answer(whole[:-3]), answer(whole))
    assert len(texts(raw.read(0, 0, 5, 100))) == 5
    assert [want.max_bytes for want in raw.wire.asked] == [100, 200]


def test_an_answer_cut_inside_a_later_batch_goes_on_from_the_last_whole_one():
    raw = reader(answer(numbers(0, 5) + numbers(5, 9)[:-1]), answer(numbers(5, 9)))
    assert len(texts(raw.read(0, 0, 9, LIMIT))) == 9
    assert [want.offset for want in raw.wire.asked] == [0, 5]


def test_an_unreachable_kafka_is_waited_for_until_told_to_stop():
    raw = reader(KafkaUnreachable("t", 0, "away"), answer(numbers(0, 1)))
    assert texts(raw.read(0, 0, 1, LIMIT)) == [b"0"]
    raw = reader(*[KafkaUnreachable("t", 0, "away")] * 3)
    stops = iter([False, False, True])
    assert raw.read(0, 0, 1, LIMIT, should_stop=lambda: next(stops)) is None


def test_the_leader_epoch_is_that_of_the_last_batch_before_the_end():
    raw = reader(answer(numbers(0, 5, epoch=1) + numbers(5, 9, epoch=2)), answer(numbers(9, 10, epoch=2)))
    assert raw.read(0, 0, 5, LIMIT, last_epoch=0).leader_epoch == 1
    assert raw.read(0, 5, 10, LIMIT, last_epoch=1).leader_epoch == 2
    assert [want.last_epoch for want in raw.wire.asked] == [0, 2]


def test_corruption_is_told_with_its_place():
    data = bytearray(numbers(3, 5))
    data[-1] ^= 1
    with pytest.raises(CorruptRecords, match="topic t, partition 0.*offset 3"):
        reader(answer(bytes(data))).read(0, 3, 5, LIMIT)


def test_only_some_partitions_surplus_is_kept():
    raw = reader(*[answer(values(0, b"a", b"b")) for _ in range(9)])
    raw.wire.fetch = lambda topic, topic_id, wants: [raw.wire.answers.pop()]
    for partition in range(9):
        raw.read(partition, 0, 1, LIMIT)
    assert len(raw._held) == 4


def test_records_of_one_batch_may_leave_gaps_at_both_ends():
    raw = reader(answer(batch(0, [Record(3, b"a"), Record(6, b"b")], last_delta=9)))
    assert texts(raw.read(0, 0, 3, LIMIT)) == []
    assert texts(raw.read(0, 3, 7, LIMIT)) == [b"a", b"b"]
    assert texts(raw.read(0, 7, 10, LIMIT)) == []
