"""What stays behind: of a stream that is idle, and of one that was dropped (I8)."""

from __future__ import annotations

import time
from collections.abc import Callable

from mars import names
from tests.nemesis.instance import Instance

PATIENCE_S = 20.0
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
