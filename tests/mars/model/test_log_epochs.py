"""What the leader epochs of a log tell of what was read of it, against logs that are cut, written again and deleted."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mars.adapters.kafka.cluster import TopicInfo
from mars.model.log_epochs import NOTED_MAX, Epochs, compare, note, together
from reducer.leading.watch_topic import Seen, TopicWatch
from tests.reducer import handed

LOG = Epochs(7, ((2, 100), (4, 180), (6, 300)))


@pytest.mark.parametrize(("epoch", "offset", "first"), [
    (2, 100, None), (2, 101, 100),  # of an epoch that the log has
    (1, 90, None), (1, 130, 100),   # of one before all that it knows
    (5, 200, 180), (5, 150, 149),   # of one of which it has nothing any more
    (7, 10_000, None), (9, 10_000, None),  # of the leader's own time, or later: what is known is too old
])
def test_where_the_log_differs(epoch, offset, first):
    assert LOG.differs_from(epoch, offset) == first
    assert Epochs(7).differs_from(epoch, offset) is None


def test_epochs_are_told_as_text():
    for epochs in (LOG, Epochs(0)):
        assert Epochs.load(epochs.dump()) == epochs


def test_notes_are_bounded_and_dropped_once_they_were_compared():
    noted = []
    for epoch in range(2 * NOTED_MAX):
        note(noted, epoch, 10 * epoch)
        note(noted, epoch, 10 * epoch + 5)
    assert len(noted) == NOTED_MAX
    assert noted[-1] == (2 * NOTED_MAX - 1, 20 * NOTED_MAX - 5)
    noted = [(2, 100), (4, 150), (7, 310)]
    assert compare(noted, LOG) is None
    assert noted == [(7, 310)]
    noted = [(2, 100), (7, 310), (8, 400)]
    assert compare(noted, LOG) is None
    assert noted == [(7, 310), (8, 400)], "the log of epoch 8 may lack what that of 7 had"


class Partition:
    """A log as a broker keeps it: records by offset, each with its epoch, and where epochs begin."""

    def __init__(self) -> None:
        self.records: list[tuple[int, int]] = []
        self.first, self.epoch, self.begins = 0, 0, {0: 0}
        self.written = 0

    def append(self, count: int) -> None:
        for _ in range(count):
            self.written += 1
            self.records.append((self.epoch, self.written))

    def elect(self, lost: int) -> None:
        """The next leader lacks so many of the last records."""
        del self.records[max(self.first, len(self.records) - lost):]
        self.epoch += 1
        self.begins = {e: begin for e, begin in self.begins.items() if begin < len(self.records)} | {
            self.epoch: len(self.records)}

    def delete(self, count: int) -> None:
        """The oldest records are deleted."""
        self.first = min(self.first + count, len(self.records))
        gone = [e for e, begin in self.begins.items() if begin <= self.first]
        if gone:
            self.begins = {max(gone): self.first} | {e: b for e, b in self.begins.items() if b > self.first}

    def epoch_ends(self, topic: str, asked: dict[int, int]) -> dict[int, tuple[int, int]]:
        """As brokers answer OffsetForLeaderEpoch."""
        return {p: self._end(epoch) for p, epoch in asked.items()}

    def _end(self, epoch: int) -> tuple[int, int]:
        if epoch == self.epoch:
            return epoch, len(self.records)
        end = min((begin for e, begin in self.begins.items() if e > epoch), default=-1)
        return max((e for e in self.begins if e <= epoch), default=epoch), end

    def told(self) -> Epochs:
        """What the leader of Mars tells of it."""
        watch = TopicWatch(handed.connections(wire=self))
        facts = watch._logs(Seen(), TopicInfo("t", "id", {0: (1, self.epoch)}))
        return Epochs.load(facts["log:0"])


STEPS = st.lists(st.one_of(
    st.tuples(st.sampled_from(["append", "elect", "delete"]), st.integers(0, 6)),
    st.tuples(st.sampled_from(["read", "compare", "commit", "fall back"]), st.integers(1, 6))), max_size=40)


@settings(max_examples=400, deadline=None)
@example([("append", 6), ("read", 6), ("elect", 3), ("append", 5), ("read", 6), ("compare", 1)])
@example([("commit", 1), ("append", 4), ("read", 4), ("fall back", 1), ("read", 1), ("elect", 3), ("append", 3)])
@example([("commit", 1), ("append", 2), ("elect", 0), ("append", 2), ("read", 4), ("fall back", 1), ("read", 2),
          ("compare", 1), ("elect", 1), ("append", 1)])
@given(STEPS)
def test_a_log_that_was_cut_is_told_from_one_that_was_not(steps):
    """Whatever happens between, it is found exactly if, and where, a record that was read is another one now. What was read
    before a fall-back still counts: in counters, and in windows that were published."""
    log, noted, kept = Partition(), [], (0, [])
    read: list[set[tuple[int, int]]] = []
    position = 0
    for step, count in [*steps, ("compare", 1)]:
        if step == "read":
            new = log.records[position:position + count]
            for record in new:
                read[position:position + 1] = [{record}.union(*read[position:position + 1])]
                position += 1
            if new:
                note(noted, new[-1][0], position)
        elif step == "commit":
            kept = position, list(noted)
        elif step == "fall back":
            position, noted = kept[0], together([kept[1], noted])
        elif step == "compare":
            differing = [at for at in range(log.first, len(read)) if set(log.records[at:at + 1]) != read[at]]
            found = compare(noted, log.told())
            assert found == min(differing, default=None)
            if found is not None:
                return
        else:
            getattr(log, step)(count)
