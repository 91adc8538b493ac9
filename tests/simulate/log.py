"""A partition's log of the simulation: records with unique ids, the leader epochs that they are of, and what was cut off."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Log:
    """A partition: (id, event time) by offset, None for an offset without a visible record; the cells of the same, 0 for
    none; the last stable offset; and the first that has not been deleted.

    `begins` are the leader epochs of which there are records, or may be, with their first offsets; `read_to` is how far
    anybody has read this log, `longest` how long it was before it was cut, `refused` whether somebody has asked for what
    was cut off, `cuts` where it was cut after somebody had read on, `lost` the ids that are gone.
    """

    records: list[tuple[int, int] | None] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    stable: int = 0
    first: int = 0
    begins: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    read_to: int = 0
    longest: int = 0
    refused: bool = False
    cuts: list[int] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)

    @property
    def epoch(self) -> int:
        """Of the broker that leads now."""
        return self.begins[-1][0]

    def epoch_before(self, offset: int) -> int:
        """Of which epoch the record before this offset is."""
        return next(epoch for epoch, begin in reversed(self.begins) if begin < offset or not begin)

    def end_of(self, epoch: int) -> tuple[int, int]:
        """What a broker tells of an epoch: the greatest up to it that it knows, and where that one's records end; of one
        before all that it knows where the first one begins; (-1, -1) of one to come."""
        if epoch >= self.epoch:
            return (epoch, len(self.records)) if epoch == self.epoch else (-1, -1)
        known = [one for one, _ in self.begins if one <= epoch]
        return known[-1] if known else epoch, next(begin for one, begin in self.begins if one > epoch)

    def cut(self, left: int) -> None:
        """Another broker leads, whose log ends at `left`; no transaction may be open."""
        if left < len(self.records):
            self.longest = max(self.longest, len(self.records))
            self.lost |= {record[0] for record in self.records[left:] if record}
        if left < self.read_to:
            self.cuts.append(left)
            self.read_to = left
        self.begins = [pair for pair in self.begins if pair[1] < left] + [(self.epoch + 1, left)]
        del self.records[left:], self.cells[left:]
        self.stable = left
