"""Merges entries in offset order, for one query in one key part, from its last commit on. Pure.

Rule 13: an entry that starts at the position is merged; one that ends at or before it is skipped and counted; one that
starts after it waits; anything else is a broken invariant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Self, TypeVar

import pyarrow as pa

from mars.algebra import cells, cells_late
from mars.algebra.cells_layout import schema, tuple_count
from mars.algebra.cells_wire import decode
from mars.errors import InvariantError
from mars.model.commits import QueryCommit, Segment
from mars.model.entries import Header, Share
from mars.model.log_epochs import note
from mars.model.plan import Stream
from mars.model.registry import Query
from reducer.state.close import CheckedWatermark, Facts, watermark_of
from reducer.state.once import Once

T = TypeVar("T")
FOLD_TABLES = 64


@dataclass(frozen=True, slots=True)
class Piece:
    """One task's share of an entry, with the entry's SEQ and header."""

    seq: int
    header: Header
    share: Share

    @property
    def partition(self) -> int:
        """The partition of its range."""
        return self.header.partition

    @property
    def start(self) -> int:
        """First offset of the range."""
        return self.header.start

    @property
    def end(self) -> int:
        """Offset after the range."""
        return self.header.end


@dataclass
class QueryState:
    """A running query's working state: what the last commit said, plus what was merged since. Only its own methods change
    its fields; others read them.

    `commit` is this state's own copy; `open` are the cells of its segments, one table each, without those of closed
    windows; `delta` are cells that no segment holds yet; `waiting` are pieces that start after the position, by partition
    and start; `rewrite`: the next commit writes all cells anew; `earliest` is the least pane that is held; `read_on` are
    partitions whose leader epochs have not been compared since more was read; `late_cells` are those of LATE TO that no
    commit has yet. Tables never change, and other states may hold the same ones; `once` is what they share.
    """

    query: Query
    stream: Stream
    commit: QueryCommit
    open: list[pa.Table] = field(default_factory=list)
    delta: list[pa.Table] = field(default_factory=list)
    waiting: dict[tuple[int, int], list[Piece]] = field(default_factory=dict)
    checked: CheckedWatermark = field(default_factory=CheckedWatermark)
    closed: list[pa.Table] = field(default_factory=list)
    changed: bool = False
    rewrite: bool = False
    earliest: float = math.inf
    read_on: set[int] = field(default_factory=set)
    late_cells: list[pa.Table] = field(default_factory=list)
    once: Once = field(default_factory=Once)

    @classmethod
    def resume(cls, query: Query, stream: Stream, committed: QueryCommit | None, tables: list[pa.Table],
               once: Once | None = None) -> Self:
        """The state as of a commit; `tables` are its state segments' cells, in their order."""
        commit = committed.copy() if committed else QueryCommit(query.incarnation)
        commit.incarnation = query.incarnation
        state = cls(query, stream, commit, list(tables), read_on=set(commit.leader_epochs), once=once or Once())
        state._leave_out_closed()
        return state

    def _leave_out_closed(self) -> None:
        kept, held, mark = self.query.plan.aggregation, self.open, self.commit.watermark
        if mark is not None:
            self.open = list(self._made("unclosed", held, lambda: cells.unclosed(kept, self.stream, held, mark), mark))
        self._find_earliest()

    def follow(self, query: Query) -> None:
        """Take over the query as the query set has it now, in the same incarnation. If a partition becomes known only
        now, `retry_waiting` tries its waiting pieces again."""
        self.query = query

    def position(self, partition: int) -> int | None:
        """The offset up to which the partition is merged; None if the query set does not know it yet."""
        return self.commit.positions.get(partition, self.query.start.get(partition))

    def accept(self, piece: Piece) -> None:
        """Merge the piece, skip it, or let it wait; then merge what waited for it."""
        partition = piece.partition
        position = self.position(partition)
        if position is None or piece.start > position:
            self.waiting.setdefault((partition, piece.start), []).append(piece)
            return
        if piece.end <= position:
            self._skip(piece)
            return
        if piece.start != position:
            raise InvariantError("a range overlaps what is merged", f"query {self.query.name}, partition {partition}, "
                                 f"position {position}, range [{piece.start}, {piece.end})").of(self.query.id)
        self._merge(piece)
        self._wake(partition)

    def retry_waiting(self) -> None:
        """Try the waiting pieces again: the query set may know their partition now."""
        pieces = [piece for held in self.waiting.values() for piece in held]
        self.waiting = {}
        for piece in sorted(pieces, key=lambda piece: piece.seq):
            self.accept(piece)

    def _wake(self, partition: int) -> None:
        # Among pieces that start at the position the lowest SEQ comes first (rule 9).
        while pieces := self.waiting.pop((partition, self.commit.positions[partition]), None):
            first, *others = sorted(pieces, key=lambda piece: piece.seq)
            self._merge(first)
            for other in others:
                if other.end > self.commit.positions[partition]:
                    raise InvariantError("two ranges start at one offset", f"query {self.query.name}, partition "
                                         f"{partition}, [{other.start}, {other.end})").of(self.query.id)
                self._skip(other)

    def _merge(self, piece: Piece) -> None:
        header, commit, partition = piece.header, self.commit, piece.partition
        commit.positions[partition] = piece.end
        if (time := header.max_event_time) is not None:
            commit.max_event_time[partition] = max(time, commit.max_event_time.get(partition, time))
        if header.log:
            note(commit.leader_epochs.setdefault(partition, []), *header.log)
            self.read_on.add(partition)
        for name, count in piece.share.counts.items():
            commit.counters[name] += count
        for reason, count in piece.share.bad_reasons.items():
            commit.bad_reasons[reason] = commit.bad_reasons.get(reason, 0) + count
        self.changed = True
        if not piece.share.cells:
            return
        table, mark = self._cells(piece), commit.watermark
        if mark is not None:
            late, table, reaches_back = self._late_split(table, mark)
            if late.num_rows:
                commit.counters["late"] += tuple_count(late)
                if self.query.plan.aggregation.late == "TO":
                    self.late_cells.append(self._placed(late, piece))
            self.rewrite |= reaches_back
        if table.num_rows:
            self.delta.append(table)
            self.earliest = min(self.earliest, self._made("first pane", [table], partial(cells.first_pane, table)))
        if len(self.delta) >= FOLD_TABLES:
            self.delta = [self._merged(self.delta)]

    def _placed(self, late: pa.Table, piece: Piece) -> pa.Table:
        of, kept = (piece.partition, piece.start, piece.end), self.query.plan.aggregation
        return self._made("place", [late], lambda: cells_late.of_range(kept, self.stream, late, *of), of)

    def _skip(self, piece: Piece) -> None:
        if piece.share.cells:
            self.commit.counters["duplicates_skipped"] += tuple_count(self._cells(piece))
            self.changed = True

    def _cells(self, piece: Piece) -> pa.Table:
        share, kept = piece.share, self.query.plan.aggregation
        try:
            return self._made("cells", [share], lambda: decode(share.cells, schema(kept, self.stream)))
        except InvariantError as error:
            raise error.of(self.query.id) from None

    def _late_split(self, table: pa.Table, watermark: int) -> tuple[pa.Table, pa.Table, bool]:
        """(cells for which it is too late, the others, do these reach back to closed windows?)."""
        kept, held = self.query.plan.aggregation, [*self.open, *self.delta] if cells.looks_back(table) else []

        def split() -> tuple[pa.Table, pa.Table, bool]:
            late, on_time = cells.late_split(kept, self.stream, table, watermark, held)
            return late, on_time, cells.reaches_back(kept, self.stream, on_time, watermark)

        return self._made("late", [table, *held], split, watermark)

    def _merged(self, tables: list[pa.Table]) -> pa.Table:
        return self._made("merge", tables, lambda: cells.merge(self.query.plan.aggregation, self.stream, tables))

    def _made(self, step: str, tables: Sequence[object], make: Callable[[], T], how: object = None) -> T:
        return self.once.get(step, self.query.plan.aggregation, tables, make, how)

    def pass_check(self, partitions: tuple[int, ...], heard: Facts | None, facts: Facts) -> int | None:
        """Note the watermark that is reached now. Returns the greatest one that may close windows, because a check has
        ended since it was reached. `heard` are `facts` if the leader was heard of lately."""
        reached = watermark_of(self.query.plan, self.stream, partitions, self.commit, self.query.start, heard)
        return self.checked.offer(reached, facts)

    def needs_check(self, facts: Facts) -> bool:
        """Does a window wait for a check that has not begun yet?"""
        return self.checked.needs_check(facts, self.would_close)

    def would_close(self, watermark: int) -> bool:
        """Does this watermark close a window that holds anything?"""
        return self.earliest < math.inf and cells.would_close(self.query.plan.aggregation, self.stream, int(self.earliest),
                                                              self.commit.watermark, watermark)

    def close(self, watermark: int) -> None:
        """Take the cells of windows that this watermark closes out of the state, into `closed`."""
        before = self.commit.watermark
        if before is not None and watermark <= before:
            return
        self.commit.watermark = watermark
        if self.commit.published is not None and watermark >= self.commit.published:
            self.commit.published = None
        self.changed = True
        kept, held = self.query.plan.aggregation, self.open + self.delta
        closed, rest = self._made("close", held, lambda: cells.close(kept, self.stream, held, before, watermark),
                                  (before, watermark))
        self.closed += closed
        self.open, self.delta = rest[:len(self.open)], [table for table in rest[len(self.open):] if table.num_rows]
        self._find_earliest()

    def must_compare(self, partitions: set[int]) -> set[int]:
        """Mark these partitions, whose logs are to be compared with what was read of them. Returns all that are to be
        compared now."""
        self.read_on |= partitions
        return self.read_on

    def has_compared(self, left: set[int]) -> None:
        """Note that all logs have been compared with what was read; `left` are to be compared again."""
        self.read_on = left

    def judged(self, judge: Callable[[], T]) -> T:
        """What `judge` says of the cells that are held, asked once for all states that hold the same tables."""
        return self._made("judge", [*self.commit.state, *self.open, *self.delta], judge)

    def held_beside(self) -> list[pa.Table]:
        """Further tables that count towards its limits."""
        return []

    def merged(self) -> pa.Table:
        """All cells that are held, in one table."""
        return self._merged([*self.open, *self.delta])

    def hold(self, table: pa.Table) -> None:
        """Hold these cells, which are equal to all that is held, in one table that no segment has. So readers of the next
        commit take no cells for new that they have already: it names none of the segments of the last one."""
        self.open, self.delta, self.commit.state = [], [table], []
        self.changed = True

    def mark_for_rewrite(self) -> None:
        """Make the next commit write all cells anew, even if nothing else has changed."""
        self.rewrite = self.changed = True

    def to_write(self, tables_max: int) -> tuple[list[tuple[Segment, pa.Table]], list[pa.Table]]:
        """The cells of the next commit: segments that stay, with their tables, and tables that no segment holds yet. This
        folds the state, so a second call without new entries gives the same."""
        self.delta = [self._merged(self.delta)] if self.delta else []
        held = [(segment, table) for segment, table in zip(self.commit.state, self.open, strict=True) if table.num_rows]
        kept, new, mark = self.query.plan.aggregation, self.delta, self.commit.watermark
        if len(held) >= tables_max or self.rewrite:
            whole = self._merged([table for _, table in held] + new)
            new = [self._made("settle", [whole], lambda: cells.settle(kept, self.stream, whole, mark), mark)]
            held = []
        return held, [table for table in new if table.num_rows]

    def closed_cells(self) -> pa.Table | None:
        """The cells of the windows that close with the next commit, in one table; None if none does."""
        if self.closed:
            self.closed = [self._merged(self.closed)]
        return self.closed[0] if self.closed else None

    def adopt(self, commit: QueryCommit, tables: list[pa.Table]) -> None:
        """Take over the next commit, as it was written: it is the truth now. `tables` are the cells of its segments."""
        self.commit = commit.copy()
        self.open, self.delta, self.closed, self.changed, self.rewrite = tables, [], [], False, False
        self.late_cells = []

    def _find_earliest(self) -> None:
        self.earliest = min((self._made("first pane", [table], partial(cells.first_pane, table))
                             for table in self.open + self.delta if table.num_rows), default=math.inf)
