"""A snapshot is of one moment, though commits come between the answers for two key parts."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from mars.adapters.storage import CorruptFileError
from mars.errors import NotFoundError, NotReadyError
from mars.model.commits import Manifest, QueryCommit
from mars.model.registry import Query, QuerySet
from mars.results.snapshot import TRIES, SnapshotReader
from mars.runtime.system import SYSTEM
from tests.plans import made

STREAM, QUERY = SimpleNamespace(id=1, name="s", key_parts=2), SimpleNamespace(id="q1", name="q", start={})


class Committing(SnapshotReader):
    """Key parts in which commits come while they are read: before each of the first reads, one of each part that is said."""

    def __init__(self, moves: list[tuple[int, ...]]) -> None:
        self.moves, self.unread = moves, set()
        self._whole, self._lock = {}, threading.Lock()
        self.parts = [self._commit(0), self._commit(0)]
        self.moments = [self._vector()]

    def _manifests(self, stream: SimpleNamespace) -> list[Manifest]:
        return [self._moved(part) for part in range(stream.key_parts)]

    def _moved(self, part: int) -> Manifest:
        for moved in self.moves.pop(0) if self.moves else ():
            self.parts[moved] = self._commit(self.parts[moved].commit + 1)
            self.moments.append(self._vector())
        if self.parts[part].commit in self.unread:
            raise CorruptFileError("a committed file does not match its checksum")
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


def test_while_a_commit_does_not_read_all_key_parts_are_shown_as_of_the_moment_before():
    """Not one as it was, beside another as it is: that would be a second vector of one commit number."""
    reader = Committing([(0,), (0, 1), (), (0, 1), (), ()])
    before = [reader._read(STREAM, QUERY).vector for _ in range(2)][1]
    reader.moves, reader.unread = [(1,), (0,)], {before[0] + 1}
    shown = [reader._read(STREAM, QUERY).vector for _ in range(3)]
    assert reader.moments[-1] == (before[0] + 1, before[1] + 1)
    assert set(shown) == {before}
    reader.unread.clear()
    assert reader._read(STREAM, QUERY).vector == reader.moments[-1]


def test_a_commit_that_does_not_read_is_told_who_knows_none_before():
    reader = Committing([])
    reader.unread = {0}
    with pytest.raises(CorruptFileError):
        reader._read(STREAM, QUERY)


def test_commits_that_come_faster_than_they_can_be_read_give_no_mixture():
    """They give the last moment that is known, or an error where none is."""
    always = [(0,), (0, 1)] * (TRIES + 2)
    reader = Committing(list(always))
    with pytest.raises(NotReadyError, match="faster"):
        reader._read(STREAM, QUERY)
    reader.moves = []
    before = reader._read(STREAM, QUERY).vector
    reader.moves = list(always)
    assert reader._read(STREAM, QUERY).vector == before


def test_a_query_that_a_commit_no_longer_has_was_dropped():
    """It is not one without any commit, which would be shown as older than what was shown before."""
    reader = Committing([])
    reader._read(STREAM, QUERY)
    reader.parts[1] = Manifest(1, 1, commit=1)
    queries = QuerySet(queries={"q1": Query("q1", "q", made(("t",)), 1, {})})
    reader.zk = SimpleNamespace(client=SimpleNamespace(connected=True), get=lambda _: SimpleNamespace(
        data=queries.dump()), clock=SYSTEM.clock)
    assert reader._read(STREAM, QUERY).parts[1] is None  # its state is lost, but it is there
    del queries.queries["q1"]
    with pytest.raises(NotFoundError, match="dropped"):
        reader._read(STREAM, QUERY)
