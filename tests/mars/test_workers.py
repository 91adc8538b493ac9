"""The table of workers' kinds: each has a setting, a place in ZooKeeper and something to run."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pyspark import cloudpickle

from api.instance.jobs import Workers, task
from mars.config import load
from mars.workers import KINDS, Kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_kind_is_whole(kind: Kind) -> None:
    assert callable(kind.load())
    config = load({kind.plural: 7}, environment={})
    threads = [name for name in Workers(None, config).threads if kind.name in name]
    assert threads == [f"mars-{kind.name}-{slot}" for slot in range(7)]
    assert config.spark_master_url == f"local[{config.workers + 2}]"


def test_kinds_register_apart() -> None:
    assert len({kind.folder for kind in KINDS}) == len(KINDS)


def test_a_task_imports_nothing_of_the_api() -> None:
    code = "import pickle, sys; pickle.load(sys.stdin.buffer); print([m for m in sys.modules if m.startswith('api')])"
    done = subprocess.run([sys.executable, "-c", code], input=cloudpickle.dumps(task(KINDS[0], "{}", 0)),
                          capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
