"""Redis as the exchange between mappers and reducers: each protocol step is one script in mars/lua, called here.

Every call carries the generation and is refused at any other (rule 4). A call may be repeated after an unknown
outcome: each is idempotent by claim and epoch, by request number, or by SEQ.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib import resources

import redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from mars.errors import MarsError, NotReadyError
from mars.names import CHECKS, INSTANCE_KEY, Keys, channel

SCRIPTS = ("install", "attach", "detach", "facts", "claim", "mark", "renew", "register", "push", "receive", "trim", "weigh")

# Answers of a server that is being replaced, loads, saves or runs a long script.
PASSING = (redis.exceptions.ReadOnlyError, redis.exceptions.ClusterDownError, redis.exceptions.TryAgainError)
PASSING_CODES = frozenset({"NOREPLICAS", "MISCONF", "BUSY", "MASTERDOWN"})
IN_PIPELINE = " of pipeline caused error: "  # the library puts this, and the command before it, before Redis's answer
FULL_SHARE = 0.85  # of Redis's limit: above it the leader makes room by pausing queries
WEIGHED = 200  # entries a call, so that none blocks Redis for long


class StaleGenerationError(MarsError):
    """The exchange has another generation: whatever the caller holds of the old one is worthless (rule 4)."""


class StaleEpochError(MarsError):
    """A newer leader, owner or request has been seen: the caller must step down."""


class ExchangeFullError(MarsError):
    """Redis is at its memory limit: back off and try again; what frees memory still runs."""


@dataclass(frozen=True)
class Claim:
    """A range [start, end) of one partition with its frozen tasks (query id -> incarnation), held by `epoch` until the
    lease runs out. `now_ms` is Redis's time when the range was first claimed; `file` is the registered local file. `kills`:
    'reading' or 'computing' the range has ended each worker that had nothing else at work (rule 10), else ''. `grouped`:
    some of its tasks are done, so that it cannot be split."""

    id: int
    partition: int
    start: int
    end: int
    tasks: dict[str, int]
    epoch: int
    now_ms: int
    given: int
    file: dict | None
    kills: str = ""
    grouped: bool = False

    @property
    def is_suspect(self) -> bool:
        """Was it given before? Its holder may have ended because of it."""
        return self.given > 1


@dataclass(frozen=True)
class Entry:
    """One entry of a key part's log: its SEQ, its marker, and the cells of all its tasks."""

    seq: int
    marker: dict
    cells: bytes


@dataclass(frozen=True)
class Standing:
    """What the leader compares with ZooKeeper: the run id of the server now, (generation, run id) as installed or None,
    and what rides on the lanes: query id -> partition -> incarnation."""

    run_id: str
    installed: tuple[int, str] | None
    attached: dict[str, dict[int, int]]


class Exchange:
    """The Redis of the streams. Not fork-safe: make it inside the worker process. Thread-safe."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self.address = address
        self.redis = redis.Redis(host=host, port=int(port), socket_timeout=10, socket_connect_timeout=3,
                                 retry=Retry(ExponentialBackoff(cap=0.5, base=0.02), 3), health_check_interval=30)
        self._scripts = {name: self.redis.register_script(
            resources.files("mars").joinpath(f"lua/{name}.lua").read_text()) for name in SCRIPTS}

    def _call(self, script: str, stream_id: int, *arguments: object) -> object:
        with self._translated():
            return self._scripts[script](keys=[Keys(stream_id).prefix], args=arguments)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """Gives Redis's errors our names."""
        try:
            yield
        except redis.exceptions.OutOfMemoryError as error:
            raise ExchangeFullError("Redis is at its memory limit", self.address) from error
        except redis.exceptions.ResponseError as error:
            answer = str(error).rpartition(IN_PIPELINE)[2]
            if not isinstance(error, PASSING) and answer.partition(" ")[0] not in PASSING_CODES:
                raise _refusal(answer) or error from error
            # The address may lead to another server by now: connections that are open lead to the old one.
            self.redis.connection_pool.disconnect(inuse_connections=False)
            raise NotReadyError("Redis takes no writes", f"at {self.address}: {error}") from error
        except redis.exceptions.RedisError as error:
            raise NotReadyError("Redis does not answer", f"at {self.address}: {error}") from error

    # -- mappers ------------------------------------------------------------------------------------------------

    def claim(self, stream_id: int, generation: int, worker: str, request: int, *, lease_ms: int, most: int,
              bound: int, key_parts: int, ends: dict[int, int], stay: int | None, allow_new: bool,
              least: int = 1) -> Claim | None:
        """The next claim for `worker`, at most `most` offsets long and, if it is a new one, at least `least`; or None. The
        same request number gives the same claim again while it is held; a lower one is refused (StaleEpochError)."""
        text = self._call("claim", stream_id, generation, worker, request, lease_ms, most, bound, key_parts,
                          json.dumps(ends), "" if stay is None else stay, int(allow_new), least)
        if not text:
            return None
        raw = json.loads(text)
        return Claim(raw["id"], int(raw["partition"]), int(raw["start"]), int(raw["end"]),
                     {q: int(i) for q, i in raw["tasks"].items()}, raw["epoch"], int(raw["now"]), raw["given"],
                     raw.get("file"), raw.get("kills", ""), raw.get("grouped", False))

    def renew(self, stream_id: int, generation: int, claim: Claim, lease_ms: int, given: int | None = None) -> bool:
        """Hold the claim for another lease (0: give it back now). With a shorter lease than the claim has, a worker that
        lives on gives it back, and nobody takes the range for what ended it. `given` is how often it then counts as given:
        a claim that is given for the third time is split. False if it is not the caller's any more."""
        return self._call("renew", stream_id, generation, claim.id, claim.epoch, lease_ms,
                          "" if given is None else given) == 1

    def mark(self, stream_id: int, generation: int, claim: Claim, stage: str) -> bool:
        """Say that the worker has nothing else at work and is now 'reading' or 'computing' the claim. False if it is not
        the caller's any more."""
        return self._call("mark", stream_id, generation, claim.id, claim.epoch, stage) == 1

    def register(self, stream_id: int, generation: int, claim: Claim, file: dict) -> bool:
        """CLAIMED -> READY with a local file. False if the claim is not the caller's any more."""
        return self._call("register", stream_id, generation, claim.id, claim.epoch, claim.start, claim.end,
                          json.dumps(file)) == 1

    def push(self, stream_id: int, generation: int, claim: Claim, tasks: dict[str, int],
             max_event_time: int | None, entries: list[tuple[dict, bytes]]) -> int:
        """One entry (marker, cells) per key part, under one new SEQ, which is returned. 0: these tasks were pushed
        already, or the claim was given to another."""
        flat = [part for marker, cells in entries for part in (json.dumps(marker, separators=(",", ":")), cells)]
        return self._call("push", stream_id, generation, claim.id, claim.epoch, claim.start, claim.end,
                          json.dumps(tasks), "" if max_event_time is None else max_event_time, *flat)

    # -- reducers -----------------------------------------------------------------------------------------------

    def receive(self, stream_id: int, generation: int, key_part: int, after: int,
                bytes_max: int) -> tuple[dict[str, str], list[Entry]]:
        """The leader's facts, and the entries of a key part's log after a SEQ in SEQ order, up to about `bytes_max`."""
        facts, entries = self._call("receive", stream_id, generation, key_part, after, bytes_max)
        flat = [value.decode() for value in facts]
        return (dict(zip(flat[::2], flat[1::2], strict=True)),
                [Entry(int(id_.split(b"-")[0]), json.loads(fields[1]), fields[3]) for id_, fields in entries])

    def trim(self, stream_id: int, generation: int, key_part: int, epoch: int, seqs: list[int],
             positions: dict[tuple[int, str], int]) -> None:
        """Delete entries of which each live task is committed, and tell the committed (partition, query) positions."""
        self._call("trim", stream_id, generation, key_part, epoch, json.dumps(seqs),
                   json.dumps({f"{p}:{q}": offset for (p, q), offset in positions.items()}))

    def ask_for_check(self, stream_id: int) -> None:
        """Wake the leader: a window waits for a check of the topic. The leader looks now and then without it."""
        with self._translated():
            self.redis.publish(channel(CHECKS, stream_id), "")

    def least_positions(self, stream_id: int, key_parts: int,
                        of: Collection[tuple[int, str]] | None = None) -> dict[tuple[int, str], int]:
        """(partition, query) -> the least committed position over all key parts, as far as it has been told; of all, or of
        these."""
        fields = None if of is None else [f"{partition}:{query}" for partition, query in of]
        if fields == []:
            return {}
        with self._translated():
            pipe = self.redis.pipeline(transaction=False)
            for key_part in range(key_parts):
                key = Keys(stream_id).positions(key_part)
                pipe.hgetall(key) if fields is None else pipe.hmget(key, fields)
            told = pipe.execute()
        if fields is not None:
            told = [{field.encode(): position for field, position in zip(fields, positions, strict=True)
                     if position is not None} for positions in told]
        least: dict[tuple[int, str], int] = {}
        for field in set(told[0]).intersection(*told[1:]):
            partition, query = field.decode().split(":")
            least[int(partition), query] = min(int(positions[field]) for positions in told)
        return least

    # -- leader -------------------------------------------------------------------------------------------------

    def install(self, stream_id: int, generation: int, leader_epoch: int, run_id: str, state: dict) -> None:
        """Recovery: everything of the stream is replaced by `state`. The generation must have been raised before the
        commits were read of which `state` is made (rule 5)."""
        self._call("install", stream_id, generation, leader_epoch, run_id, json.dumps(state))

    def standing(self, stream_id: int, partitions: tuple[int, ...]) -> Standing:
        """How the stream stands here, as of one moment of one server."""
        keys = Keys(stream_id)
        with self._translated():
            pipe = self.redis.pipeline(transaction=False)
            pipe.info("server").hmget(keys.generation, "generation", "run_id")
            for partition in partitions:
                pipe.hgetall(keys.lanes(partition))
            server, (generation, run_id), *lanes = pipe.execute()
        attached: dict[str, dict[int, int]] = {}
        for partition, lane in zip(partitions, lanes, strict=True):
            for query, value in lane.items():
                if query != b"main":
                    attached.setdefault(query.decode(), {})[partition] = int(value.split(b":")[0])
        installed = (int(generation), run_id.decode()) if generation and run_id else None
        return Standing(server["run_id"], installed, attached)

    def attach(self, stream_id: int, generation: int, leader_epoch: int, query: str, incarnation: int,
               state: dict) -> None:
        """Give an incarnation of a query its lane: cursors, stops, nows by partition, and committed positions."""
        self._call("attach", stream_id, generation, leader_epoch, query, incarnation, json.dumps(state))

    def detach(self, stream_id: int, generation: int, leader_epoch: int, query: str,
               attached: dict[int, int]) -> None:
        """Take a query off the lanes where it was seen: partition -> incarnation."""
        self._call("detach", stream_id, generation, leader_epoch, query, json.dumps(attached))

    def publish_facts(self, stream_id: int, generation: int, leader_epoch: int, facts: dict[str, object]) -> None:
        """What the leader saw (rules 22, 23); values are written as text."""
        self._call("facts", stream_id, generation, leader_epoch,
                   *(part for field, value in facts.items() for part in (field, str(value))))

    def weigh(self, stream_id: int, generation: int, key_parts: int) -> dict[tuple[str, int], int]:
        """(query, incarnation) -> bytes of its cells in the logs, as they are while this reads them."""
        found: dict[tuple[str, int], int] = {}
        for key_part in range(key_parts):
            after = b"0"
            while after:
                after, flat = self._call("weigh", stream_id, generation, key_part, after.decode(), WEIGHED)
                for task, size in zip(flat[::2], flat[1::2], strict=True):
                    query, incarnation = task.decode().split(":")
                    found[query, int(incarnation)] = found.get((query, int(incarnation)), 0) + int(size)
        return found

    def forget(self, stream_id: int) -> None:
        """Delete every key of a dropped stream."""
        with self._translated():
            for key in self.redis.scan_iter(match=f"{Keys(stream_id).prefix}*"):
                self.redis.unlink(key)

    def hold(self, mark: str) -> str:
        """Mark this Redis, unless it is marked; the mark that it then has."""
        with self._translated():
            held = self.redis.get(INSTANCE_KEY) or self.redis.set(INSTANCE_KEY, mark, nx=True, get=True)
        return held.decode() if held else mark

    def instance(self) -> str | None:
        """Whose Redis this is, None if it is not marked."""
        with self._translated():
            held = self.redis.get(INSTANCE_KEY)
        return held.decode() if held else None

    def memory(self) -> tuple[int, int]:
        """Redis's used memory and its limit, in bytes; the limit is 0 where there is none."""
        with self._translated():
            info = self.redis.info("memory")
        return info["used_memory"], info["maxmemory"]

    def memory_share(self) -> float:
        """Used share of Redis's memory limit, 0 where there is none."""
        used, limit = self.memory()
        return used / limit if limit else 0.0


def _refusal(text: str) -> MarsError | None:
    kind, _, detail = text.partition(" ")
    if kind == "GENERATION":
        return StaleGenerationError("another generation is in the exchange", detail)
    if kind in ("EPOCH", "REQUEST"):
        return StaleEpochError("a newer leader, owner or request has been seen", detail)
    if kind == "OOM":
        return ExchangeFullError("Redis is at its memory limit")
    return None
