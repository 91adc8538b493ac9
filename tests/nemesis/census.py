"""What stays behind of a stream that is idle, and of one that was dropped (I8); and what of its log is nowhere any more."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from kazoo.exceptions import NoNodeError

from mars.adapters.storage import Storage
from mars.model import names
from mars.model.commits import Manifest, Pointer
from mars.model.entries import decode
from mars.model.registry import QuerySet
from tests.nemesis.instance import Instance

PATIENCE_S, AGAIN_S = 20.0, 1.5
# A mapper that was killed leaves its files to the next one that starts; more than these for each must not gather.
SPILL_FILES_MAX = 40


def idle(instance: Instance, stream_id: int) -> list[str]:
    """Of a stream whose tuples are all committed: claims, leases, entries in logs, local files, workers that are not."""
    keys, client = names.Keys(stream_id), instance.redis.client()
    parts = range(instance.config.key_parts)

    def look() -> list[str]:
        counts = {"claims": client.hlen(keys.claims), "leases": client.zcard(keys.leases),
                  **{f"entries of key part {k}": client.xlen(keys.log(k)) for k in parts}}
        found = [f"{count} {what} in Redis" for what, count in counts.items() if count]
        for kind, path, slots in (("mappers", names.MAPPERS, instance.config.mappers),
                                  ("reducers", names.REDUCERS, instance.config.reducers)):
            if len(instance.zk.get_children(path)) != slots:
                found.append(f"{len(instance.zk.get_children(path))} {kind} in ZooKeeper for {slots} slots")
        return found

    spilled = len(list((instance.data / "spill").glob("*.arrow")))
    return _settled(look) + ([f"{spilled} local files"] if spilled > SPILL_FILES_MAX else [])


def dropped(instance: Instance, stream_id: int) -> list[str]:
    """Of a stream that was dropped: keys, znodes, files."""
    client = instance.redis.client()

    def look() -> list[str]:
        found = [f"the key {key.decode()}" for key in client.scan_iter(match=f"{names.Keys(stream_id).prefix}*", count=1000)]
        found += [names.stream(stream_id)] if instance.zk.exists(names.stream(stream_id)) else []
        folder = instance.data / "state" / str(stream_id)
        return found + ([f"the folder {folder.name} of its state"] if folder.exists() else [])

    return [f"after DROP STREAM: {what}" for what in _settled(look)[:3]]


def _settled(look: Callable[[], list[str]]) -> list[str]:
    """What is still found when it has had time to go."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := look()) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def lost(instance: Instance, stream_id: int) -> list[str]:
    """Offsets below a running query's cursor that are in no claim, no entry of a key part's log and no commit: nobody will
    ever bring them, whatever else goes on. What is on its way is in one of them, and what is lost stays so."""
    found = _uncovered(instance, stream_id)
    if found:
        time.sleep(AGAIN_S)
        found &= _uncovered(instance, stream_id)
    return [f"lost: offsets [{start}, {end}) of partition {p} are in no claim, no entry and no commit of key part {k}"
            for k, p, start, end in sorted(found)]


def broken(instance: Instance, stream_id: int) -> list[str]:
    """The invariant that a reducer of the stream found broken (rule 13). The recovery that follows makes the answer right
    again; but no fault excuses that there was one."""
    try:
        found = json.loads(instance.zk.get(names.broken(stream_id))[0])
    except NoNodeError:
        return []
    return [f"an invariant broke in generation {found['generation']}: {found['what']}"]


def manifest(instance: Instance, stream_id: int, key_part: int) -> Manifest:
    """The last commit of a key part."""
    pointer = Pointer.load(instance.zk.get(names.pointer(stream_id, key_part))[0])
    return Storage(instance.config.state_root).manifest(pointer) if pointer else Manifest(stream_id, key_part)


def _uncovered(instance: Instance, stream_id: int) -> set[tuple[int, int, int, int]]:
    """(key part, partition, start, end). Read in the order in which a range goes: cursors, claims, logs, commits."""
    keys, client, parts = names.Keys(stream_id), instance.redis.client(), range(instance.config.key_parts)
    queries = QuerySet.load(instance.zk.get(names.queries(stream_id))[0])
    lanes = {p: {name.decode(): value.decode() for name, value in client.hgetall(keys.lanes(p)).items()}
             for p in queries.partitions}
    claims = [json.loads(text) for text in client.hvals(keys.claims)]
    held = [(claim["partition"], claim["start"], claim["end"], claim["tasks"]) for claim in claims]
    found = set()
    for k in parts:
        headers = [decode(0, fields[b"m"], fields[b"c"]).header for _, fields in client.xrange(keys.log(k))]
        ways = held + [(header.partition, header.start, header.end, header.tasks) for header in headers]
        commits = manifest(instance, stream_id, k).queries
        for id_, query in queries.running().items():
            for p, first in query.start.items():
                at = commits[id_].positions.get(p, first) if id_ in commits else first
                cursor = int(lanes[p].get(id_, ":0").split(":")[1])
                ranges = [(start, end) for part, start, end, tasks in ways
                          if int(part) == p and tasks.get(id_) == query.incarnation]
                if hole := first_hole(at, cursor, ranges):
                    found.add((k, p, *hole))
    return found


def first_hole(at: int, end: int, ranges: list[tuple[int, int]]) -> tuple[int, int] | None:
    """The first offsets of [at, end) that none of the ranges covers."""
    for first, last in sorted(ranges):
        if first > at:
            break
        at = max(at, last)
    return (at, min([end, *(first for first, _ in ranges if first > at)])) if at < end else None
