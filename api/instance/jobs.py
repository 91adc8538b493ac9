"""The worker jobs: one Spark job of one task for each mapper, reducer and publisher slot, submitted again when its
worker died. Publishers are submitted while there is a sink."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable

from pyspark.sql import SparkSession

from api.instance.spark_session import cancel, run_task
from mars.config import Config

LOG = logging.getLogger("mars.jobs")
PAUSE_S, PAUSE_MAX_S = 0.2, 2.0
HEALTHY_S = 10.0
SINKS_LOOK_S = 1.0


def task(kind: str, config_json: str, slot: int) -> Callable[[], None]:
    """The body of a worker's task. The functions are local, so that they travel by value: the worker then
    imports what it runs and nothing of the API."""
    def mapper() -> None:
        from mapper.job import run_mapper

        run_mapper(config_json, slot)

    def reducer() -> None:
        from reducer.job import run_reducer

        run_reducer(config_json, slot)

    def publisher() -> None:
        from mars.publisher.job import run_publisher

        run_publisher(config_json, slot)

    return {"mapper": mapper, "reducer": reducer, "publisher": publisher}[kind]


def reason_of(error: Exception) -> str:
    """What ended a worker, in a line: the last line of its Python traceback, else what Spark says first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt|Exit)\b", line)
              and not line.startswith(("org.", "java."))]
    return (raised or lines or [repr(error)])[-1 if raised else 0][:500]


class Workers:
    """Keeps a worker in every slot from `start` to `stop`, by one thread a slot. `has_sinks` says whether publishers are
    needed; it is asked each SINKS_LOOK_S while they are not."""

    def __init__(self, spark: SparkSession, config: Config, has_sinks: Callable[[], bool]) -> None:
        self.spark = spark
        self.has_sinks = has_sinks
        self.config_json = config.to_json()
        self.stopping = threading.Event()
        slots = [("mapper", slot) for slot in range(config.mappers)]
        slots += [("reducer", slot) for slot in range(config.reducers)]
        slots += [("publisher", slot) for slot in range(config.publishers)]
        self.threads = {f"mars-{kind}-{slot}": threading.Thread(target=self._keep, args=(kind, slot), daemon=True)
                        for kind, slot in slots}

    def start(self) -> None:
        """Submit all slots."""
        for thread in self.threads.values():
            thread.start()

    def stop(self, patience_s: float) -> None:
        """Submit nothing any more, and cancel what has not ended by itself within `patience_s`."""
        self.stopping.set()
        deadline = time.monotonic() + patience_s
        for thread in self.threads.values():
            thread.join(max(0.0, deadline - time.monotonic()))
        for group, thread in self.threads.items():
            if thread.is_alive():
                cancel(self.spark, group)

    def _keep(self, kind: str, slot: int) -> None:
        group, pause = f"mars-{kind}-{slot}", PAUSE_S
        while not self.stopping.is_set():
            while kind == "publisher" and not self.has_sinks():
                if self.stopping.wait(SINKS_LOOK_S):
                    return
            began = time.monotonic()
            try:
                run_task(self.spark, group, task(kind, self.config_json, slot))
                LOG.warning("%s returned", group)
            except Exception as error:  # whatever ended the worker, its slot gets a new one
                LOG.warning("%s died: %s", group, reason_of(error))
            pause = PAUSE_S if time.monotonic() - began > HEALTHY_S else min(PAUSE_MAX_S, pause * 2)
            self.stopping.wait(pause)
