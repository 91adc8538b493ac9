"""Readers of results, at several APIs: the product's own code with the caches that its requests share, side by side.

Every answer is compared with what the commits hold that it says it is of (tests/simulate/shown.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from api.statements.context import Connections, Context
from mars.adapters.storage import CorruptFileError
from mars.config import Config
from mars.errors import MarsError
from mars.model.registry import Query
from mars.results import event_ids
from mars.results.cursors import Selection
from mars.results.pages import Page, page
from mars.results.tails import next_block, open_tail
from tests.simulate.check import Broken
from tests.simulate.kafka import Ends
from tests.simulate.shown import Row, Shown
from tests.simulate.storage import Storage
from tests.simulate.threads import Lock
from tests.simulate.zookeeper import ZooKeeper

if TYPE_CHECKING:
    from tests.simulate.world import World

APIS = ("a0", "a1")
PAGES_MAX = 6
END_S = 10.0  # within this each API must show what was committed last


@dataclass
class Follower:
    """A reader of events, who goes on at any API: the rows that it has, and the id of the last event."""

    rows: list[Row] = field(default_factory=list)
    event_id: str | None = None
    is_at_it: bool = False


class Readers:
    """All APIs of a run, and who reads there. What is wrong is kept by the checker, as for commits."""

    def __init__(self, world: World, shown: Shown) -> None:
        self.world, self.shown, self.scheduler, self.random = world, shown, world.scheduler, world.random
        self.runtime = replace(world.runtime, lock=lambda: Lock(world.scheduler, world.network.rest))
        self.contexts: dict[str, Context] = {}
        self.newest: dict[tuple[str, str], int] = {}  # by API and query: the commit that has been shown
        self.followers: dict[str, Follower] = {}
        self.number = 0

    def begin(self) -> None:
        """Start the APIs, once."""
        if not self.number:
            for name in APIS:
                self.scheduler.spawn(name, name, lambda name=name: self._start(name))
            self.number = 1

    def _start(self, name: str) -> None:
        while name not in self.contexts:
            try:
                self.contexts[name] = Context(Config(), self._connections(), runtime=self.runtime)
            except MarsError:
                self.scheduler.sleep(0.1)

    def _connections(self) -> Connections:
        world = self.world
        return Connections(ZooKeeper(world.ensemble), None, Ends(world.topic), Storage(world.disk), None)

    def come(self, query: Query) -> None:
        """Some readers of a query at once, each at some API."""
        self.begin()
        for _ in range(self.random.randint(1, 4)):
            self.number += 1
            name, visit = self.random.choice(APIS), self._follow if self.random.random() < 0.2 else self._read
            self.scheduler.spawn(f"{name} reader {self.number}", name, lambda name=name, visit=visit: self._visit(
                visit, name, query))

    def _visit(self, visit: object, name: str, query: Query) -> None:
        while name not in self.contexts:
            self.scheduler.sleep(0.05)
        try:
            visit(name, query)
            self.world.network.count("reader answered")
        except MarsError:
            self.world.network.count("reader refused")
        except Broken as error:
            self.world.checker.broken = self.world.checker.broken or Broken(f"{error}; at {name}")

    # -- pages ----------------------------------------------------------------------------------------------------

    def _read(self, name: str, query: Query) -> None:
        """A page, and those after it; of closed windows alone they may be asked for at another API."""
        selection = Selection(partial=self.random.random() < 0.7, descending=self.random.random() < 0.2)
        limit = self.random.choice((1, 3, 10, 1000))
        others = [commit for (_, id_), commit in self.newest.items() if id_ == query.id]
        wanted = max(others, default=0) if self.random.random() < 0.3 else 0
        before = max(wanted, self.newest.get((name, query.id), 0))
        first = self._page(name, query, selection, limit, None, wanted)
        if first.commit < before:
            raise Broken(f"I5: a page of {query.id} is of commit {first.commit}, after one of commit {before}")
        self.newest[name, query.id] = max(self.newest.get((name, query.id), 0), first.commit)
        rows, cursor = rows_of(first.rows), first.next
        for _ in range(PAGES_MAX):
            if cursor is None:
                break
            at = name if selection.partial else self.random.choice(list(self.contexts))
            found = self._page(at, query, selection, limit, cursor, 0)
            if (found.commit, found.watermark) != (first.commit, first.watermark):
                raise Broken(f"I5: pages of {query.id} go from commit {first.commit} to {found.commit}")
            rows, cursor = rows + rows_of(found.rows), found.next
        self.shown.compare(query.id, selection, first, rows, cursor is None)

    def _page(self, name: str, query: Query, selection: Selection, limit: int, cursor: str | None, wanted: int) -> Page:
        return page(self.contexts[name].results, query.name, selection, limit, cursor, wanted)

    # -- events ---------------------------------------------------------------------------------------------------

    def _follow(self, name: str, query: Query) -> None:
        """All events that are there by now, behind those that were read at any API."""
        follower = self.followers.setdefault(query.shown_id, Follower())
        if follower.is_at_it:
            return
        follower.is_at_it = True
        try:
            context = self.contexts[name]
            tail = open_tail(context.results, query.name, follower.event_id, None, None)
            if tail.query.shown_id != query.shown_id:  # it was altered meanwhile: that reader begins anew
                return
            while (block := next_block(context.results, tail)) is not None:
                follower.rows += rows_of(block.table)
                follower.event_id = event_ids.dump(query.shown_id, block.chunks[-1].behind, tail.selection)
            self.shown.follow(query.id, follower.rows, tail.snapshot)
        finally:
            follower.is_at_it = False

    # -- the end --------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Each API answers, with the last commits."""
        if not self.number:
            return
        for name in APIS:
            for query in list(self.world.checker.queries.queries.values()):
                self._must_show(name, query)

    def _must_show(self, name: str, query: Query) -> None:
        commit, until = self.shown.newest(query.id), self.scheduler.now + END_S
        outcome: list[object] = []

        def look() -> None:
            try:
                outcome.append(self._page(name, query, Selection(partial=True), 10_000, None, commit))
            except MarsError as error:
                outcome.append(error)

        while self.scheduler.now < until:
            if name in self.contexts:
                self.scheduler.spawn(f"{name} last reader", name, look)
            while name in self.contexts and not outcome and self.scheduler.now < until:
                self.scheduler.sleep(0.05)
            if outcome and isinstance(outcome[-1], Page):
                found = outcome[-1]
                self.shown.compare(query.id, Selection(partial=True), found, rows_of(found.rows), True)
                return
            if outcome and isinstance(outcome[-1], CorruptFileError) and self.world.disk.damaged:
                return  # a file of results that does not read is named until somebody puts it back
            self.scheduler.sleep(0.2)
            outcome.clear()
        raise Broken(f"I7: {name} does not show commit {commit} of {query.id}")


def rows_of(table: pa.Table) -> list[Row]:
    """(start of the window in ms, id, is it still open?) of each row, in their order."""
    starts = table["window_start"].cast(pa.int64()).to_pylist()
    flags = table["partial"].to_pylist() if "partial" in table.column_names else [False] * len(starts)
    return list(zip([start // 1000 for start in starts], table["id"].to_pylist(), flags, strict=True))
