"""The server process: Spark's driver, the worker jobs and the API.

It takes two JSON lines on stdin: the configuration, with which Spark starts; and the same with all addresses, once the
services answer. It reports on stdout and ends when stdin closes or on SIGTERM.

Spark's JVM takes seconds to start, and so does loading the API. So the API is imported while Spark starts, and nothing
that Spark does not need is imported before.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO

from pyspark.sql import SparkSession

from api.instance import processes, spark_session
from api.instance.identity import Identity, admit, guard, hold, hold_first
from api.instance.jobs import Workers
from api.instance.services import ports
from api.instance.workforce import Workforce
from mars.adapters.changes import PATIENCE_S, answering
from mars.adapters.computability import require_computable
from mars.adapters.exchange import Exchange, ExchangeFullError
from mars.adapters.storage import Storage
from mars.adapters.zookeeper import ZOOKEEPER_AWAY, ZooKeeper
from mars.config import Config
from mars.errors import MarsError, NotReadyError
from mars.model import names
from mars.workers import KINDS, Kind

WORKERS_S = 180.0
STOP_S = 3.0


def run(events: IO[bytes], messages: Iterator[dict]) -> None:
    """Start all, then serve until the API ends."""
    first = Config.from_json(next(messages)["config"])
    # No daemon: an interpreter that ends in the middle of loading libraries may crash.
    threading.Thread(target=importlib.import_module, args=("api.rest.app",), name="imports").start()
    spark = spark_session.session(first)
    processes.tell(events, {"ready": f"spark {spark.version}", "detail": first.spark_master_url})
    # The services are still starting: time enough for Spark's Python daemon to load the kernels.
    threading.Thread(target=spark_session.run_task, args=(spark, "mars-warm", bool), daemon=True).start()
    config = Config.from_json(next(messages)["config"])
    processes.end_with_stdin()
    threading.Thread(target=end_with_spark, args=(spark,), name="spark-end", daemon=True).start()
    zookeeper = ZooKeeper(config.zookeeper_address, config.zookeeper_session_ms)
    identity = identify(config, zookeeper, is_redis_own=not first.redis_address)
    answering(zookeeper, lambda: forget_last_run(zookeeper), PATIENCE_S)
    workers = Workers(spark, config, lambda kind, slot: workforce.wants(kind, slot) and is_needed(zookeeper, kind))
    workforce = Workforce(zookeeper, config, workers.cancel)
    answering(zookeeper, workforce.look, PATIENCE_S)
    workers.start()
    ending = threading.Event()
    try:
        threading.Thread(target=guard, args=(config, identity, ending), name="guard", daemon=True).start()
        threading.Thread(target=workforce.run, args=(ending,), name="workforce", daemon=True).start()
        threading.Thread(target=announce, args=(events, config, zookeeper, lambda kind: workforce.counts[kind.plural]),
                         daemon=True).start()
        import mars.warm
        from api.rest.app import create_app, serve
        from api.statements.context import Context, connect
        # Otherwise the first reader of open windows would wait for kernels.
        threading.Thread(target=mars.warm.warm, daemon=True).start()
        serve(create_app(Context(config, connect(config), spark)), config)
    finally:
        ending.set()
        zookeeper.ensure(names.STOP)
        workers.stop(STOP_S)
        zookeeper.stop()


def identify(config: Config, zookeeper: ZooKeeper, is_redis_own: bool) -> Identity:
    """The instance that owns these services and this state. ConflictError if they do not belong to one instance, or if
    this code would change answers of its queries. A Redis that is away is checked later."""
    identity = admit(config, zookeeper, Storage(config.state_root))
    answering(zookeeper, lambda: require_computable(zookeeper), PATIENCE_S)
    with contextlib.suppress(NotReadyError, ExchangeFullError):
        (hold if is_redis_own else hold_first)(Exchange(config.redis_address), config, identity)
    return identity


def forget_last_run(zookeeper: ZooKeeper) -> None:
    """Remove the stop znode, the registrations of killed workers whose sessions have not run out yet, and what a killed
    change of the catalog has left."""
    zookeeper.transact(("delete", names.STOP))
    for folder in (*(kind.folder for kind in KINDS), names.CHANGES):
        for child in zookeeper.children(folder):
            zookeeper.transact(("delete", f"{folder}/{child}"))


def end_with_spark(spark: SparkSession) -> None:
    """End this process at once when Spark's JVM or its context has ended. Without them no worker starts again; the
    supervisor then starts everything again."""
    ended = spark_session.await_end(spark)
    logging.getLogger("mars.server").error("%s has ended, and the server with it; see logs/spark.log", ended)
    os._exit(1)


def announce(events: IO[bytes], config: Config, zookeeper: ZooKeeper, wanted: Callable[[Kind], int]) -> None:
    """Say that the instance is ready once as many workers have registered as are wanted, and the API answers; end it if
    they do not."""
    deadline = time.monotonic() + WORKERS_S
    for kind in (kind for kind in KINDS if kind.needed_by is None):
        while (there := registered(zookeeper, kind)) < (count := wanted(kind)):
            if time.monotonic() > deadline:
                processes.tell(events, processes.event(NotReadyError(
                    f"Only {there} of {count} {kind.plural} came up in {WORKERS_S:.0f} s",
                    hint=f"the reason is in {config.data / 'logs'}, in server.log and spark.out")))
                os.kill(os.getpid(), signal.SIGTERM)
                return
            time.sleep(0.05)
        processes.tell(events, {"ready": kind.plural, "detail": f"{count} on Spark"})
    while ports.is_free(config.api_port, config.api_host):
        time.sleep(0.05)
    url = api_url(config)
    processes.tell(events, {"ready": "api", "detail": f"{url}/docs"})
    processes.tell(events, {"api": url})


def is_needed(zookeeper: ZooKeeper, kind: Kind) -> bool:
    """Is there work for such workers? None is known of while ZooKeeper is away."""
    try:
        return kind.needed_by is None or bool(zookeeper.children(kind.needed_by))
    except ZOOKEEPER_AWAY:
        return False


def registered(zookeeper: ZooKeeper, kind: Kind) -> int:
    """How many workers have registered; none while ZooKeeper is away."""
    try:
        return len(zookeeper.children(kind.folder))
    except ZOOKEEPER_AWAY:
        return 0


def api_url(config: Config) -> str:
    """The URL by which this machine reaches the API: loopback if it listens on all addresses."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.api_host, config.api_host)
    scheme = "https" if config.api_tls_certificate else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{config.api_port}"


def main() -> None:
    """The process; exits with 1 after it has said why it cannot go on."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    events = processes.take_stdout()
    # Raise an exception, so that everything is stopped in order, wherever the signal comes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        run(events, processes.hear(sys.stdin.buffer))
    except MarsError as error:
        processes.tell(events, processes.event(error))
        logging.getLogger("mars.server").error("%s", error)
        sys.exit(1)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # all has stopped in order; a signal would only disturb the end


if __name__ == "__main__":
    main()
