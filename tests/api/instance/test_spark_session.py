"""Spark runs a long task as one job, alone can cancel it, and says nothing on the terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from pyspark.sql import SparkSession

from api.instance.spark_session import await_end, cancel, run_task, session
from mars.config import load

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A path that is hard on command lines."""
    return tmp_path_factory.mktemp("spark") / "my \"\u00e9\" mars \U0001f680"


@pytest.fixture(scope="module")
def spark(data: Path) -> Iterator[SparkSession]:
    running = session(load({"data": data}, environment={}))
    yield running
    running.stop()


def test_its_log_lies_in_the_data_folder(spark: SparkSession, data: Path) -> None:
    assert (data / "logs" / "spark.log").exists()
    assert [path.name for path in data.parent.iterdir()] == [data.name]


def test_a_task_runs_our_python_in_a_process_of_its_own(spark: SparkSession) -> None:
    def where() -> tuple[str, int]:
        return sys.executable, os.getpid()
    executable, pid = run_task(spark, "where", where)
    assert executable == sys.executable
    assert pid != os.getpid()


def test_the_end_of_its_jvm_is_heard(spark: SparkSession) -> None:
    assert "java" in psutil.Process(spark.sparkContext._gateway.proc.pid).name()
    # The other tests need that one, so a stand-in is killed.
    process = subprocess.Popen(["sleep", "60"])
    stand_in = SimpleNamespace(sparkContext=SimpleNamespace(_gateway=SimpleNamespace(proc=process),
                                                            _jsc=spark.sparkContext._jsc))
    heard = threading.Thread(target=await_end, args=(stand_in,), daemon=True)
    heard.start()
    heard.join(0.3)
    assert heard.is_alive()
    process.kill()
    heard.join(60)
    assert not heard.is_alive()


def test_long_tasks_leave_room_for_short_ones(spark: SparkSession) -> None:
    """A local master has as many slots as it was started with: the publisher's is free until the first sink is made."""
    mappers, reducers, publishers, short = 2, 2, 1, 2
    assert spark.sparkContext.defaultParallelism == mappers + reducers + publishers + short


def test_a_fault_of_a_task_comes_back(spark: SparkSession) -> None:
    def fail() -> None:
        raise ValueError("no luck today")
    with pytest.raises(Exception, match="no luck today"):
        run_task(spark, "fail", fail)


def test_a_cancelled_task_is_gone_and_others_stay(spark: SparkSession, tmp_path: Path) -> None:
    def forever(file: Path) -> None:
        file.write_text(str(os.getpid()))
        while True:
            time.sleep(0.05)

    ended: list[str] = []

    def run(group: str) -> None:
        try:
            run_task(spark, group, lambda: forever(tmp_path / group))
        except Exception:
            ended.append(group)

    threads = [threading.Thread(target=run, args=(group,)) for group in ("first", "second")]
    for thread in threads:
        thread.start()
    pids = [_read_pid(tmp_path / group) for group in ("first", "second")]
    cancel(spark, "first")
    threads[0].join(60)
    psutil.wait_procs([psutil.Process(pids[0])] if psutil.pid_exists(pids[0]) else [], timeout=60)
    assert (ended, psutil.pid_exists(pids[0]), psutil.pid_exists(pids[1])) == (["first"], False, True)
    cancel(spark, "second")
    threads[1].join(60)
    assert ended == ["first", "second"]


def test_nothing_is_written_on_the_terminal(tmp_path: Path) -> None:
    """From its start to its end, in a process of its own: what else this one runs may write on its terminal."""
    code = ("import sys; from api.instance.spark_session import session; from mars.config import load\n"
            "spark = session(load({'data': sys.argv[1]}, environment={}))\n"
            "print(spark.sql('SELECT sum(id) FROM range(100)').collect()[0][0]); spark.stop()")
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == ("4950\n", "", 0)


def _read_pid(file: Path) -> int:
    deadline = time.monotonic() + 60
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return int(file.read_text())


def test_the_end_of_its_context_is_heard_though_the_jvm_lives(spark: SparkSession) -> None:
    """As when a master removes the application: no worker would ever start again. The last test, as none runs after it."""
    heard: list[str] = []
    thread = threading.Thread(target=lambda: heard.append(await_end(spark)), daemon=True)
    thread.start()
    thread.join(1.5)
    assert thread.is_alive()
    spark.sparkContext._jsc.sc().stop()
    thread.join(60)
    assert heard == ["Spark's context"]
    assert spark.sparkContext._gateway.proc.poll() is None
