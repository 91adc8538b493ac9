"""The table of workers' kinds: each has a setting, a place in ZooKeeper and something to run."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading

import pytest
from pyspark import cloudpickle

from api.instance import jobs
from api.instance.jobs import Workers, task
from mars.config import load
from mars.workers import KINDS, Kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_kind_is_whole(kind: Kind) -> None:
    assert callable(kind.load())
    config = load({kind.plural: 7}, environment={})
    threads = [name for name in Workers(None, config, lambda _kind, _slot: True).threads if kind.name in name]
    assert threads == [f"mars-{kind.name}-{slot}" for slot in range(7)]
    assert config.spark_master_url == f"local[{config.workers + 2}]"


def test_a_worker_is_submitted_only_while_its_kind_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publishers cost nothing until the first sink: no Spark job, and so no process."""
    submitted: queue.SimpleQueue[str] = queue.SimpleQueue()
    has_sinks, may_end, looked = threading.Event(), threading.Event(), threading.Event()

    def run_task(_spark: None, group: str, _task: object) -> None:
        submitted.put(group)
        may_end.wait(60)

    def is_wanted(kind: Kind, _slot: int) -> bool:
        if kind.needed_by is None:
            return True
        looked.set()
        return has_sinks.is_set()

    monkeypatch.setattr(jobs, "run_task", run_task)
    monkeypatch.setattr(jobs, "cancel", lambda *_: may_end.set())
    monkeypatch.setattr(jobs, "LOOK_S", 0.01)
    workers = Workers(None, load({"mappers": 1, "reducers": 1}, environment={}), is_wanted)
    workers.start()
    try:
        assert looked.wait(60)
        assert sorted(submitted.get(timeout=60) for _ in range(2)) == ["mars-mapper-0", "mars-reducer-0"]
        assert submitted.empty()
        has_sinks.set()
        assert submitted.get(timeout=60) == "mars-publisher-0"
    finally:
        workers.stop(0.0)
    for thread in workers.threads.values():
        thread.join(60)
        assert not thread.is_alive()


def test_kinds_register_apart() -> None:
    assert len({kind.folder for kind in KINDS}) == len(KINDS)


def test_a_task_imports_nothing_of_the_api() -> None:
    code = "import pickle, sys; pickle.load(sys.stdin.buffer); print([m for m in sys.modules if m.startswith('api')])"
    done = subprocess.run([sys.executable, "-c", code], input=cloudpickle.dumps(task(KINDS[0], "{}", 0)),
                          capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
