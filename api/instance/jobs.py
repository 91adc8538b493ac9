"""The worker jobs: one Spark job of one task for each slot, submitted again when its worker has died."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable

from pyspark.sql import SparkSession

from api.instance.spark_session import cancel, run_task
from mars.config import Config
from mars.runtime.periods import Backoff
from mars.workers import KINDS, Kind

LOG = logging.getLogger("mars.jobs")
PAUSE_S, PAUSE_MAX_S = 0.2, 2.0  # before a slot gets another worker: one that dies at its start must not fill the log
LOOK_S = 0.5  # between looks whether a slot is wanted by now
HEALTHY_S = 10.0  # a worker that lived this long did not die at its start


def task(kind: Kind, config_json: str, slot: int) -> Callable[[], None]:
    """The body of a worker's task. The function is local, so it is sent by value: the worker then imports only what it
    runs, and nothing of the API."""
    def work() -> None:
        kind.load()(config_json, slot)

    return work


def reason_of(error: Exception) -> str:
    """What ended a worker, in one line: the last line of its Python traceback, else the first line from Spark."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt|Exit)\b", line)
              and not line.startswith(("org.", "java."))]
    return (raised or lines or [repr(error)])[-1 if raised else 0][:500]


class Workers:
    """Keeps a worker in every slot that there may be, from `start` to `stop`, by one thread a slot, as long as the slot
    `is_wanted`. A worker in a slot that is not wanted any more is asked to end by others (workforce.py)."""

    def __init__(self, spark: SparkSession, config: Config, is_wanted: Callable[[Kind, int], bool]) -> None:
        self.spark = spark
        self.is_wanted = is_wanted
        self.config_json = config.to_json()
        self.stopping = threading.Event()
        slots = [(kind, slot) for kind in KINDS for slot in range(config.most(kind))]
        self.threads = {_group(*place): threading.Thread(target=self._keep, args=place, daemon=True) for place in slots}

    def start(self) -> None:
        """Submit all slots."""
        for thread in self.threads.values():
            thread.start()

    def stop(self, patience_s: float) -> None:
        """Stop submitting, and cancel what has not ended by itself within `patience_s`."""
        self.stopping.set()
        deadline = time.monotonic() + patience_s
        for thread in self.threads.values():
            thread.join(max(0.0, deadline - time.monotonic()))
        for group, thread in self.threads.items():
            if thread.is_alive():
                cancel(self.spark, group)

    def cancel(self, kind: Kind, slot: int) -> None:
        """Kill the worker in a slot."""
        cancel(self.spark, _group(kind, slot))

    def _keep(self, kind: Kind, slot: int) -> None:
        group, backoff = _group(kind, slot), Backoff(PAUSE_S, PAUSE_MAX_S)
        while not self.stopping.is_set():
            if not self.is_wanted(kind, slot):
                self.stopping.wait(LOOK_S)
                continue
            began = time.monotonic()
            try:
                run_task(self.spark, group, task(kind, self.config_json, slot))
                LOG.info("%s returned", group)
            except Exception as error:  # whatever ended the worker, its slot gets a new one
                LOG.warning("%s died: %s", group, reason_of(error))
            if time.monotonic() - began > HEALTHY_S:
                backoff.reset()
            self.stopping.wait(backoff.begin())


def _group(kind: Kind, slot: int) -> str:
    """The name of a worker's job in Spark and in the log."""
    return f"mars-{kind.name}-{slot}"
