"""Redis as the exchange between mappers and reducers: each protocol step is one script in mars/lua, called here.

Every call carries the generation and is refused at any other (rule 4). A call may be repeated after an unknown
outcome: each is idempotent by claim and epoch, by request number, or by SEQ.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

import redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from mars.adapters.exchange_roles import LedStream, OwnedLog
from mars.errors import MarsError, NotReadyError, Remedy
from mars.model.claims import Claim
from mars.model.names import CHECKS, INSTANCE_KEY, Keys, channel

SCRIPTS = ("install", "attach", "detach", "facts", "claim", "mark", "renew", "register", "push", "receive", "trim", "weigh")

# Errors that pass: the server is being replaced, loads, saves or runs a long script.
PASSING = (redis.exceptions.ReadOnlyError, redis.exceptions.ClusterDownError, redis.exceptions.TryAgainError)
PASSING_CODES = frozenset({"NOREPLICAS", "MISCONF", "BUSY", "MASTERDOWN"})
IN_PIPELINE = " of pipeline caused error: "  # the library puts the command and these words before Redis's answer
FULL_SHARE = 0.85  # of Redis's limit: above it the leader makes room by pausing queries
WEIGHED = 200  # entries per call, so that no call blocks Redis for long


class StaleGenerationError(MarsError):
    """The exchange has another generation: what the caller holds of the old one is worthless (rule 4)."""

    remedy = Remedy.READ_AGAIN


class StaleEpochError(MarsError):
    """A newer leader, owner or request has been seen: the caller must step down."""

    remedy = Remedy.READ_AGAIN


class ExchangeFullError(MarsError):
    """Redis is at its memory limit: back off and try again; what frees memory still runs."""

    remedy = Remedy.RETRY


@dataclass(frozen=True)
class Standing:
    """What the leader compares with ZooKeeper: which server answers, (generation, server) as installed or None, and what
    is on the lanes: query id -> partition -> incarnation.

    A server's name is its run id and its replication id: a restart gives a new run id, and a fail-over a new replication
    id. So a server that was replaced and came back has another name too."""

    server: str
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

    def _call(self, script: str, stream_id: int, *arguments: bytes | str | float) -> Any:
        with self._translated():
            return self._scripts[script](keys=[Keys(stream_id).prefix], args=arguments)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """Translates Redis's errors into Mars's."""
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
              least: int = 1, rates: dict[str, float] | None = None, fronts_only: bool = False) -> Claim | None:
        """The next claim for `worker`, at most `most` offsets long and, if it is a new one, at least `least`; or None. The
        same request number gives the same claim again while it is held; a lower one is refused (StaleEpochError). `rates`:
        the most offsets a second of queries that have a limit. `fronts_only`: a new one is of a partition's front."""
        text = self._call("claim", stream_id, generation, worker, request, lease_ms, most, bound, key_parts,
                          json.dumps(ends), "" if stay is None else stay, int(allow_new), least,
                          json.dumps(rates) if rates else "", int(fronts_only))
        return Claim.load(text) if text else None

    def renew(self, stream_id: int, generation: int, claim: Claim, lease_ms: int, given: int | None = None) -> bool:
        """Hold the claim for another lease (0: give it back now). With a shorter lease than the claim has, a worker that
        lives on gives it back, and the range is not blamed for ending it. `given` is how often the claim then counts as
        given: a claim that is given for the third time is split. False if the claim is no longer the caller's."""
        return self._call("renew", stream_id, generation, claim.id, claim.epoch, lease_ms,
                          "" if given is None else given) == 1

    def mark(self, stream_id: int, generation: int, claim: Claim, stage: str) -> bool:
        """Note that the worker has nothing else at work and is now 'reading' or 'computing' the claim. False if the claim
        is no longer the caller's."""
        return self._call("mark", stream_id, generation, claim.id, claim.epoch, stage) == 1

    def register(self, stream_id: int, generation: int, claim: Claim, file: dict) -> bool:
        """Note the claim's local file. False if the claim is no longer the caller's."""
        return self._call("register", stream_id, generation, claim.id, claim.epoch, claim.start, claim.end,
                          json.dumps(file)) == 1

    def push(self, stream_id: int, generation: int, claim: Claim, tasks: dict[str, int],
             max_event_time: int | None, entries: list[tuple[bytes, bytes]]) -> int:
        """One entry, as `entries.encode` gives it, per key part, under one new SEQ, which is returned. 0 if these tasks
        were pushed already, or the claim was split or is gone."""
        flat = [part for entry in entries for part in entry]
        return int(self._call("push", stream_id, generation, claim.id, claim.start, claim.end,
                          json.dumps(tasks), "" if max_event_time is None else max_event_time, *flat))

    # -- reducers -----------------------------------------------------------------------------------------------

    def log(self, stream_id: int, *, generation: int, key_part: int, epoch: int) -> OwnedLog:
        """The log of a key part, for the owner of that epoch."""
        return OwnedLog(call=self._call, stream_id=stream_id, generation=generation, key_part=key_part, epoch=epoch)

    def ask_for_check(self, stream_id: int) -> None:
        """Wake the leader: a window waits for a check of the topic. The leader also looks now and then without it."""
        with self._translated():
            self.redis.publish(channel(CHECKS, stream_id), "")

    def least_positions(self, stream_id: int, key_parts: int) -> dict[tuple[int, str], int]:
        """(partition, query) -> the least committed position over all key parts, as far as Redis knows it."""
        with self._translated():
            pipe = self.redis.pipeline(transaction=False)
            for key_part in range(key_parts):
                pipe.hgetall(Keys(stream_id).positions(key_part))
            told = pipe.execute()
        least: dict[tuple[int, str], int] = {}
        for field in set(told[0]).intersection(*told[1:]):
            partition, query = field.decode().split(":")
            least[int(partition), query] = min(int(positions[field]) for positions in told)
        return least

    # -- leader -------------------------------------------------------------------------------------------------

    def lead(self, stream_id: int, *, generation: int, epoch: int) -> LedStream:
        """A stream, for the leader of that epoch."""
        return LedStream(call=self._call, stream_id=stream_id, generation=generation, epoch=epoch)

    def standing(self, stream_id: int, partitions: tuple[int, ...]) -> Standing:
        """The stream's state in Redis, as of one moment of one server."""
        keys = Keys(stream_id)
        with self._translated():
            pipe = self.redis.pipeline(transaction=False)
            pipe.info("server")
            pipe.info("replication")
            pipe.hmget(keys.generation, "generation", "server")
            for partition in partitions:
                pipe.hgetall(keys.lanes(partition))
            process, replication, (generation, server), *lanes = pipe.execute()
        attached: dict[str, dict[int, int]] = {}
        for partition, lane in zip(partitions, lanes, strict=True):
            for query, value in lane.items():
                attached.setdefault(query.decode(), {})[partition] = int(value.split(b":")[0])
        installed = (int(generation), server.decode()) if generation and server else None
        return Standing(f"{process['run_id']}:{replication['master_replid']}", installed, attached)

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
        """Mark this Redis as this instance's, unless it is marked. Returns the mark that it then has."""
        with self._translated():
            held: Any = self.redis.get(INSTANCE_KEY) or self.redis.set(INSTANCE_KEY, mark, nx=True, get=True)
        return held.decode() if held else mark

    def instance(self) -> str | None:
        """The instance that owns this Redis; None if it is not marked."""
        with self._translated():
            held: Any = self.redis.get(INSTANCE_KEY)
        return held.decode() if held else None

    def memory(self) -> tuple[int, int]:
        """Redis's used memory and its limit, in bytes; the limit is 0 if there is none."""
        with self._translated():
            info = self.redis.info("memory")
        return info["used_memory"], info["maxmemory"]

    def memory_share(self) -> float:
        """Used share of Redis's memory limit; 0 if there is no limit."""
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
