"""The paced producer: its batches read as what was meant, and its counts agree with counting the tuples."""

from collections import Counter

import numpy as np
import pytest
from kafka.record import MemoryRecords

from benchmarks import pacer
from benchmarks.feed import IN_FLIGHT_MAX
from benchmarks.generator import LINE_BYTES, SCHEMA, Pool
from benchmarks.pacer import expected, pace, probes, ticks, together
from benchmarks.pacer_batches import VARIANTS, Batches

BEGIN = 1_799_999_999_990.25


@pytest.fixture(scope="module")
def pool() -> Pool:
    return Pool(seed=3, size=500)


class Kept:
    """A broker that keeps what it gets."""

    def __init__(self) -> None:
        self.batches: list[dict[int, bytes]] = []

    def send_all(self, *requests: dict[int, bytes]) -> None:
        self.batches += requests


class Clock:
    """The pacer's `time`: it goes on by what is slept alone, so a slow machine changes nothing."""

    def __init__(self) -> None:
        self.now_s = 1_799_999_999.0

    def time(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class HeldUp:
    """A broker that takes its time for each call."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.clock, self.seconds = clock, seconds
        self.together: list[tuple[dict[int, bytes], ...]] = []

    def send_all(self, *requests: dict[int, bytes]) -> None:
        self.together.append(requests)
        self.clock.sleep(self.seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(pacer, "time", made)
    return made


def fields(batch: bytes) -> list[list[str]]:
    """The tuples of a record batch, read by another library."""
    found = MemoryRecords(batch).next_batch()
    assert found.validate_crc()
    return [record.value.decode().split(",") for record in found]


@pytest.mark.parametrize("count", [1, 7, 70, 9_000])
def test_a_stamped_batch_has_the_schedules_times_and_one_probe(pool, count):
    batches = Batches(pool, 3, count, 5.0, seed=1)
    for tick, variant in enumerate([0, 1, 0, VARIANTS - 1]):
        begin = BEGIN + 5.0 * tick  # the second batch straddles a change of the leading digits
        tuples = fields(batches.stamped(range(variant, variant + 1), begin))
        assert [int(f[0]) for f in tuples] == [int(begin + after) for after in batches.after_ms]
        assert {len(f) for f in tuples} == {len(SCHEMA.split(","))}
        assert {len(",".join(f)) for f in tuples} == {LINE_BYTES}
        assert [(i, f[2]) for i, f in enumerate(tuples) if f[1] == "probe"] == [(batches.probes[variant], "p3")]


@pytest.mark.usefixtures("clock")
def test_the_count_agrees_with_counting_the_tuples(pool):
    kept, batches = Kept(), {p: Batches(pool, p, 40, 4.0, seed=1) for p in (0, 2)}
    log = pace(kept, batches, 4.0, 0.4)
    counted: Counter = Counter()
    probed: dict[int, list[int]] = {0: [], 2: []}
    for records in kept.batches:
        for partition, batch in records.items():
            for f in fields(batch):
                counted[f[2], f[1], int(f[0]) // 50 * 50] += 1
                if f[1] == "probe":
                    probed[partition].append(int(f[0]))
    table = expected(log, batches, pool, 50).to_pylist()
    assert {(r["sip"], r["type"], r["timestamp"]): r["count"] for r in table} == counted
    told = probes(log, batches)
    assert {p: told["made_ms"][told["partition"] == p].astype(np.int64).tolist() for p in probed} == probed


def test_a_producer_that_is_held_up_does_not_move_its_schedule(pool, clock):
    held_up, batches = HeldUp(clock, 0.033), {0: Batches(pool, 0, 5, 10.0, seed=1)}
    log = pace(held_up, batches, 10.0, 0.2)
    assert np.allclose(np.diff(log.begin_ms), 10.0, atol=0.01)
    assert [len(requests) for requests in held_up.together] == [1, 3, 3, 3, 4, 3, 3], "what is due goes together"
    assert held_up.together[1][2][0] == batches[0].stamped(range(3, 4), log.begin_ms[3])
    assert np.array(log.acked_ms)[[0, 1, 3, 4, 19]] - log.begin_ms[0] == pytest.approx([43, 76, 76, 109, 241], abs=0.01)
    assert len(log.begin_ms) == 20
    assert len(pace(held_up, batches, 10.0, 0.2, patience=1.0).begin_ms) == 17, "the rest would be sent after 0.208 s"


def test_ticks_that_are_all_late_go_as_one_batch_of_the_same_tuples(pool, clock):
    batches = Batches(pool, 0, 5, 10.0, seed=1)
    held_up = HeldUp(clock, 0.3)
    log = pace(held_up, {0: batches}, 10.0, 0.2, patience=9.0)
    assert [[len(fields(each[0])) // 5 for each in requests] for requests in held_up.together] == [
        [1], [1, 1, 1, 1], [1, 1, 1, 8], [1, 1, 1, 1]]
    joined = fields(held_up.together[2][3][0])
    assert joined == [line for tick in range(8, 16) for line in fields(batches.stamped(range(tick, tick + 1),
                                                                                       log.begin_ms[tick]))]


def test_batches_are_joined_as_far_as_a_broker_takes_them(pool):
    assert [Batches(pool, 0, count, 5.0, seed=1).joined for count in (700, 1_200, 3_000, 7_000)] == [8, 4, 2, 1]
    batches = Batches(pool, 0, 1_200, 5.0, seed=1)
    singles = [batches.stamped(range(tick, tick + 1), BEGIN + 5.0 * (tick - 4)) for tick in range(4, 8)]
    joined = batches.stamped(range(12, 16), *(BEGIN + 5.0 * tick for tick in range(4)))
    assert fields(joined) == [line for each in singles for line in fields(each)]
    assert together(7, 40, 8) == [range(7, 8), range(8, 16), range(16, 24), range(24, 32)]
    assert together(8, 15, 8) == [range(8, 9), range(9, 10), range(10, 11), range(11, 12)]


def test_a_tuple_is_counted_in_the_window_in_which_it_was_sent(pool, monkeypatch):
    """Also where its time is a whole number of ms but for rounding, and whether its batch was joined or not."""
    count, span_ms = ticks(850_000, 4, 5.0)
    batches = Batches(pool, 0, count, span_ms, seed=1)
    sent: list[np.ndarray] = []
    for sheets in (batches.single, batches.several):
        monkeypatch.setattr(sheets, "stamped", lambda number, times_ms: sent.append(times_ms))
    for first in range(0, 20_000, batches.joined):
        begins = [1_795_332_160_000.1 + tick * span_ms for tick in range(first, first + batches.joined)]
        batches.stamped(range(first, first + batches.joined), *begins)
        assert np.array_equal(sent.pop(), np.concatenate([begin + batches.after_ms for begin in begins]))


def test_no_more_than_so_many_requests_are_on_their_way(pool, clock):
    held_up = HeldUp(clock, 0.1)
    pace(held_up, {0: Batches(pool, 0, 5, 10.0, seed=1)}, 10.0, 0.2)
    assert max(map(len, held_up.together)) == IN_FLIGHT_MAX


def test_a_producer_that_is_in_time_sends_each_batch_when_its_last_tuple_is_made(pool, clock):
    log = pace(Kept(), {0: Batches(pool, 0, 5, 10.0, seed=1)}, 10.0, 0.2)
    assert np.allclose(np.array(log.acked_ms) - log.begin_ms, 10.0, atol=0.01)


@pytest.mark.parametrize(("rate", "partitions"), [(40_000, 4), (1_500_000, 4), (100, 3)])
def test_ticks_give_exactly_the_rate(rate, partitions):
    count, span_ms = ticks(rate, partitions, 5.0)
    assert count * partitions / span_ms * 1000 == pytest.approx(rate)
    assert span_ms == pytest.approx(5.0, rel=0.05) or count == 1
