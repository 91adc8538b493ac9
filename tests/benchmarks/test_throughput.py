"""The throughput benchmark, at toy size: it runs whole, is exact, and tells the cost of each part."""

import os

import pytest

from benchmarks.throughput import describe, measure
from mars import config as configuration

LONG = pytest.mark.skipif(not os.environ.get("LONG_TESTS"), reason="starts one more instance: set LONG_TESTS=1")


@pytest.mark.services
@pytest.mark.e2e
@pytest.mark.timeout(240)
@pytest.mark.parametrize("format_", ["csv", pytest.param("json", marks=LONG)])
def test_a_toy_run_is_exact_and_tells_its_cost(tmp_path, format_):
    config = configuration.load({"data": tmp_path, "mappers": 1, "reducers": 1}, environment={})
    found = measure(config, tuples=40_000, partitions=2, packed=10, format_=format_)
    assert found.exact, found.difference
    assert found.tuples_per_s > 0
    assert set(found.cpu_s_per_million) == {"mappers", "reducers", "redis", "kafka", "zookeeper", "driver"}
    assert min(found.peak_megabytes.values()) > 0
    assert "EXACT" in describe(found)
