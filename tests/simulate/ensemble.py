"""The ZooKeeper servers of the simulation: one ordered history of states, transactions, watches, sessions that end."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from tests.simulate.faults import Network
from tests.simulate.scheduler import Scheduler

if TYPE_CHECKING:
    from tests.simulate.zookeeper import ZooKeeper


class Node(NamedTuple):
    """A znode; `owner` is the session of an ephemeral one."""

    data: bytes
    version: int = 0
    owner: int = 0


class Watch(NamedTuple):
    """Fires once, when the data or the children of a path are not any more what was read."""

    kind: str
    path: str
    call: Callable[[SimpleNamespace], None]

    def sees(self, state: State) -> object:
        """What it is about."""
        return state.get(self.path) if self.kind == "data" else children(state, self.path)


class State(dict[str, Node]):
    """Every znode by its path, as of one moment; `listed` are the children that were asked for, by path. It never changes
    once it is a state of the ensemble, and shares `listed` with the next one unless that has other children."""

    __slots__ = ("listed",)

    def __init__(self, nodes: dict[str, Node], listed: dict[str, list[str]]) -> None:
        super().__init__(nodes)
        self.listed = listed


def children(state: State, path: str) -> list[str]:
    """Names of a znode's children, sorted."""
    names = state.listed.get(path)
    if names is None:
        prefix = f"{path}/"
        names = state.listed[path] = sorted(
            name[len(prefix):] for name in state if name.startswith(prefix) and "/" not in name[len(prefix):])
    return names[:]


class Ensemble:
    """The truth: `states[-1]`. Earlier states stay readable by sessions that lag. `watch` is told of every set.

    `lag` is how often a session reads an older state, `notice_s` how long its notices may take at most.
    """

    def __init__(self, scheduler: Scheduler, network: Network) -> None:
        self.scheduler, self.network = scheduler, network
        self.states: list[State] = [State({}, {})]
        self.sessions: dict[int, ZooKeeper] = {}
        self.unheard: dict[int, ZooKeeper] = {}  # those of them that are not heard
        self.numbers, self.numbered = 0, ""  # the last number of a sequence, and the path that got it
        self.lag = self.notice_s = 0.0
        self.watch: Callable[[str, bytes], None] = lambda path, data: None
        self.unchecked: tuple[str, ...] = ()

    @property
    def now(self) -> State:
        """Every znode as of now."""
        return self.states[-1]

    def transact(self, session: int, operations: list[tuple]) -> None:
        """All or none; raises what failed."""
        state, sets, changed = State(self.states[-1], {}), [], set()
        for kind, path, *rest in operations:
            if kind == "create":
                if rest[2:] == [True]:
                    self.numbers += 1
                    path = self.numbered = f"{path}{self.numbers:010d}"
                if path in state:
                    raise NodeExistsError
                state[path] = Node(rest[0], 0, session if rest[1:2] == [True] else 0)
                changed |= {("data", path), ("children", path.rpartition("/")[0])}
                continue
            node = state.get(path)
            if node is None:
                raise NoNodeError
            if kind == "delete":
                del state[path]
                changed |= {("data", path), ("children", path.rpartition("/")[0])}
                continue
            version = rest[0] if kind == "check" else rest[1]
            if version not in (-1, node.version) and not (self.unchecked and path.endswith(self.unchecked)):
                raise BadVersionError
            if kind == "set":
                state[path] = Node(rest[0], node.version + 1, node.owner)
                changed.add(("data", path))
                sets.append((path, rest[0]))
        self._next(state, changed)
        for path, data in sets:
            self.watch(path, data)

    def _next(self, state: State, changed: set[tuple[str, str]]) -> None:
        """The next state; whoever watches what it changes hears of it."""
        if not changed:
            return
        if all(kind == "data" for kind, _ in changed):
            state.listed = self.states[-1].listed
        self.states.append(state)
        for session in self.sessions.values():
            if fired := [key for key in changed if key in session.watches]:
                session.hear([watch for key in sorted(fired) for watch in session.watches.pop(key)])

    def expire(self, session: int) -> None:
        """The session is over: its ephemeral znodes go."""
        gone = self.sessions.pop(session, None)
        self.unheard.pop(session, None)
        if gone:
            gone.over = True
            ended = [path for path, node in self.now.items() if node.owner == session]
            self._next(State({path: node for path, node in self.now.items() if node.owner != session}, {}),
                       {pair for path in ended for pair in (("data", path), ("children", path.rpartition("/")[0]))})

    def tick(self) -> None:
        """Expire what has been cut off for longer than its session."""
        now = self.scheduler.now
        for number in sorted([number for number, session in self.unheard.items()
                              if now - session.unheard_since > session.session_ms / 1000]):
            self.expire(number)
