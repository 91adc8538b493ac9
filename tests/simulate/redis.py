"""A Redis of the simulation, and the Exchange that the real code gets: the scripts' twins behind a network that fails."""

from __future__ import annotations

import contextlib
from collections import defaultdict, deque
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import orjson

from mars.adapters import exchange
from mars.adapters.exchange import ExchangeFullError
from mars.errors import MarsError, NotReadyError
from mars.model.claims import Claim
from mars.model.entries import Entry, decode
from tests.simulate import claiming, scripts
from tests.simulate.fairness import Fairness
from tests.simulate.faults import ECHOED, LATE, LOST, REPEATED, UNKNOWN, Network
from tests.simulate.scheduler import Scheduler, Source

HISTORY = 8


class Server:
    """One server: the streams' keys, its run id, whether its memory is full, and states that it may go back to.

    `installed` maps a generation to the number of the run in which it was installed.
    """

    def __init__(self, scheduler: Scheduler, network: Network) -> None:
        self.scheduler, self.network = scheduler, network
        self.stores: dict[int, scripts.Store] = defaultdict(scripts.Store)
        self.history: deque[dict[int, scripts.Store]] = deque(maxlen=HISTORY)
        self.keeps = 0.0  # how often a call leaves such a state
        self.run_number, self.full, self.was_full = 1, False, False
        self.same_run_id = False
        self.installed: dict[int, int] = {}
        self.listeners: list[Wakeups] = []
        self.fairness: Fairness | None = None

    def publish(self, kind: str, stream_id: int) -> None:
        """A message to all who listen; some are lost."""
        for listener in self.listeners:
            if self.scheduler.die() < 0.9:
                listener.messages.append((kind, stream_id))
                listener.notify()

    def now_ms(self) -> int:
        """Redis's own time."""
        return int(self.scheduler.now * 1000)

    def keep(self) -> None:
        """Now and then a replica catches up."""
        if self.scheduler.die() < self.keeps:
            self.history.append({id_: scripts.copy(store) for id_, store in self.stores.items()})

    def run_id(self) -> str:
        """What stands for the server's name."""
        return f"run{1 if self.same_run_id else self.run_number}"

    def restart(self, empty: bool) -> None:
        """Everything is gone, or it is as it was some calls ago; the run id is another one in both cases."""
        self.run_number += 1
        self.stores.clear()
        if not empty and self.history:
            self.stores.update(self.scheduler.random.choice(self.history))
        self.history.clear()


class Exchange:
    """Stands for mars.adapters.exchange.Exchange, with the same methods."""

    address = "redis"

    def __init__(self, server: Server) -> None:
        self.server = server

    def _call(self, call: Callable[[], object], frees: bool = False) -> object:
        """One script and what may become of it; see faults.FATES."""
        server = self.server
        server.scheduler.step()
        fate = server.network.fate("redis") if server.network.rate else ""
        if fate in (LATE, ECHOED):
            server.network.late(partial(self._arrive_late, call, server.run_number))
        if fate in (LOST, LATE):
            raise NotReadyError("Redis does not answer", "lost on its way")
        if server.full and not frees:
            raise ExchangeFullError("Redis is at its memory limit", self.address)
        answer = call()
        if fate == REPEATED:
            answer = call()
        if server.keeps:
            server.keep()
        if fate == UNKNOWN:
            server.scheduler.step()
            raise NotReadyError("Redis does not answer", "the answer is lost")
        return answer

    def _arrive_late(self, call: Callable[[], object], run_number: int) -> None:
        """Connections do not outlive their server."""
        if self.server.run_number == run_number and not self.server.full:
            with contextlib.suppress(MarsError):
                call()

    # -- mappers ------------------------------------------------------------------------------------------------

    def claim(self, stream_id: int, generation: int, worker: str, request: int, **arguments: object) -> Claim | None:
        server = self.server

        def call() -> dict | None:
            store = server.stores[stream_id]
            give = partial(claiming.claim, store, generation, worker, request, server.now_ms(), server.run_id(), **arguments)
            return server.fairness.claim(store, arguments, give) if server.fairness else give()

        made = self._call(call, True)
        return made and Claim(made["id"], made["partition"], made["start"], made["end"], dict(made["tasks"]), made["epoch"],
                              made["given"], made["file"], made.get("kills", ""), made.get("grouped", False))

    def renew(self, stream_id: int, generation: int, claim: Claim, lease_ms: int, given: int | None = None) -> bool:
        return self._call(lambda: scripts.renew(
            self.server.stores[stream_id], generation, claim.id, claim.epoch, lease_ms, given, self.server.now_ms()), True)

    def mark(self, stream_id: int, generation: int, claim: Claim, stage: str) -> bool:
        return self._call(lambda: scripts.mark(
            self.server.stores[stream_id], generation, claim.id, claim.epoch, stage), True)

    def register(self, stream_id: int, generation: int, claim: Claim, file: dict) -> bool:
        return self._call(lambda: scripts.register(
            self.server.stores[stream_id], generation, claim.__dict__, file))

    def push(self, stream_id: int, generation: int, claim: Claim, tasks: dict[str, int], max_event_time: int | None,
             entries: list[tuple[bytes, bytes]]) -> int:
        seq = self._call(lambda: scripts.push(
            self.server.stores[stream_id], generation, claim.__dict__, tasks, max_event_time, entries))
        self.server.publish("entries", stream_id)
        return seq

    # -- reducers -----------------------------------------------------------------------------------------------

    def log(self, stream_id: int, *, generation: int, key_part: int, epoch: int) -> SimpleNamespace:
        """Stands for OwnedLog."""
        return SimpleNamespace(receive=partial(self.receive, stream_id, generation, key_part),
                               trim=partial(self.trim, stream_id, generation, key_part, epoch))

    def lead(self, stream_id: int, *, generation: int, epoch: int) -> SimpleNamespace:
        """Stands for LedStream."""
        return SimpleNamespace(**{name: partial(getattr(self, name), stream_id, generation, epoch)
                                  for name in ("install", "attach", "detach", "publish_facts")})

    def receive(self, stream_id: int, generation: int, key_part: int, after: int,
                bytes_max: int) -> tuple[dict[str, str], list[Entry]]:
        facts, found = self._call(lambda: scripts.receive(
            self.server.stores[stream_id], generation, key_part, after), True)
        few = found[:1 + int(self.server.scheduler.die() * 4)]
        return facts, [decode(*entry) for entry in few]

    def trim(self, stream_id: int, generation: int, key_part: int, epoch: int, seqs: list[int],
             positions: dict[tuple[int, str], int]) -> None:
        self._call(lambda: scripts.trim(
            self.server.stores[stream_id], generation, key_part, epoch, seqs, positions), True)

    def least_positions(self, stream_id: int, key_parts: int) -> dict[tuple[int, str], int]:
        told = self._call(lambda: [dict(self.server.stores[stream_id].positions[k]) for k in range(key_parts)],
                          True)
        return {name: min(positions[name] for positions in told) for name in set(told[0]).intersection(*told[1:])}

    # -- leader -------------------------------------------------------------------------------------------------

    def install(self, stream_id: int, generation: int, leader_epoch: int, server: str, state: dict) -> None:
        state = orjson.loads(orjson.dumps(state))

        def call() -> None:
            scripts.install(self.server.stores[stream_id], generation, leader_epoch, server, state)
            self.server.installed[generation] = self.server.run_number

        self._call(call, True)

    def attach(self, stream_id: int, generation: int, leader_epoch: int, query: str, incarnation: int, state: dict) -> None:
        self._call(lambda: scripts.attach(
            self.server.stores[stream_id], generation, leader_epoch, query, incarnation, state))

    def detach(self, stream_id: int, generation: int, leader_epoch: int, query: str, attached: dict[int, int]) -> None:
        self._call(lambda: scripts.detach(
            self.server.stores[stream_id], generation, leader_epoch, query, attached), True)

    def publish_facts(self, stream_id: int, generation: int, leader_epoch: int, facts: dict[str, object]) -> None:
        self._call(lambda: scripts.facts(self.server.stores[stream_id], generation, leader_epoch, facts), True)
        if "done" in facts:
            self.server.publish("entries", stream_id)

    def ask_for_check(self, stream_id: int) -> None:
        self._call(lambda: self.server.publish("checks", stream_id), True)

    def standing(self, stream_id: int, partitions: tuple[int, ...]) -> exchange.Standing:
        """One connection's answers, one after the other, of which none is lost alone."""
        return self._call(lambda: self._standing(stream_id, partitions), True)

    def _standing(self, stream_id: int, partitions: tuple[int, ...]) -> exchange.Standing:
        server = self.server
        store = server.stores[stream_id]
        attached: dict[str, dict[int, int]] = {}
        for p in partitions:
            for query, (incarnation, _) in store.lanes[p].items():
                attached.setdefault(query, {})[p] = incarnation
        known = store.generation
        return exchange.Standing(server.run_id(), (known["generation"], known["server"]) if known else None, attached)

    def forget(self, stream_id: int) -> None:
        self._call(lambda: self.server.stores.pop(stream_id, None), True)

    def memory(self) -> tuple[int, int]:
        return self._call(lambda: (90, 100) if self.server.full else (10, 100), True)

    def weigh(self, stream_id: int, generation: int, key_parts: int) -> dict[tuple[str, int], int]:
        return self._call(lambda: scripts.weigh(self.server.stores[stream_id], generation, key_parts), True)

    def memory_share(self) -> float:
        return self._call(lambda: 0.9 if self.server.full else 0.1, True)


class Wakeups(Source):
    """Stands for mars.adapters.wakeups.Wakeups: messages that may be lost, told in a thread of its own."""

    def __init__(self, server: Server, heard: Callable[[str, int | None], None]) -> None:
        super().__init__(server.scheduler)
        self.server, self.heard, self.closed = server, heard, False
        self.messages: list[tuple[str, int | None]] = [("entries", None), ("checks", None)]
        self.server.listeners.append(self)
        node = self.scheduler.current.node
        self.scheduler.spawn(f"{node} wakeups", node, self._run)

    def close(self) -> None:
        self.closed = True
        self.notify()

    def _run(self) -> None:
        try:
            while not self.closed:
                if not self.messages:
                    self.scheduler.sleep(60.0, self)
                while self.messages:
                    self.heard(*self.messages.pop(0))
        finally:
            self.server.listeners.remove(self)
