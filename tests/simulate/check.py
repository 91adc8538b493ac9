"""What must hold after every commit, and at the end of a run. Everything is recomputed from the topic, by unique ids."""

from __future__ import annotations

from mars import names
from mars.commits import Manifest, Pointer, QueryCommit
from mars.registry import RUNNING, QuerySet
from tests.simulate import cells
from tests.simulate.kafka import Topic
from tests.simulate.storage import Storage


class Broken(Exception):
    """An invariant does not hold; the text says which, where and by what."""


class Checker:
    """Looks at each pointer as it is set. The invariants' numbers are those of docs/reliability.md."""

    def __init__(self, stream_id: int, key_parts: int, topic: Topic, storage: Storage) -> None:
        self.stream_id, self.key_parts, self.topic, self.storage = stream_id, key_parts, topic, storage
        self.manifests: dict[int, Manifest] = {}
        self.pointers: dict[int, Pointer] = {}
        self.paths = {names.pointer(stream_id, k): k for k in range(key_parts)}
        self.queries_path = names.queries(stream_id)
        self.queries = QuerySet()
        self.commits = 0
        self.broken: Broken | None = None

    def watch(self, path: str, data: bytes) -> None:
        """A znode has been set. What is broken is kept: whoever has set it may swallow errors."""
        if path == self.queries_path:
            self.queries = QuerySet.load(data)
        elif path in self.paths:
            try:
                self._commit(self.paths[path], Pointer.load(data))
            except Broken as error:
                self.broken = self.broken or error

    def _commit(self, k: int, pointer: Pointer) -> None:
        self.commits += 1
        manifest = Manifest.load(self.storage.peek(pointer.manifest))
        before = self.manifests.get(k, Manifest(self.stream_id, k))
        fell = self._is_damaged(self.pointers.get(k), before)
        self.manifests[k], self.pointers[k] = manifest, pointer
        if manifest.commit != before.commit + 1:
            raise Broken(f"I5: key part {k} went from commit {before.commit} to {manifest.commit}")
        visible = self.topic.visible()
        for query, entry in manifest.queries.items():
            if query in self.queries.queries:
                self._never_back(k, query, before.queries.get(query), entry, fell)
                self._is_prefix(k, query, entry, visible)

    def _is_damaged(self, pointer: Pointer | None, manifest: Manifest) -> bool:
        """May the next commit be a fall-back?"""
        paths = {s.path for query in manifest.queries.values() for s in query.state}
        return pointer is not None and not self.storage.disk.damaged.isdisjoint(paths | {pointer.manifest.path})

    @staticmethod
    def _never_back(k: int, query: str, before: QueryCommit | None, entry: QueryCommit, fell: bool) -> None:
        """After a fall-back positions are lower, but what readers knew is not (rule 25)."""
        if before is None:
            return
        for p, position in before.positions.items():
            if entry.positions.get(p, -1) < position and not fell:
                raise Broken(f"I5: {query} in key part {k}: partition {p} went from {position} to {entry.positions.get(p)}")
        known, knows = (max((w for w in (q.watermark, q.published) if w is not None), default=None) for q in (before, entry))
        if known is not None and (knows is None or knows < known):
            raise Broken(f"I5: {query} in key part {k}: watermark went from {known} to {knows}")
        if entry.commits < before.commits:
            raise Broken(f"I5: {query} in key part {k} went from commit {before.commits} to {entry.commits}")

    def _is_prefix(self, k: int, query: str, entry: QueryCommit, visible: dict) -> None:
        """I1 to I4, I6: state and results hold exactly the tuples up to the positions, each once."""
        start = self.queries.queries[query].start
        for p, position in entry.positions.items():
            if position > self.topic.logs[p].stable:
                raise Broken(f"I6: {query} in key part {k}: partition {p} is at {position}, past the last stable offset")
        closed = [cell for result in entry.results for cell in cells.decode(self.storage.peek(result.segment))]
        tables = [cells.decode(self.storage.peek(segment)) for segment in entry.state]
        held = cells.merge(None, None, tables)
        if entry.watermark is not None:
            held = cells.late_split(None, None, held, entry.watermark)[1]
        found = sorted(id_ for _, id_ in [*closed, *held])
        wanted = sorted(id_ for id_, (p, offset, time) in visible.items()
                        if id_ % self.key_parts == k and start.get(p, 0) <= offset < self._end(entry, p, time))
        if found != wanted:
            self._explain(k, query, entry, found, wanted, visible)

    @staticmethod
    def _end(entry: QueryCommit, p: int, time: int) -> int:
        """Up to which offset a tuple of this time is in the state or the results. After a fall-back closed windows hold more
        than the open ones."""
        position = entry.positions.get(p, 0)
        is_closed = entry.watermark is not None and cells.window(time) + cells.WINDOW_MS <= entry.watermark
        return max(position, entry.counted.get(p, 0)) if is_closed else position

    def _explain(self, k: int, query: str, entry: QueryCommit, found: list[int], wanted: list[int], visible: dict) -> None:
        """Future and late tuples are missing by right, if they were counted; everything else is not."""
        doubled = sorted({id_ for id_ in found if found.count(id_) > 1})
        if doubled:
            raise Broken(f"I4: {query} in key part {k} holds tuples twice: {doubled}")
        extra = sorted(set(found) - set(wanted))
        if extra:
            raise Broken(f"I2: {query} in key part {k} holds tuples that are not in its prefix: {extra}")
        missing = sorted(set(wanted) - set(found))
        missing = [id_ for id_ in missing if id_ not in self.topic.unreadable]
        if not missing:
            return
        if entry.counters["late"] and not self.topic.disordered:
            raise Broken(f"I2: {query} in key part {k}: {entry.counters['late']} tuples late that lay there in time, "
                         f"missing {[(id_, visible[id_]) for id_ in missing]}, watermark {entry.watermark}")
        if len(missing) > entry.counters["late"] + sum(1 for id_ in missing if id_ in self.topic.ahead):
            raise Broken(f"I1: {query} in key part {k} has lost tuples: {[(id_, visible[id_]) for id_ in missing]}")

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

    def finish(self) -> None:
        """I1 over key parts: what key part 0 counted is what all of them hold, future tuples left out."""
        visible = self.topic.visible()
        for id_, query in self.queries.queries.items():
            entries = [self.manifests[k].queries[id_] for k in range(self.key_parts)]
            rows = sum(len(self._ids(entry)) for entry in entries)
            wanted = sum(1 for p, offset, _ in visible.values() if offset >= query.start.get(p, 0))
            counters = entries[0].counters
            if counters["tuples"] != wanted:
                raise Broken(f"I1: {id_} counted {counters['tuples']} tuples of {wanted}")
            late = sum(entry.counters["late"] for entry in entries)
            bad = sum(1 for i, (p, offset, _) in visible.items()
                      if i in self.topic.unreadable and offset >= query.start.get(p, 0))
            if counters["bad"] != bad:
                raise Broken(f"I1: {id_} counted {counters['bad']} tuples as bad, of {bad} that end whoever reads them")
            if rows + counters["future"] + late + bad != wanted:
                raise Broken(f"I1: {id_} holds {rows} tuples and counted {counters['future']} as future, {late} as late and "
                             f"{bad} as bad, of {wanted}")

    def _ids(self, entry: QueryCommit) -> set[int]:
        tables = [cells.decode(self.storage.peek(segment)) for segment in entry.state]
        tables += [cells.decode(self.storage.peek(result.segment)) for result in entry.results]
        return {id_ for table in tables for _, id_ in table}
