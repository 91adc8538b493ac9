"""Spark, as Mars uses it: a session whose long tasks are the mapper and reducer workers, one job each."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from api.instance.services import java
from api.instance.services.jvm import ENVIRONMENT, LOG_OPTION
from api.instance.services.paths import begin, log_dir, tail
from mars.config import Config
from mars.errors import NotReadyError

# The JVM only schedules, the work is done in Python: the simplest collector and compiler start soonest.
_OPTIONS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]

END_LOOK_S = 1.0


def session(config: Config) -> SparkSession:
    """A session on the master that the configuration names; the only one of this process, ended by `stop()`.

    The JVM says nothing on the terminal: its warnings are in logs/spark.log, its output in logs/spark.out.
    Raises SetupError if Java is missing, NotReadyError with the last log lines if the session does not start.
    """
    logs = log_dir(config.data)
    is_local = config.spark_master_url.startswith("local")
    os.environ["JAVA_HOME"] = str(java.find(config).home)
    # Without these two, tasks run on whatever python3 comes first in the PATH.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # Not among the options, as Spark cuts those at blanks.
    os.environ |= {**ENVIRONMENT, "JVM_LOG_FILE": str(logs / "spark.log")}
    if is_local:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = SparkConf(loadDefaults=False).setAll(list(_settings(config).items()))
    output = logs / "spark.out"
    try:
        with begin(output) as stream:
            gateway = launch_gateway(settings, {"stdout": stream, "stderr": stream})
        context = SparkContext(gateway=gateway, conf=settings)
    except Exception as error:  # PySpark and py4j raise without a common class
        told = tail(logs / "spark.log") or tail(output)
        raise NotReadyError(f"Spark did not start on {config.spark_master_url}", f"{error}\n{told}".strip(),
                            f"the whole story is in {logs}") from error
    return SparkSession(context)


def run_task(spark: SparkSession, group: str, task: Callable[[], Any]) -> Any:
    """Runs `task()` in one Spark task and returns what it returns; blocks until the task ends.

    `task` is pickled with all that it holds, and is a job of its own in the job group `group`. The group
    belongs to the calling thread, so each long task needs one. Raises what Spark raises if it fails or is
    cancelled.
    """
    context = spark.sparkContext
    context.setJobGroup(group, group, interruptOnCancel=True)
    return context.parallelize([None], 1).map(lambda _none: task()).collect()[0]


def cancel(spark: SparkSession, group: str) -> None:
    """Cancels the running task of a group; returns at once. Its Python process is killed within a second."""
    spark.sparkContext.cancelJobGroup(group)


def await_end(spark: SparkSession) -> str:
    """Returns when the session's JVM has ended, as when it is killed or runs out of memory, or when the context in it has,
    as when a master removes the application: such a JVM lives on, and runs nothing any more. Which of the two it was."""
    context = spark.sparkContext
    gateway = context._gateway
    assert gateway is not None, "the session has been stopped here"
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            gateway.proc.wait(END_LOOK_S)
            return "Spark's JVM"
        with contextlib.suppress(Py4JError, OSError):  # the JVM may be ending just now
            if context._jsc.sc().isStopped():
                return "Spark's context"


def _settings(config: Config) -> dict[str, str]:
    memory = f"{config.spark_driver_memory_mb}m"
    settings = {
        "spark.app.name": "mars",
        "spark.master": config.spark_master_url,
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": " ".join([*_OPTIONS, LOG_OPTION]),
        "spark.ui.enabled": str(config.spark_ui).lower(),
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(config.data / "spark"),
        # One heap for all threads and for Arrow, which keeps its pages (mars.allocator): others give them back after
        # every batch, and faulting them in again was a tenth of the workers' time.
        "spark.executorEnv.MALLOC_ARENA_MAX": "1",
        "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
        "spark.sql.warehouse.dir": (config.data / "spark" / "warehouse").as_uri(),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.python.worker.reuse": "true",
        "spark.python.daemon.module": "api.instance.jobs_daemon",
        # A second attempt of a worker is a new worker, and only the supervisor starts one.
        "spark.speculation": "false",
        "spark.task.maxFailures": "1",
        # A cancelled task's process must be gone before another takes its place.
        "spark.task.reaper.enabled": "true",
        "spark.task.reaper.pollingInterval": "1s",
        "spark.task.reaper.threadDump": "false",
        "spark.python.task.killTimeout": "500ms",
    }
    if config.spark_master_url.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings
