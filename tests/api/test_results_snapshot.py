"""A snapshot is of one moment, though commits come between the answers for two key parts."""

from __future__ import annotations

from types import SimpleNamespace

from api.results_snapshot import SnapshotReader
from mars.commits import Manifest, QueryCommit

STREAM, QUERY = SimpleNamespace(id=1, key_parts=2), SimpleNamespace(id="q1", start={})


class Committing(SnapshotReader):
    """Key parts in which commits come while they are read: before each of the first reads, one of each part that is said."""

    def __init__(self, moves: list[tuple[int, ...]]) -> None:
        self.moves = moves
        self.parts = [self._commit(0), self._commit(0)]
        self.moments = [self._vector()]

    def _manifests(self, stream: SimpleNamespace) -> list[Manifest]:
        return [self._moved(part) for part in range(stream.key_parts)]

    def _moved(self, part: int) -> Manifest:
        for moved in self.moves.pop(0) if self.moves else ():
            self.parts[moved] = self._commit(self.parts[moved].commit + 1)
            self.moments.append(self._vector())
        return self.parts[part]

    def _vector(self) -> tuple[int, ...]:
        return tuple(part.commit for part in self.parts)

    @staticmethod
    def _commit(number: int) -> Manifest:
        return Manifest(1, 0, commit=number, queries={"q1": QueryCommit(1, commits=number)})


def test_a_snapshot_is_of_one_moment():
    """Else two snapshots could have one commit number, and other rows."""
    for moves in ([(), (0, 1)], [(1,), (0, 1)], [(0,), (0, 1), (), (0, 1)]):
        reader = Committing(list(moves))
        snapshot = reader._read(STREAM, QUERY)
        assert snapshot.vector in reader.moments, moves
