"""The throughput benchmark, at toy size: it runs whole, is exact, and tells the cost of each part."""

import os
from types import SimpleNamespace

import pytest

from api.cli.client import Client
from benchmarks import throughput
from benchmarks.throughput import NAME, STREAM, Measured, describe, measure
from mars import config as configuration

pytestmark = [pytest.mark.services, pytest.mark.e2e, pytest.mark.timeout(240)]
TOY = {"tuples": 40_000, "partitions": 2, "packed": 10}


def is_whole(found: Measured) -> None:
    assert found.exact, found.difference
    assert found.tuples_per_s > 0
    assert set(found.cpu_s_per_million) == {"mappers", "reducers", "redis", "kafka", "zookeeper", "driver"}
    assert min(found.peak_megabytes.values()) > 0
    assert "EXACT" in describe(found)


def test_a_toy_run_is_exact_and_tells_its_cost(running, monkeypatch):
    """On the instance that runs already: that it starts and stops is shown elsewhere."""
    run, config = running
    monkeypatch.setattr(throughput, "up", SimpleNamespace(detach=lambda *_: run, down=lambda _: None))
    try:
        is_whole(measure(config, **TOY))
    finally:
        with Client(run.api) as client:
            client.sql(f"DROP QUERY {NAME}")
            client.sql(f"DROP STREAM {STREAM}")


@pytest.mark.skipif(not os.environ.get("LONG_TESTS"), reason="starts one more instance: set LONG_TESTS=1")
@pytest.mark.parametrize("format_", ["csv", "json"])
def test_an_instance_of_its_own_takes_each_format(tmp_path, format_):
    config = configuration.load({"data": tmp_path, "mappers": 1, "reducers": 1}, environment={})
    is_whole(measure(config, **TOY, format_=format_))
