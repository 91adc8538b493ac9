"""Leader epochs of a Kafka log: is it still the log that was counted? Pure.

Whenever a partition gets a leader, its leader epoch rises, and the broker keeps where the records of each epoch end. A log
that was cut, and perhaps written again, has other ends than the log that was read. So a commit keeps the epoch of the last
record before its position. Nothing else tells two logs of one topic apart, because offsets are used again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, pairwise

NOTED_MAX = 16  # epochs of one partition that are kept until they have been compared


@dataclass(frozen=True)
class Epochs:
    """A log as its leader of epoch `current` has it: (epoch, offset where its records end) of earlier epochs, ascending. A
    pair stands for all epochs up to the next pair; the first pair also for all epochs before it."""

    current: int
    ends: tuple[tuple[int, int], ...] = ()

    @staticmethod
    def load(text: str) -> Epochs:
        """The epochs from the text of `dump`."""
        current, *ends = text.split()
        return Epochs(int(current), tuple((int(epoch), int(end)) for epoch, end in (pair.split(":") for pair in ends)))

    def dump(self) -> str:
        """As text: the current epoch, then 'epoch:end' of each other."""
        return " ".join([str(self.current), *(f"{epoch}:{end}" for epoch, end in self.ends)])

    def differs_from(self, epoch: int, offset: int) -> int | None:
        """The offset from which on this log differs from one in which the records up to `offset` were of `epoch`. None if it
        does not differ, as far as these epochs know: they know nothing of their own epoch and later ones."""
        if epoch >= self.current or not self.ends:
            return None
        held = [entry for entry in self.ends if entry[0] <= epoch]
        found, end = held[-1] if held else self.ends[0]
        if offset > end:
            return end
        # No record of that epoch is left, so at least the last record that was read is another one now.
        return offset - 1 if held and found < epoch else None


def note(noted: list[tuple[int, int]], epoch: int, offset: int) -> None:
    """Add to (epoch, offset) pairs, ascending, that the log was of `epoch` up to `offset`. If a range comes again after a
    fall-back (rule 25), the later pair stays: what was counted up to it may be lost before it is read again."""
    if noted and noted[-1][0] >= epoch and noted[-1][1] >= offset:
        return
    if noted and noted[-1][0] == epoch:
        noted.pop()
    noted.append((epoch, offset))
    del noted[:-NOTED_MAX]


def together(several: Iterable[Iterable[tuple[int, int]]]) -> list[tuple[int, int]]:
    """What several commits have noted of one partition: the furthest offset of each epoch."""
    furthest: dict[int, int] = {}
    for epoch, offset in chain.from_iterable(several):
        furthest[epoch] = max(offset, furthest.get(epoch, offset))
    return sorted(furthest.items())[-NOTED_MAX:]


def compare(noted: list[tuple[int, int]], epochs: Epochs) -> int | None:
    """The first offset from which on the log differs from what was noted; None if none is known. A pair is dropped once the
    log is known to have held it when the next pair's epoch had begun, because then the next pair implies it."""
    found = [offset for pair in noted if (offset := epochs.differs_from(*pair)) is not None]
    if found:
        return min(found)
    noted[:-1] = [pair for pair, (following, _) in pairwise(noted) if following > epochs.current]
    return None


def truncated(partition: int, first: int, end: int) -> str:
    """The reason of a query that has counted what the log has lost."""
    return (f"offsets [{first}, {end}) of partition {partition} were counted, but hold other records now, or none: the log "
            "was truncated, by an unclean leader election or a broker that lost what it had acknowledged; DROP QUERY and "
            "CREATE QUERY ... FROM EARLIEST")
