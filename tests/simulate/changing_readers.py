"""Readers of rows that change, at several APIs: each goes on behind what it has, stops in the middle, and ends with what the
commits hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mars.errors import MarsError
from mars.model.registry import Query
from mars.results import event_ids
from mars.results.snapshot import Snapshot
from mars.results.tails import next_block, open_tail
from tests.simulate.changing import Row, shown_row
from tests.simulate.check import Broken
from tests.simulate.readers import APIS, END_S, Readers

if TYPE_CHECKING:
    from tests.simulate.changing import ChangingChecker

BLOCKS_MAX = 3


@dataclass
class ChangingFollower:
    """The newest of each row that has come, and the id of the last event."""

    rows: dict[Row, tuple] = field(default_factory=dict)
    event_id: str | None = None
    is_at_it: bool = False


class ChangingReaders(Readers):
    """Instead of pages and events of closed windows they read changes. `checker` knows what the commits hold."""

    checker: ChangingChecker

    def _read(self, name: str, query: Query) -> None:
        self._follow(name, query)

    def _follow(self, name: str, query: Query) -> None:
        """Some of the events that are there, or all of them; then the newest rows are those of the commits."""
        follower = self.followers.setdefault(query.shown_id, ChangingFollower())
        if follower.is_at_it:
            return
        follower.is_at_it = True
        try:
            most = self.random.choice((BLOCKS_MAX, 1_000_000))
            if (snapshot := self._events(name, query, follower, most)) is not None:
                self._compare(query, follower, snapshot)
        finally:
            follower.is_at_it = False

    def _events(self, name: str, query: Query, follower: ChangingFollower, most: int) -> Snapshot | None:
        """Read at most so many blocks; as of which snapshot it has everything then, None if it may not."""
        tail = open_tail(self.contexts[name].results, query.name, follower.event_id, None, None)
        if tail.query.shown_id != query.shown_id:
            return None
        for _ in range(most):
            block = next_block(self.contexts[name].results, tail)
            if block is None:
                follower.event_id = follower.event_id or None
                return tail.snapshot
            follower.rows |= dict(map(shown_row, block.table.to_pylist()))
            follower.event_id = event_ids.dump(query.shown_id, block.chunks[-1].behind, tail.selection)
        return None

    def _compare(self, query: Query, follower: ChangingFollower, snapshot: Snapshot) -> None:
        """Of an API that knows less than another one the reader may have more."""
        checker, wanted = self.world.checker, {}
        if any(part is not None and part.fell_at for part in snapshot.parts):
            return  # what a fall-back has taken comes again, and is compared at the end
        known = checker.manifests
        if any(part is not None and known[k].queries.get(query.id) != part for k, part in enumerate(snapshot.parts)):
            return  # there are newer commits
        for part in (part for part in snapshot.parts if part is not None):
            wanted |= self._rows_of(query, part)
        self._same(query, follower, wanted, snapshot.commit)

    def _rows_of(self, query: Query, part: object) -> dict[Row, tuple]:
        checker, changes = self.world.checker, query.plan.presentation.emission == "CHANGES"
        found = {row: (ids_of(ids), number > 0 if changes else number)
                 for row, (_, ids, number) in checker.results(part).items()}
        opens: dict[Row, list[int]] = {}
        for row, ids in checker.open(part) if changes else ():
            opens.setdefault(row, []).extend(ids)
        return found | {row: (ids_of(ids), False) for row, ids in opens.items()}

    def _same(self, query: Query, follower: ChangingFollower, wanted: dict[Row, tuple], commit: int) -> None:
        differ = {row: (follower.rows.get(row), new) for row, new in wanted.items() if follower.rows.get(row) != new}
        if differ:
            raise Broken(f"I2: a reader of {query.id} has other rows than commit {commit} holds: {differ}")
        extra = {row: old for row, old in follower.rows.items() if row not in wanted}
        if extra and not (self.world.topic.disordered or self.world.disk.damaged):
            raise Broken(f"I2: a reader of {query.id} has rows that commit {commit} does not hold: {extra}")

    # -- the end --------------------------------------------------------------------------------------------------

    def _must_show(self, name: str, query: Query) -> None:
        """A reader who begins now, and the one that has followed, both end with what the commits hold."""
        commit, until = self.shown.newest(query.id), self.scheduler.now + END_S
        followers = [ChangingFollower(), self.followers.get(query.shown_id, ChangingFollower())]
        outcome: list[object] = []

        def look() -> None:
            try:
                outcome.append([self._events(name, query, follower, 1_000_000) for follower in followers])
            except MarsError as error:
                outcome.append(error)

        while self.scheduler.now < until:
            outcome.clear()
            if name in self.contexts:
                self.scheduler.spawn(f"{name} last reader", name, look)
            while name in self.contexts and not outcome and self.scheduler.now < until:
                self.scheduler.sleep(0.05)
            found = outcome[0] if outcome else None
            if isinstance(found, list) and all(one is not None and one.commit >= commit for one in found):
                wanted = {row: new for part in found[0].parts if part for row, new in self._rows_of(query, part).items()}
                for follower in followers[:1] if self.world.topic.disordered and self.world.disk.damaged else followers:
                    self._same(query, follower, wanted, commit)
                return
            if isinstance(found, MarsError) and self.world.disk.damaged:
                return
            self.scheduler.sleep(0.2)
        raise Broken(f"I7: {name} does not show commit {commit} of {query.id}")


def ids_of(found: list[int]) -> tuple[int, ...]:
    """The ids of cells, in order."""
    return tuple(sorted(cell & ((1 << 20) - 1) for cell in found))


__all__ = ["APIS", "ChangingReaders"]
