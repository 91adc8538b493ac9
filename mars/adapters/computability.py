"""Queries that this code must not compute, because another version made their cells (mars/computing.py)."""

from __future__ import annotations

import logging

from mars import computing
from mars.adapters.view import StreamView, stop_queries
from mars.adapters.zookeeper import ZOOKEEPER_AWAY, ZooKeeper
from mars.config import Config
from mars.errors import ConflictError
from mars.model import names
from mars.model.registry import Catalog, QuerySet

log = logging.getLogger("mars.computable")


def require_computable(zookeeper: ZooKeeper) -> None:
    """ConflictError if a running query would be computed differently by this code than by the code that created it.
    Paused queries do not matter: they cannot be resumed here."""
    catalog = zookeeper.get(names.CATALOG)
    found = []
    for stream in Catalog.load(catalog.data).streams.values() if catalog else ():
        node = zookeeper.get(names.queries(stream.id))
        for query in (QuerySet.load(node.data).running() if node else {}).values():
            found += [f"{query.name}: {part}" for part in computing.differences(query.plan, stream)]
    if found:
        raise ConflictError("This Mars would change answers of queries that run", ", ".join(found),
                            "start the Mars that created them again, and DROP or PAUSE them before this one starts; "
                            "then CREATE them anew here")


def admit_worker(config: Config) -> None:
    """`require_computable`, for a worker that is not registered yet and so has no work yet."""
    zookeeper = ZooKeeper(config.zookeeper_address, config.zookeeper_session_ms)
    try:
        require_computable(zookeeper)
    finally:
        zookeeper.stop()


def stop_uncomputable(zookeeper: ZooKeeper, view: StreamView) -> bool:
    """Quarantine each running query of the view that this code must not compute; True if there is any. The others go on.
    If ZooKeeper is away, a later call stops them."""
    reasons = {id_: reason for id_, query in view.queries.running().items()
               if (reason := computing.refusal(query.plan, view.stream))}
    for id_, reason in reasons.items():
        log.error("query %s stops: %s", id_, reason)
        try:
            stop_queries(zookeeper, view.stream, [id_], "QUARANTINED", reason)
        except ZOOKEEPER_AWAY as away:
            log.warning("a query is stopped later: %r", away)
    return bool(reasons)
