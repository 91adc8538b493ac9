"""A leader that was deposed and does not know it has no say in a statement: its end stands still.

Broker 1 led the partition and hears no controller any more; broker 2 leads it and has taken records since.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from api.statements import adhoc_job, context
from api.statements.context import Connections, connect
from mars.adapters.kafka import cluster
from mars.adapters.kafka.cluster import TopicInfo
from mars.config import Config, load
from tests.mars.adapters.kafka.test_wire import ID, Cluster

STREAM = SimpleNamespace(topic="t", topic_id=ID)


@pytest.fixture
def brokers(monkeypatch) -> Cluster:
    found = Cluster(_1=(ID, 1, 5), _2=(ID, 2, 6))
    found.ends = {1: 50, 2: 80}
    monkeypatch.setattr(cluster, "find", lambda *_: found)
    return found


@pytest.fixture
def config(tmp_path) -> Config:
    return load({"data": str(tmp_path)}, environment={})


@pytest.fixture
def connections(brokers, config, monkeypatch) -> Connections:
    monkeypatch.setattr(context, "ZooKeeper", lambda *_: None)
    return connect(config)


def test_a_select_alone_and_a_start_at_latest_end_where_the_new_leader_does(connections):
    assert connections.kafka.describe("t") == TopicInfo("t", ID, {0: (2, 6)})
    assert connections.kafka.end_offsets("t", [0]) == {0: 80}
    assert connections.kafka.offsets_at("t", [0], 1) == {0: 80}


def test_a_lag_counts_what_the_new_leader_has_taken(connections):
    assert connections.ends.read(STREAM, [0]) == {0: 80}


def test_a_task_of_a_select_alone_reads_from_the_new_leader(brokers, config):
    reader = adhoc_job._reader(config, STREAM)
    brokers.asked.clear()
    assert reader.read(0, 80, 100, 1 << 20).end == 100
    assert set(brokers.asked) == {2}
