"""What a mapper's parts are handed by tests: connections that fail or answer as one likes, and a clock that is set."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from mapper.connections import Connections
from mapper.shared import Shared
from mars.config import Config
from mars.model.claims import Claim
from mars.runtime.system import SYSTEM
from tests.clock import ManualClock
from tests.plans import made

PLAN = replace(made(()), versions=())


class Exchange:
    """Stands for the exchange of one stream with one claim to give; keeps how it was renewed, as (lease in ms, given)."""

    def __init__(self, claim: Claim | None = None) -> None:
        self.to_give = claim
        self.renewed: list[tuple[int, int | None]] = []
        self.marked: list[str] = []

    def memory_share(self) -> float:
        return 0.0

    def claim(self, *_: object, **__: object) -> Claim | None:
        return self.to_give

    def renew(self, stream_id: int, generation: int, claim: Claim, lease_ms: int, given: int | None = None) -> bool:
        self.renewed.append((lease_ms, given))
        return True

    def mark(self, stream_id: int, generation: int, claim: Claim, stage: str) -> bool:
        self.marked.append(stage)
        return True


class ZooKeeper:
    """Stands for a session that sees no children and hears nothing; a query set cannot be changed while `error` is set."""

    usable = True

    def __init__(self) -> None:
        self.client = SimpleNamespace(add_listener=lambda listener: None, get_children=lambda path, watch: [])
        self.error: Exception | None = None

    def get_synced(self, path: str) -> None:
        if self.error is not None:
            raise self.error


class Spill:
    """Stands for the local files: none can be read; keeps what was deleted."""

    host = "here"

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.deleted: list[dict | None] = []

    def read(self, *_: object) -> None:
        if self.error is not None:
            raise self.error

    def write(self, *_: object) -> dict:
        return {"host": self.host, "path": "f"}

    def delete(self, file: dict | None) -> None:
        self.deleted.append(file)


class Reader:
    """Stands for a reader of Kafka: all reading raises `error`, and asking for ends `ends_error` if it is set; keeps how
    much was asked for at most."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.ends_error: Exception | None = None
        self.asked: list[float] = []

    def last_stable_offsets(self) -> dict[int, int]:
        if self.ends_error is not None:
            raise self.ends_error
        return {0: 1_000}

    def read(self, *_: object, range_bytes_max: float, **__: object) -> None:
        self.asked.append(range_bytes_max)
        raise self.error


def view(**queries: int) -> SimpleNamespace:
    """A stream with running queries: their incarnations by id."""
    known = {id_: SimpleNamespace(incarnation=i, state="RUNNING", plan=PLAN) for id_, i in queries.items()}
    return SimpleNamespace(stream=SimpleNamespace(id=1, name="s", key_parts=2), generation=1, rates={},
                           queries=SimpleNamespace(queries=known, running=lambda: known))


def shared(exchange: object, config: Config | None = None, clock: ManualClock | None = None,
           reader: Reader | None = None) -> Shared:
    """What a mapper's threads share, by its own constructor."""
    connections = Connections(ZooKeeper(), exchange, Spill(), None, lambda stream: reader)
    return Shared(config or Config(), 0, connections, replace(SYSTEM, clock=clock or ManualClock()))
