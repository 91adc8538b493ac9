"""An assignment knows the versions of its key part: each transaction of an owner is refused once one of them has moved."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from mars.adapters.view import StreamView
from mars.adapters.zookeeper import Znode
from mars.model import names
from mars.model.commits import Pointer, Segment
from mars.model.registry import QuerySet
from reducer.committing.assignment import Assignment
from reducer.committing.pointer import set_pointer
from tests.reducer.pieces import QUERY, STREAM

VIEW = StreamView(STREAM, QuerySet(2, (0, 1), {"q1": QUERY}), 3, 7, 4)
FIRST, SECOND = (Pointer(Segment(f"0/1/commit-{number}", 0, 9, 1), number) for number in (1, 2))
VERSIONS = {names.generation(STREAM.id): 4, names.owner(STREAM.id, 1): 5, names.queries(STREAM.id): 3,
            names.pointer(STREAM.id, 1): 6}


class Ensemble(SimpleNamespace):
    """Stands for ZooKeeper: versions by path, and what a transaction sets."""

    def get_synced(self, path: str) -> Znode | None:
        return Znode(self.data.get(path, b""), self.versions[path]) if path in self.versions else None

    def transact(self, *operations: tuple) -> bool:
        if any(self.versions[path] != rest[-1] for _, path, *rest in operations):
            return False
        sets = {path: rest[0] for kind, path, *rest in operations if kind == "set"}
        self.data |= sets
        self.versions |= {path: self.versions[path] + 1 for path in sets}
        return True


@pytest.fixture
def ensemble() -> Ensemble:
    return Ensemble(versions=dict(VERSIONS), data={names.pointer(STREAM.id, 1): FIRST.dump()})


def assigned(ensemble: Ensemble) -> Assignment:
    return Assignment.read(ensemble, VIEW, 1, 5)


def test_a_pointer_is_set_again_and_again_under_the_same_assignment(ensemble):
    first = assigned(ensemble)
    assert (first.pointer, first.pointer_version) == (FIRST, 6)
    second = set_pointer(ensemble, first, SECOND)
    assert second == assigned(ensemble) == replace(first, pointer=SECOND, pointer_version=7)
    assert set_pointer(ensemble, first, SECOND) is None, "somebody else has committed"
    assert set_pointer(ensemble, second, FIRST) == assigned(ensemble)


@pytest.mark.parametrize("moved", VERSIONS)
def test_nothing_is_set_once_a_version_has_moved(ensemble, moved):
    held = assigned(ensemble)
    ensemble.versions[moved] += 1
    before = dict(ensemble.data)
    assert set_pointer(ensemble, held, SECOND) is None
    assert not ensemble.transact(*held.to_fall_back(SECOND, VIEW.queries))
    # What is deleted is needed in no generation.
    assert ensemble.transact(*held.to_prove()) == (moved == names.generation(STREAM.id))
    assert ensemble.data == before


def test_falling_back_sets_the_query_set_with_the_pointer(ensemble):
    assert ensemble.transact(*assigned(ensemble).to_fall_back(SECOND, QuerySet(9, (0, 1), {})))
    assert QuerySet.load(ensemble.data[names.queries(STREAM.id)]).queries == {}
    assert assigned(ensemble).pointer == SECOND


def test_of_a_stream_that_was_dropped_there_is_none(ensemble):
    held = assigned(ensemble)
    del ensemble.versions[names.pointer(STREAM.id, 1)]
    assert held.read_again(ensemble) is None
