"""What must hold after every commit, and at the end of a run. Everything is recomputed from the topic, by unique ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from mars.model import names
from mars.model.commits import Earlier, Manifest, Pointer, QueryCommit, ResultSegment, Segment, load_index
from mars.model.registry import FAULT_STATES, PAUSED, RUNNING, Query, QuerySet
from tests.simulate import cells
from tests.simulate.kafka import Topic
from tests.simulate.redis import Server
from tests.simulate.storage import Storage


class Broken(Exception):
    """An invariant does not hold; the text says which, where and by what."""


class Checker:
    """Looks at each pointer as it is set. The invariants' numbers are those of docs/reliability.md."""

    def __init__(self, stream_id: int, key_parts: int, topic: Topic, storage: Storage, server: Server) -> None:
        self.stream_id, self.key_parts, self.topic, self.storage, self.server = stream_id, key_parts, topic, storage, server
        self.manifests: dict[int, Manifest] = {}
        self.pointers: dict[int, Pointer] = {}
        self.tables: dict[Segment, cells.Table] = {}
        self.paths = {names.pointer(stream_id, k): k for k in range(key_parts)}
        self.queries_path = names.queries(stream_id)
        self.queries = QuerySet()
        self.commits = 0
        self.poisoned: dict[str, tuple[int, int]] = {}
        self.broken: Broken | None = None
        self.noted: Callable[[str, dict[int, Manifest]], None] = lambda query, manifests: None  # is told of each good commit

    def watch(self, path: str, data: bytes) -> None:
        """A znode has been set. What is broken is kept: whoever has set it may swallow errors."""
        try:
            if path == self.queries_path:
                before, self.queries = self.queries.queries, QuerySet.load(data)
                for id_, query in self.queries.queries.items():
                    if query.state in FAULT_STATES and before[id_].state in (RUNNING, PAUSED):
                        self._stopped(query)
            elif path in self.paths:
                self._commit(self.paths[path], Pointer.load(data))
        except Broken as error:
            self.broken = self.broken or error

    def report(self, text: str) -> None:
        """Somebody else has seen what must not be."""
        self.broken = self.broken or Broken(text)

    def _stopped(self, query: Query) -> None:
        """I9: a query is stopped only for what has happened to it."""
        causes = {
            "TOPIC_RECREATED": lambda: self.topic.is_anew,
            "DATA_LOSS": lambda: any(self._least(query, p) < log.first for p, log in enumerate(self.topic.logs)),
            "LOG_TRUNCATED": lambda: any(log.cuts or log.refused for log in self.topic.logs),
            "PAUSED_BY_MEMORY": lambda: self.server.was_full,
            "QUARANTINED": lambda: f"computing.{query.id}" in self.poisoned,
            "INVARIANT_BROKEN": lambda: self.server.run_number > 2,  # one loss of Redis is answered by a recovery
        }
        if query.state in causes and causes[query.state]():
            return
        raise Broken(f"I9: {query.id} is stopped as {query.state} without a cause: {query.reason}")

    def _least(self, query: Query, p: int) -> int:
        """The offset up to which every key part has committed a partition."""
        start = query.start.get(p, 0)
        committed = [self.manifests[k].queries.get(query.id) for k in self.manifests]
        positions = [entry.positions.get(p, start) if entry else start for entry in committed]
        return min(positions) if len(positions) == self.key_parts else start

    def _commit(self, k: int, pointer: Pointer) -> None:
        self.commits += 1
        manifest = Manifest.load(self.storage.peek(pointer.manifest))
        before = self.manifests.get(k, Manifest(self.stream_id, k))
        fell = self._is_damaged(self.pointers.get(k), before)
        self.manifests[k], self.pointers[k] = manifest, pointer
        if manifest.commit != before.commit + 1:
            raise Broken(f"I5: key part {k} went from commit {before.commit} to {manifest.commit}")
        for query in before.queries.keys() & self.queries.queries.keys():
            if query not in manifest.queries:
                raise Broken(f"I5: key part {k} forgets {query} with commit {manifest.commit}")
        for query, entry in manifest.queries.items():
            known = before.queries.get(query)
            if query in self.queries.queries and known != entry:
                if known is not None:
                    self._never_back(k, query, known, entry, fell)
                self._is_prefix(k, query, entry)
                self.noted(query, self.manifests)

    def reads_without(self, k: int, path: str) -> bool:
        """Is there an earlier commit of the key part, other than the oldest, that has neither this file nor one that is
        damaged already? The oldest alone is enough for the first damage: a commit that shares a file with the last one does
        not push it out. Of two damages that nobody has noticed, one may be in the commit that does."""
        damaged, earlier = self.storage.disk.damaged, self.pointers[k].earlier
        is_first = all(self._reads(point, damaged) for point in earlier)
        return any(self._reads(point, damaged | {path}) for point in (earlier if is_first else earlier[:-1]))

    def _reads(self, point: Earlier, damaged: set[str]) -> bool:
        if point.manifest is None:
            return True
        if point.manifest.path in damaged:
            return False
        entries = Manifest.load(self.storage.peek(point.manifest)).queries.values()
        return damaged.isdisjoint(segment.path for entry in entries for segment in entry.state)

    def _is_damaged(self, pointer: Pointer | None, manifest: Manifest) -> bool:
        """May the next commit be a fall-back?"""
        damaged = self.storage.disk.damaged
        return bool(damaged) and pointer is not None and not damaged.isdisjoint(
            {pointer.manifest.path, *(segment.path for entry in manifest.queries.values() for segment in entry.state)})

    def _never_back(self, k: int, query: str, before: QueryCommit, entry: QueryCommit, fell: bool) -> None:
        """After a fall-back positions are lower, but what readers knew is not (rule 25)."""
        for p, position in before.positions.items():
            if entry.positions.get(p, -1) < position and not fell:
                raise Broken(f"I5: {query} in key part {k}: partition {p} went from {position} to {entry.positions.get(p)}")
        known, knows = (max((w for w in (q.watermark, q.published) if w is not None), default=None) for q in (before, entry))
        if known is not None and (knows is None or knows < known):
            raise Broken(f"I5: {query} in key part {k}: watermark went from {known} to {knows}")
        if entry.commits < before.commits:
            raise Broken(f"I5: {query} in key part {k} went from commit {before.commits} to {entry.commits}")
        if not fell and any(entry.counters[name] < count for name, count in before.counters.items()):
            raise Broken(f"I5: {query} in key part {k}: counters went from {before.counters} to {entry.counters}")
        goes_on = not fell and entry.results_index == before.results_index
        if goes_on and entry.results[:len(before.results)] != before.results:
            raise Broken(f"I5: {query} in key part {k}: results were {before.results} and are {entry.results}")
        if goes_on and before.watermark is not None and before.published is None:
            for result in entry.results[len(before.results):]:
                start = cells.first_pane(self._table(result.segment))
                if self._is_shown_again(query, start, before):
                    raise Broken(f"I2: {query} in key part {k}: the window {start} was shown, and is shown again")

    def _is_shown_again(self, query: str, start: int, before: QueryCommit) -> bool:
        """Had the window closed before?"""
        return before.watermark is not None and start + cells.WINDOW_MS <= before.watermark

    def _results(self, entry: QueryCommit) -> list[ResultSegment]:
        """All result segments, the oldest first."""
        index = entry.results_index
        return [*(load_index(self.storage.peek(index)) if index else ()), *entry.results]

    def _table(self, segment: Segment) -> cells.Table:
        """A segment's cells; files never change."""
        table = self.tables.get(segment)
        if table is None:
            table = self.tables[segment] = cells.decode(self.storage.peek(segment))
        return table

    def held(self, entry: QueryCommit) -> list[int]:
        """All cells of results and state, in order; of the state those of windows that have not closed."""
        found = [cell for result in self._results(entry) for cell in self._table(result.segment)]
        for segment in entry.state:
            table = self._table(segment)
            found += table if entry.watermark is None else cells.late_split(None, None, table, entry.watermark)[1]
        return sorted(found)

    def _is_prefix(self, k: int, query: str, entry: QueryCommit, ends: bool = False) -> None:
        """I1 to I4, I6: state and results hold exactly the tuples up to the positions, each once, in its window. Of a query
        that has counted what a log has lost nothing is promised, but that it does not go on so (`ends`)."""
        start, wanted, is_past = self.queries.queries[query].start, [], False
        ahead = self._ahead(self.queries.queries[query])
        for p, log in enumerate(self.topic.logs):
            position = entry.positions.get(p, start.get(p, 0))
            if position > max(log.stable, start.get(p, 0)):
                if not log.cuts or ends:
                    raise Broken(f"I6: {query} in key part {k}: partition {p} is at {position}, past the last stable offset")
                is_past = True
            wanted += [cell for cell in log.cells[start.get(p, 0):position]
                       if cell and (cell & cells.IDS) % self.key_parts == k and cell & cells.IDS not in ahead]
        found = self.held(entry)
        if found != sorted(wanted) and (ends or not (is_past or self._has_lost(found, wanted))):
            self._explain(k, query, entry, found, wanted)

    def _ahead(self, query: Query) -> set[int]:
        """The tuples that are future for a query."""
        return self.topic.ahead[query.plan.aggregation.max_ahead_ms]

    def _has_lost(self, found: list[int], wanted: list[int]) -> bool:
        """Has it counted what a log has lost, or not what has come in its place?"""
        cuts = [(p, min(log.cuts), log) for p, log in enumerate(self.topic.logs) if log.cuts]
        if any(not log.lost.isdisjoint(cells.ids(found)) for _, _, log in cuts):
            return True
        places = [self.topic.place(id_) for id_ in cells.ids(set(wanted) - set(found))] if cuts else []
        return any(p == q and offset >= first for q, first, _ in cuts for p, offset, _ in places)

    def _explain(self, k: int, query: str, entry: QueryCommit, found: list[int], wanted: list[int]) -> None:
        """Late tuples are missing by right, if they were counted; everything else is not."""
        doubled = [cell & cells.IDS for cell, count in Counter(found).items() if count > 1]
        if doubled:
            raise Broken(f"I4: {query} in key part {k} holds tuples twice: {doubled}")
        extra = sorted(set(found) - set(wanted))
        if extra:
            raise Broken(f"I2: {query} in key part {k} holds tuples that are not in its prefix: {cells.ids(extra)}")
        missing = [id_ for id_ in cells.ids(sorted(set(wanted) - set(found))) if id_ not in self.topic.unreadable]
        if not missing:
            return
        late, places = entry.counters["late"], [(id_, *self.topic.place(id_)) for id_ in missing]
        in_time = [place for _, *place in places if not self._may_be_late(query, tuple(place))]
        if late and in_time and not self.topic.disordered:
            raise Broken(f"I2: {query} in key part {k}: {late} tuples late that lay there in time, missing {places}, "
                         f"watermark {entry.watermark}")
        if len(missing) > late:
            raise Broken(f"I1: {query} in key part {k} has lost tuples: {places}")

    def _may_be_late(self, query: str, place: tuple[int, int, int]) -> bool:
        """May a tuple at this place be late in any case?"""
        return False

    # -- the end of a run -----------------------------------------------------------------------------------------

    def lag(self) -> int:
        """How many offsets are not committed, over running queries and key parts (I7)."""
        lag = 0
        for id_, query in self.queries.queries.items():
            if query.state == RUNNING:
                for k in range(self.key_parts):
                    entry = self.manifests.get(k, Manifest(0, k)).queries.get(id_)
                    for p, log in enumerate(self.topic.logs):
                        position = entry.positions.get(p, query.start.get(p, 0)) if entry else query.start.get(p, 0)
                        lag += max(0, len(log.records) - position)
        return lag

    def is_closed(self) -> bool:
        """Are all windows closed that the clock has to close?"""
        return True

    def finish(self) -> None:
        """I1 over key parts: what key part 0 counted is what all of them hold, future tuples left out."""
        for id_, query in self.queries.queries.items():
            entries = [self.manifests[k].queries[id_] for k in range(self.key_parts)]
            for k, entry in enumerate(entries if any(log.cuts for log in self.topic.logs) else ()):
                self._is_prefix(k, id_, entry, ends=True)
            rows = sum(len(set(self.held(entry))) for entry in entries)
            wanted = sum(1 for p, log in enumerate(self.topic.logs) for cell in log.cells[query.start.get(p, 0):] if cell)
            counters = entries[0].counters
            ahead = self._ahead(query) - self.topic.unreadable
            future = sum(1 for p, log in enumerate(self.topic.logs) for record in log.records[query.start.get(p, 0):]
                         if record and record[0] in ahead)
            if counters["future"] != future:
                raise Broken(f"I1: {id_} counted {counters['future']} tuples as future, of {future}")
            if counters["tuples"] != wanted:
                raise Broken(f"I1: {id_} counted {counters['tuples']} tuples of {wanted}")
            late = sum(entry.counters["late"] for entry in entries)
            bad = sum(1 for id_ in self.topic.unreadable if self._is_of(query, id_))
            if counters["bad"] != bad:
                raise Broken(f"I1: {id_} counted {counters['bad']} tuples as bad, of {bad} that end whoever reads them")
            missing = abs(wanted - rows - counters["future"] - late - bad)
            if missing:
                raise Broken(f"I1: {id_} holds {rows} tuples and counted {counters['future']} as future, {late} as late and "
                             f"{bad} as bad, of {wanted}")

    def left_files(self, before: float) -> list[str]:
        """State files from before this moment that no commit names which a key part may still read (I8)."""
        left = []
        for k, pointer in self.pointers.items():
            segments = [pointer.manifest, *(earlier.manifest for earlier in pointer.earlier if earlier.manifest)]
            manifests = [Manifest.load(self.storage.peek(segment)) for segment in segments]
            entries = [(id_, entry) for manifest in manifests for id_, entry in manifest.queries.items()]
            for entry in (entry for id_, entry in entries if id_ in self.queries.queries):
                segments += [*entry.state, *(result.segment for result in self._results(entry))]
                segments += [entry.results_index] if entry.results_index else []
                segments += [result.segment for result in self._results(entry.of_late)]
                segments += [entry.late_index] if entry.late_index else []
            named = {segment.path for segment in segments}
            left += [path for path, at in self.storage.files(f"{self.stream_id}/{k}") if path not in named and at < before]
        return left

    def _is_of(self, query: Query, tuple_: int) -> bool:
        p, offset, _ = self.topic.place(tuple_)
        return offset >= query.start.get(p, 0)
