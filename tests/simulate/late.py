"""Runs over queries that keep their late tuples (LATE TO), and what must hold of those."""

from __future__ import annotations

from mars.model.commits import QueryCommit
from tests.simulate import cells
from tests.simulate.check import Broken, Checker
from tests.simulate.kafka import BEHIND_MS


class KeepingChecker(Checker):
    """Each late tuple is kept once, and nothing else is: what is kept and what the windows hold are the prefix together."""

    def late(self, entry: QueryCommit) -> list[int]:
        """The late tuples that a commit keeps, as cells."""
        return [cell for result in self._results(entry.of_late) for cell in self._table(result.segment)]

    def _is_prefix(self, k: int, query: str, entry: QueryCommit, ends: bool = False) -> None:
        super()._is_prefix(k, query, entry, ends)
        if any(log.cuts for log in self.topic.logs):
            return  # of a query that has counted what a log has lost nothing is promised
        late = self.late(entry)
        if len(set(late)) != len(late):
            raise Broken(f"I12: {query} in key part {k} keeps late tuples twice: {cells.ids(sorted(late))}")
        if len(late) != entry.counters["late"]:
            raise Broken(f"I12: {query} in key part {k} keeps {len(late)} late tuples, and has counted "
                         f"{entry.counters['late']}")
        if both := set(late) & set(self.held(entry)):
            raise Broken(f"I12: {query} in key part {k} keeps tuples as late that its windows have: "
                         f"{cells.ids(sorted(both))}")
        start = self.queries.queries[query].start
        for id_ in cells.ids(late):
            p, offset, _ = self.topic.place(id_)
            if id_ % self.key_parts != k or not start.get(p, 0) <= offset < entry.positions.get(p, start.get(p, 0)):
                raise Broken(f"I12: {query} in key part {k} keeps the tuple {id_} as late, which is not in its prefix")

    def _may_be_late(self, query: str, place: tuple[int, int, int]) -> bool:
        """One that was sent behind may."""
        p, offset, time = place
        record = self.topic.logs[p].records[offset]
        return record is not None and time + BEHIND_MS[0] <= self.topic.written[record[0]]

    def finish(self) -> None:
        super().finish()
        for k, manifest in self.manifests.items():
            for id_ in manifest.queries.keys() & self.queries.queries.keys():
                gone = {result.segment.path for result in self._results(manifest.queries[id_].of_late)} - {
                    path for path, _ in self.storage.files(f"{self.stream_id}/{k}")}
                if gone - self.storage.disk.damaged:
                    raise Broken(f"I12: the files of late tuples of {id_} in key part {k} are gone: {gone}")
