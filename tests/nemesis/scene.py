"""A small stream for a hunt: tuples come one message at a time, workers rest where the hunt says, and faults are exact.

Each message is one claim and one entry, whoever reads it. Every tuple is a row of its own, so that none can be missing or
twice unseen. Of the two reducers the one that leads is `leading`, the other one is `other`.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from confluent_kafka import Producer

from mars.model import names
from tests.nemesis import census
from tests.nemesis.instance import Instance
from tests.nemesis.oracle import Verdict
from tests.nemesis.proxy import PASS, Rule
from tests.nemesis.rest import Rest, TooSlowError
from tests.nemesis.stream import Stream
from tests.nemesis.tuples import Statistic

POLL_S, PATIENCE_S, SETTLES_S = 0.02, 15.0, 12.0
TUPLES = 12  # of a message: some in each key part
BEHIND_MS = 60_000
FIRST_ID = 7_000_000_000_001


@dataclass(frozen=True)
class Owner:
    """A reducer's process and its key part."""

    pid: int
    key_part: int


class Scene(Stream):
    """Made with one query, which has nothing to read yet, and both reducers at work."""

    def __init__(self, instance: Instance, name: str, partitions: int = 1, idle: str = "IDLE OFF") -> None:
        select = ("SELECT id, count(*) AS n, sum(v) AS total FROM {stream} GROUP BY id WINDOWING 1 s WATERMARK 1 s "
                  f"{idle} FROM EARLIEST")
        by_id = Statistic("by_id", select, 1_000, {"id": "id"}, {"n": "count(*)", "total": "sum(v)"})
        super().__init__(instance, name, (by_id,), partitions)
        self.query = self.queries["by_id"]
        self.producer = Producer({"bootstrap.servers": instance.kafka.load_address, "linger.ms": 0, "log_level": 0})
        self.redis, self.keys = instance.redis.client(), names.Keys(self.id)
        self.begin_ms = int(time.time()) * 1000 - BEHIND_MS
        self.next_id = FIRST_ID
        self.until(self._has_owners, "each reducer has a key part")
        owners = {self._owner(k): k for k in range(instance.config.key_parts)}
        leader = instance.leader()
        self.leading = Owner(leader, owners.pop(leader))
        [(pid, key_part)] = owners.items()
        self.other = Owner(pid, key_part)

    def until(self, condition: Callable[[], object], what: str, timeout_s: float = PATIENCE_S) -> None:
        """Wait for it."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                raise TooSlowError(f"not within {timeout_s:.0f} s: {what}")
            time.sleep(POLL_S)

    # -- tuples ---------------------------------------------------------------------------------------------------

    def produce(self, at_ms: int = 0, partition: int = 0, count: int = TUPLES) -> list[int]:
        """One message of `count` tuples, `at_ms` after the begin; their ids."""
        return self._send("k", self.begin_ms + at_ms, partition, count)

    def _send(self, key: str, t: int, partition: int, count: int) -> list[int]:
        ids = list(range(self.next_id, self.next_id + count))
        self.next_id += count
        self.producer.produce(self.name, "\n".join(f"{t},{id_},{key},1,{id_ % 97}" for id_ in ids), partition=partition)
        assert self.producer.flush(20) == 0
        return ids

    # -- who is where ---------------------------------------------------------------------------------------------

    def position(self, key_part: int, partition: int = 0) -> int:
        """Up to where a key part has committed."""
        commit = census.manifest(self.instance, self.id, key_part)
        return max((query.positions.get(partition, 0) for query in commit.queries.values()), default=0)

    def has_committed(self, owner: Owner, position: int, partition: int = 0) -> None:
        """Wait until a key part has committed so far."""
        self.until(lambda: self.position(owner.key_part, partition) >= position, f"{owner} has committed {position}")

    def rest(self, point: str, pid: int | None = None) -> Rest:
        """Let the next thread that comes to this point rest there; `pid`: of this process."""
        return Rest(self.instance, point, pid)

    def kill(self, pid: int) -> None:
        """SIGKILL; what the worker had registered goes at once, as if its session had ended."""
        self.instance.signal(pid, signal.SIGKILL)
        self.instance.unregister(pid)

    def replace(self, pid: int) -> None:
        """SIGKILL a reducer, and let its key part go to the one that comes in its place, not to the one that is there."""
        self.instance.signal(pid, signal.SIGKILL)
        slots = self.instance.config.reducers
        self.until(lambda: len(self.instance.workers("reducer").keys() - {pid}) == slots, "a reducer comes in its place")
        self.instance.unregister(pid)

    def cut(self, service: str, pid: int, rule: Rule) -> None:
        """Let a rule hold between one process and a service."""
        self.instance.servers[service].proxy.set(replace(rule, pids=frozenset([pid])))

    def heal(self, service: str) -> None:
        """All connections to it are as they should be."""
        self.instance.servers[service].proxy.set(PASS)

    def generation(self) -> int:
        """As Redis has it, 0 for none."""
        return int(self.redis.hget(self.keys.generation, "generation") or 0)

    def flush(self) -> None:
        """FLUSHALL, and wait until the leader has recovered the stream."""
        self.redis.flushall()
        self.until(self.generation, "the stream has been recovered")

    def _owner(self, key_part: int) -> int | None:
        node = self.instance.zk.get(names.owner(self.id, key_part))[0]
        owner = json.loads(node)["id"] if node else None
        return next((pid for pid, worker in self.instance.workers("reducer").items() if worker["id"] == owner), None)

    def _has_owners(self) -> bool:
        pids = {self._owner(k) for k in range(self.instance.config.key_parts)}
        return None not in pids and len(pids) > 1 and self.instance.leader() in pids

    # -- the end --------------------------------------------------------------------------------------------------

    def conclude(self) -> Verdict:
        """Close all windows, and compare with the topic. What was lost, or broke, is told as soon as it is seen."""
        for p in range(self.partitions):
            self._send("end", int(time.time() * 1000) - 100, p, 1)
        ends, deadline = self.ends(), time.monotonic() + SETTLES_S
        while not self.wait_for(ends, 1.0) and time.monotonic() < deadline:
            if found := census.broken(self.instance, self.id) + census.lost(self.instance, self.id):
                return Verdict(wrong=found + self.readers.broken)
        if self.readers.broken:
            return Verdict(wrong=list(self.readers.broken))
        return self.judge(self.instance.folder, 1.0, "FALSE")
