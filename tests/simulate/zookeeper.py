"""A ZooKeeper session of the simulation, as the real code uses it: it reads somewhat old states, and answers get lost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple

from kazoo.exceptions import BadVersionError, ConnectionLoss, NodeExistsError, NoNodeError, SessionExpiredError

from mars.adapters.zookeeper import Znode
from tests.simulate.ensemble import Ensemble, Node, State, Watch, children
from tests.simulate.scheduler import Source
from tests.simulate.threads import Clock


class ZooKeeper(Source):
    """Stands for mars.adapters.zookeeper.ZooKeeper, one session. As a source: there are events to be told."""

    def __init__(self, ensemble: Ensemble, session_ms: int = 6_000) -> None:
        super().__init__(ensemble.scheduler)
        self.ensemble, self.session_ms, self.clock = ensemble, session_ms, Clock(ensemble.scheduler)
        self.ensemble.numbers += 1
        self.number = self.ensemble.numbers
        self.ensemble.sessions[self.number] = self
        self.node = self.ensemble.scheduler.current.node
        self.seen = len(self.ensemble.states) - 1
        self.cut_since: float | None = None  # as the worker knows it
        self._unheard_since: float | None = None
        self.dead = self.stopped = False  # its process is gone
        self.over = self.lost = False  # the ensemble has ended the session; the worker has learnt of it
        self.watches: dict[tuple[str, str], list[Watch]] = {}
        self.events: list[Watch | str] = []
        self.told = self.telling = 0  # how many events have been told; is one being told?
        self.listeners: list[Callable[[str], None]] = []
        self.client = Client(self)
        if self.node != "driver":
            self.ensemble.scheduler.spawn(f"{self.node} zookeeper", self.node, self._deliver)

    def new_id(self) -> str:
        """As Runtime.new_id: nobody has had it."""
        self.ensemble.numbers += 1
        return f"{self.ensemble.numbers:08x}"

    def _deliver(self) -> None:
        """The client's own thread: tells watchers and listeners, later or sooner."""
        scheduler, ensemble = self.scheduler, self.ensemble
        while not (self.lost or self.stopped):
            if not self.events:
                scheduler.sleep(60.0, self)
            elif ensemble.notice_s:
                scheduler.sleep(scheduler.die() * ensemble.notice_s)
            if self.events:
                event, self.telling = self.events.pop(0), 1
                if isinstance(event, Watch):
                    event.call(SimpleNamespace(path=event.path))
                else:
                    for listener in self.listeners:
                        listener(event)
                self.told, self.telling = self.told + 1, 0

    def hear(self, events: list[Watch | str]) -> None:
        """Something is to be told."""
        self.events += events
        self.notify()

    def changed(self, state: str) -> None:
        """The connection is gone or back: watches are lost with it, and listeners hear of it."""
        self.watches.clear()
        self.told += len(self.events)
        self.events.clear()
        self.hear([state])

    @property
    def unheard_since(self) -> float | None:
        """Since when the ensemble does not hear it: also if the worker is paused or dead."""
        return self._unheard_since

    @unheard_since.setter
    def unheard_since(self, since: float | None) -> None:
        self._unheard_since = since
        if since is None or self.over:
            self.ensemble.unheard.pop(self.number, None)
        else:
            self.ensemble.unheard[self.number] = self

    # -- what the worker knows ------------------------------------------------------------------------------------

    @property
    def usable(self) -> bool:
        return self.cut_since is None and not self.lost

    @property
    def expired(self) -> bool:
        since = self.cut_since
        return self.lost or (since is not None and self.ensemble.scheduler.now - since > self.session_ms / 1000)

    def _arrive(self) -> str:
        """What becomes of a call that reaches the ensemble; raises if it does not, or if the session is over by then."""
        ensemble = self.ensemble
        self.scheduler.step()
        if ensemble.unheard or self.cut_since is not None or self.over:
            self._must_be_heard()
        if not ensemble.network.rate:
            return ""
        fate = ensemble.network.fate("zookeeper")
        if self.over:  # meanwhile: the call was slow, and an ephemeral znode that it made now would stay for ever
            self._must_be_heard()
        return fate

    def _must_be_heard(self) -> None:
        if self.ensemble.unheard:
            self.ensemble.tick()
        if self.cut_since is not None:
            self.scheduler.sleep(0.05)
            raise ConnectionLoss
        if self.over:
            self.lost = True
            raise SessionExpiredError

    def _state(self) -> State:
        """A state that this session may see: never older than what it saw or wrote before."""
        if self._arrive() in ("lost", "unknown"):
            raise ConnectionLoss
        newest = len(self.ensemble.states) - 1
        if self.seen < newest:
            lags = self.ensemble.lag and self.scheduler.die() < self.ensemble.lag
            self.seen = self.scheduler.random.randint(self.seen, newest) if lags else newest
        return self.ensemble.states[self.seen]

    def _write(self, *operations: tuple) -> None:
        fate = self._arrive()
        if fate == "lost":
            raise ConnectionLoss
        self.ensemble.transact(self.number, list(operations))
        self.seen = len(self.ensemble.states) - 1
        if fate == "unknown":
            self.ensemble.scheduler.step()
            raise ConnectionLoss

    # -- mars.adapters.zookeeper ----------------------------------------------------------------------------------

    def get(self, path: str) -> Znode | None:
        node = self._state().get(path)
        return Znode(node.data, node.version) if node else None

    def get_synced(self, path: str) -> Znode | None:
        self.client.sync(path)
        return self.get(path)

    def children(self, path: str) -> list[str]:
        return children(self._state(), path)

    def ensure(self, path: str, data: bytes = b"") -> None:
        with contextlib.suppress(NodeExistsError):
            self._write(("create", path, data))

    def transact(self, *operations: tuple) -> bool:
        try:
            self._write(*operations)
        except (BadVersionError, NoNodeError, NodeExistsError):
            return False
        return True

    def settle(self) -> None:
        """Until all is told that is to be told by now."""
        wanted = self.told + self.telling + len(self.events)
        while self.told < wanted:
            self.scheduler.sleep(0.01)
            if self.lost or self.stopped:
                raise SessionExpiredError

    def stop(self) -> None:
        self.stopped = True
        self.notify()
        self.ensemble.expire(self.number)


class Answer(NamedTuple):
    """Stands for what kazoo gives for a call that is not waited for: it is there at once."""

    value: tuple[bytes, Node] | None
    error: Exception | None = None

    def get(self) -> tuple[bytes, Node]:
        if self.error is not None:
            raise self.error
        return self.value


class Client:
    """Stands for kazoo's client of a session: what the real code calls of it."""

    connected = True

    def __init__(self, session: ZooKeeper) -> None:
        self.session = session

    def sync(self, path: str) -> None:
        if self.session._arrive() in ("lost", "unknown"):
            raise ConnectionLoss
        self.session.seen = len(self.session.ensemble.states) - 1

    def add_listener(self, listener: Callable[[str], None]) -> None:
        self.session.listeners.append(listener)

    def _watched(self, kind: str, path: str, call: Callable | None) -> State:
        """The state that is read; a watch on it fires at once if there is a newer one already."""
        state = self.session._state()
        if call is not None:
            watch = Watch(kind, path, call)
            now = self.session.ensemble.now
            if state is not now and watch.sees(state) != watch.sees(now):
                self.session.hear([watch])
            elif watch not in (held := self.session.watches.setdefault((kind, path), [])):
                held.append(watch)
        return state

    def exists(self, path: str, watch: Callable | None = None) -> Node | None:
        return self._watched("data", path, watch).get(path)

    def get(self, path: str, watch: Callable | None = None) -> tuple[bytes, Node]:
        node = self._watched("data", path, watch).get(path)
        if node is None:
            raise NoNodeError
        return node.data, node

    def get_async(self, path: str, watch: Callable | None = None) -> Answer:
        try:
            return Answer(self.get(path, watch))
        except (NoNodeError, ConnectionLoss, SessionExpiredError) as error:
            return Answer(None, error)

    def get_children(self, path: str, watch: Callable | None = None) -> list[str]:
        return children(self._watched("children", path, watch), path)

    def set(self, path: str, data: bytes) -> None:
        self.session._write(("set", path, data, -1))

    def delete(self, path: str) -> None:
        self.session._write(("delete", path))

    def create(self, path: str, data: bytes, ephemeral: bool = False, makepath: bool = False,
               sequence: bool = False) -> str:
        self.session._write(("create", path, data, ephemeral, sequence))
        return self.session.ensemble.numbered if sequence else path
