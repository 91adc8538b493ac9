"""A breach of an invariant, and what follows (rule 13): one recovery; after a second breach the query stops, named."""

from __future__ import annotations

import json

from mars.adapters.view import StreamView, stop_queries
from mars.adapters.zookeeper import ZooKeeper
from mars.errors import InvariantError
from mars.model import names

REPEAT_S = 600  # longer than the work of a recovery and all that may follow it; what comes later has another cause


def answer(zookeeper: ZooKeeper, view: StreamView, error: InvariantError) -> None:
    """Ask for a recovery. If one has followed another broken invariant of the stream within REPEAT_S, it does not help:
    then the query that the error names stops first, and the others go on."""
    path, now_s = names.broken(view.stream.id), zookeeper.clock.wall_ms() / 1000
    node = zookeeper.get(path)
    last = json.loads(node.data) if node and node.data else None
    if last and last["generation"] < view.generation and now_s - last["at_s"] < REPEAT_S and error.query:
        stop_queries(zookeeper, view.stream, [error.query], "INVARIANT_BROKEN",
                     f"{error}; a recovery {now_s - last['at_s']:.0f} s ago did not help, it had followed: {last['what']}. "
                     "State and results up to the last commit are kept; RESUME QUERY reads on from there")
    data = json.dumps({"generation": view.generation, "at_s": now_s, "what": str(error)}).encode()
    if node is None:
        zookeeper.ensure(path, data)
    elif last is None or last["generation"] < view.generation:  # several key parts may meet the same one
        zookeeper.transact(("set", path, data, node.version))
    zookeeper.ensure(names.recovery_request(view.stream.id), str(error).encode())
