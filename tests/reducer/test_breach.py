"""A broken invariant is answered by one recovery; if it comes again after that, its query stops, named (rule 13)."""

from __future__ import annotations

from mars.adapters.view import StreamView
from mars.adapters.zookeeper import Znode
from mars.errors import InvariantError
from mars.model import names
from mars.model.registry import QuerySet
from reducer import breach
from tests.clock import ManualClock
from tests.reducer.pieces import QUERY, STREAM


class Tree:
    """Stands for ZooKeeper: data and versions by path."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.nodes: dict[str, Znode] = {names.queries(STREAM.id): Znode(QuerySet(2, (0, 1), {"q1": QUERY}).dump(), 0)}

    def get(self, path: str) -> Znode | None:
        return self.nodes.get(path)

    get_synced = get

    def ensure(self, path: str, data: bytes = b"") -> None:
        self.nodes.setdefault(path, Znode(data, 0))

    def transact(self, *operations: tuple) -> bool:
        for _, path, data, version in operations:
            assert self.nodes[path].version == version
            self.nodes[path] = Znode(data, version + 1)
        return True


def meet(tree: Tree, generation: int, query: str = "q1", text: str = "a range overlaps what is merged") -> str:
    """The state of the query after it."""
    tree.nodes.pop(names.recovery_request(STREAM.id), None)
    view = StreamView(STREAM, QuerySet(2, (0, 1), {"q1": QUERY}), 0, generation, generation)
    breach.answer(tree, view, InvariantError(text).of(query))
    assert names.recovery_request(STREAM.id) in tree.nodes
    return QuerySet.load(tree.nodes[names.queries(STREAM.id)].data).queries["q1"].state


def test_the_first_is_answered_by_a_recovery():
    assert meet(Tree(), 1) == "RUNNING"


def test_the_second_after_a_recovery_stops_the_query_with_both_in_the_reason():
    tree = Tree()
    meet(tree, 1, text="the first one")
    tree.clock.now_s += 60
    assert meet(tree, 2, text="the second one") == "INVARIANT_BROKEN"
    reason = QuerySet.load(tree.nodes[names.queries(STREAM.id)].data).queries["q1"].reason
    assert "the first one" in reason
    assert "the second one" in reason
    assert "RESUME QUERY" in reason


def test_two_key_parts_that_meet_the_same_one_count_once():
    tree = Tree()
    meet(tree, 1)
    assert meet(tree, 1) == "RUNNING"


def test_long_after_the_first_it_is_a_first_one_again():
    tree = Tree()
    meet(tree, 1)
    tree.clock.now_s += breach.REPEAT_S + 1
    assert meet(tree, 2) == "RUNNING"
    tree.clock.now_s += 1
    assert meet(tree, 3) == "INVARIANT_BROKEN"


def test_one_of_no_query_stops_none():
    tree = Tree()
    meet(tree, 1, query="")
    assert meet(tree, 2, query="") == "RUNNING"
