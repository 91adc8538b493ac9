"""The raw reader against a wire that answers from a list: when a range is complete, and what is kept."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mapper import fetch, surplus
from mapper.decode import CorruptRecords, decode
from mapper.fetch import AWAITED_BYTES, AWAITED_BYTES_MAX, RangeTooLarge, Reader
from mapper.surplus import AnswerSize, Held, Surplus
from mars.adapters.kafka.errors import KafkaUnreachable, OffsetOutOfRange
from mars.adapters.kafka.wire import FetchedPartition, Want
from tests.mapper.record_batches import Record, batch, values

LIMIT = 1 << 20
THROTTLED = None  # a broker that throttles leaves all partitions out


class ListWire:
    """Gives the listed answers one after the other, and keeps what was asked."""

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.asked: list[Want] = []
        self.waited: list[int] = []
        self.partitions = {0: (1, 0)}
        self.has_itself: list[bool] = []  # what it says to this question, in turn; then always yes

    def topic(self, name, topic_id):
        return SimpleNamespace(partitions=self.partitions)

    def end_offsets(self, topic, partitions):
        return dict.fromkeys(partitions, 77)

    def reads_itself(self, topic, partition, offset):
        return self.has_itself.pop(0) if self.has_itself else True

    def fetch(self, topic, topic_id, wants, max_wait_ms=500, min_bytes=1):
        self.asked.append(wants[0])
        self.waited.append(min_bytes)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [answer] if answer else []


def answer(records: bytes = b"", lso: int = 1000, throttled: bool = False) -> FetchedPartition:
    return FetchedPartition(0, lso, [], records, throttled)


def reader(*answers) -> Reader:
    return Reader(ListWire(*answers), "t", "id")


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


def test_a_batch_is_awaited_with_room_for_it():
    raw = reader(answer(numbers(0, 100), lso=100), answer(lso=100))
    raw.await_tuples({0: 0}, {}, 100)
    raw.await_tuples({0: 100}, {}, 30, 50_000)
    first, batch = raw.wire.waited
    assert first == 1, "the first tuple is enough"
    assert AWAITED_BYTES < batch == raw.wire.asked[-1].max_bytes <= AWAITED_BYTES_MAX


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


def test_an_empty_answer_counts_only_unthrottled_and_with_the_log_stable_past_the_end(monkeypatch):
    monkeypatch.setattr(fetch, "PAUSES_S", (0.0, 0.0))
    raw = reader(THROTTLED, answer(throttled=True), answer(lso=4), answer(lso=5))
    assert texts(raw.read(0, 0, 5, LIMIT)) == []
    assert not raw.wire.answers


def test_an_empty_answer_of_a_broker_that_reads_remote_storage_is_no_empty_range(monkeypatch):
    """It answers so when its remote storage is slow: without an error, with the true last stable offset."""
    monkeypatch.setattr(fetch, "PAUSES_S", (0.0, 0.0))
    raw = reader(answer(numbers(0, 3)), answer(), answer(), answer(numbers(3, 5)))
    raw.wire.has_itself = [False, False]
    assert len(texts(raw.read(0, 0, 5, LIMIT))) == 5
    assert [want.offset for want in raw.wire.asked] == [0, 3, 3, 3]
    monkeypatch.setattr(fetch, "REMOTE_S", 0.0)
    raw = reader(answer(), answer())
    raw.wire.has_itself = [False, False]
    with pytest.raises(KafkaUnreachable, match="nothing came from remote storage at 0"):
        raw.read(0, 0, 5, LIMIT)


def test_whether_a_broker_reads_remote_storage_is_asked_only_after_an_empty_answer():
    raw = reader(answer(numbers(0, 3)), answer(lso=3))
    raw.wire.reads_itself = None
    assert len(texts(raw.read(0, 0, 3, LIMIT))) == 3
    assert raw.await_tuples({0: 3}, {}, 100) == {0: 3}


def test_what_was_read_before_a_broker_throttles_is_not_read_again(monkeypatch):
    monkeypatch.setattr(fetch, "PAUSES_S", (0.0, 0.0))
    raw = reader(answer(numbers(0, 3)), *[THROTTLED] * 5, answer(numbers(3, 5)))
    assert len(texts(raw.read(0, 0, 5, LIMIT))) == 5
    assert [want.offset for want in raw.wire.asked] == [0, *[3] * 6]


def test_a_log_that_ends_before_what_was_claimed_is_waited_for_a_moment_only(monkeypatch):
    """Else a mapper that got such a claim would do nothing else."""
    monkeypatch.setattr(fetch, "STUCK_S", 0.0)
    with pytest.raises(KafkaUnreachable, match="no record at 3, and the log is stable up to 3 only"):
        reader(answer(numbers(0, 3)), answer(lso=3), answer(lso=3)).read(0, 0, 5, LIMIT)


def test_a_range_that_holds_more_than_was_to_be_expected_is_not_read_whole():
    raw = reader(*[answer(numbers(first, first + 2)) for first in (0, 2, 4)])
    with pytest.raises(RangeTooLarge) as raised:
        raw.read(0, 0, 100, LIMIT, range_bytes_max=3 * 8)  # each record has 8 bytes
    assert (raised.value.offsets, raised.value.bytes) == (4, 4 * 8)
    assert len(texts(reader(answer(numbers(0, 4))).read(0, 0, 4, LIMIT, range_bytes_max=3))) == 4  # it is all there


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


def test_an_unreachable_kafka_is_told():
    """The wire has tried for a while; meanwhile other streams can be read."""
    with pytest.raises(KafkaUnreachable, match="away"):
        reader(KafkaUnreachable("t", 0, "away")).read(0, 0, 1, LIMIT)
    stops = iter([False, False, True])
    assert reader(answer(lso=0), answer(lso=0)).read(0, 0, 1, LIMIT, should_stop=lambda: next(stops)) is None


def test_the_leader_epoch_is_that_of_the_last_batch_before_the_end():
    raw = reader(answer(numbers(0, 5, epoch=1) + numbers(5, 9, epoch=2)), answer(numbers(9, 10, epoch=2)))
    assert raw.read(0, 0, 5, LIMIT, last_epoch=0).leader_epoch == 1
    assert raw.read(0, 5, 10, LIMIT, last_epoch=1).leader_epoch == 2
    assert [want.last_epoch for want in raw.wire.asked] == [0, 2]


def test_a_range_says_up_to_where_the_log_is_surely_of_its_last_leader_epoch():
    raw = reader(answer(numbers(0, 5, epoch=1) + numbers(8, 9, epoch=2)), answer(numbers(9, 12, epoch=2), lso=20),
                 answer(lso=20))
    assert raw.read(0, 0, 4, LIMIT).log == (1, 4)
    assert raw.read(0, 4, 7, LIMIT).log == (1, 5)  # what lay in between was compacted away: of either
    assert raw.read(0, 7, 12, LIMIT).log == (2, 12)
    assert raw.read(0, 12, 20, LIMIT, last_epoch=2).log is None


def test_corruption_is_told_with_its_place():
    data = bytearray(numbers(3, 5))
    data[-1] ^= 1
    with pytest.raises(CorruptRecords, match=r"topic t, partition 0.*offset 3"):
        reader(answer(bytes(data))).read(0, 3, 5, LIMIT)


def test_surplus_is_bounded_and_what_was_read_longest_ago_goes_first(monkeypatch):
    monkeypatch.setattr(surplus, "KEPT_BYTES", 4 * held(0, 2).bytes)
    raw = reader(*[answer(values(0, b"a", b"b")) for _ in range(9)])
    raw.wire.fetch = lambda topic, topic_id, wants: [raw.wire.answers.pop()]
    for partition in range(9):
        raw.read(partition, 0, 1, LIMIT)
    assert list(raw._surplus.held) == [5, 6, 7, 8]


def held(start: int, end: int) -> Held:
    return Held(start, end, decode(numbers(start, end), start))


def test_surplus_that_is_the_smaller_part_of_a_range_is_read_again():
    kept = Surplus()
    for end, found in ((17, True), (18, True), (19, False)):
        kept.keep(0, held(10, 14), 10)
        assert (kept.take(0, 10, end) is not None) == found
    kept.keep(0, held(10, 14), 10)
    assert kept.take(0, 9, 12) is None


def test_the_small_rest_of_a_large_buffer_is_not_kept(monkeypatch):
    kept = Surplus()
    kept.keep(0, held(0, 10), 9)
    assert kept.held
    monkeypatch.setattr(surplus, "SMALL_BYTES", 10)
    for end, found in ((9, False), (6, False), (5, True)):
        kept.clear()
        kept.keep(0, held(0, 10), end)
        assert bool(kept.held) == found


def test_as_much_is_asked_as_the_range_needs_and_a_batch():
    size, records = AnswerSize(), numbers(0, 100)
    assert size.ask(5_000, 10_000_000) == surplus.UNKNOWN_BYTES
    size.learn(records, 100)
    assert 10 * len(records) < size.ask(1_000, 10_000_000) < 12 * len(records)
    assert size.ask(1_000, 500) == 500


def test_what_is_awaited_is_there_when_it_is_claimed():
    raw = reader(answer(numbers(5, 9), lso=9))
    assert raw.await_tuples({0: 5}, {0: 3}, 100) == {0: 9}
    assert [(want.offset, want.last_epoch) for want in raw.wire.asked] == [(5, 3)]
    assert texts(raw.read(0, 5, 9, LIMIT)) == [b"5", b"6", b"7", b"8"]
    assert len(raw.wire.asked) == 1


def test_an_answer_of_a_throttled_broker_tells_no_end():
    raw = reader(THROTTLED, answer(throttled=True, lso=3), answer(lso=6))
    raw.partitions()
    assert raw.await_tuples({0: 5}, {}, 100) == {0: 5}
    assert raw.await_tuples({0: 5}, {}, 100) == {0: 5}
    assert raw.await_tuples({0: 5}, {}, 100) == {0: 6}


@pytest.mark.parametrize("fault", [OffsetOutOfRange("t", 0, 5, 0, 3), answer(numbers(5, 9)[:-1] + b"!")])
def test_what_cannot_be_awaited_is_left_to_the_claim(fault):
    raw = reader(fault)
    raw.partitions()
    assert raw.await_tuples({0: 5}, {}, 100) == {0: 77}
    assert not raw._surplus.held


def test_records_of_one_batch_may_leave_gaps_at_both_ends():
    raw = reader(answer(batch(0, [Record(3, b"a"), Record(6, b"b")], last_delta=9)))
    assert texts(raw.read(0, 0, 3, LIMIT)) == []
    assert texts(raw.read(0, 3, 7, LIMIT)) == [b"a", b"b"]
    assert texts(raw.read(0, 7, 10, LIMIT)) == []


@pytest.mark.parametrize(("leaders", "read"), [
    ({0: (1, 4), 1: (-1, 4), 2: (2, 0)}, [0, 2]),
    ({0: (-1, 4), 1: (-1, 4)}, [0, 1]),  # nothing can be read, which is told when it is tried
])
def test_a_partition_without_a_leader_holds_back_no_other(leaders, read):
    r = reader()
    r.wire.partitions = leaders
    assert list(r.last_stable_offsets()) == read
