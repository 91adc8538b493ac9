"""Many groups and many queries at once, exactly counted. Takes minutes: set LONG_TESTS=1."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.cluster import Cluster

pytestmark = [pytest.mark.services, pytest.mark.faults, pytest.mark.timeout(600),
              pytest.mark.skipif(not os.environ.get("LONG_TESTS"), reason="takes minutes: set LONG_TESTS=1")]
BASE, GROUPS, QUERIES, LINES = 1_700_000_040 - 1_700_000_040 % 120, 1_000_000, 200, 100


@pytest.fixture(scope="module")
def cluster(stack, tmp_path_factory) -> Iterator[Cluster]:
    made = Cluster(stack, tmp_path_factory.mktemp("cluster"), query_groups_max=2_000_000)
    try:
        made.wait_for_workers()
        yield made
    finally:
        made.close()


def make(cluster: Cluster, name: str) -> None:
    cluster.create_topic(name, 2)
    cluster.sql(f"CREATE STREAM {name} (t BIGINT, k BIGINT, v BIGINT) FROM KAFKA '{name}' FORMAT CSV TIMESTAMP t UNIT s")


def closed_rows(cluster: Cluster, query: str) -> pa.Table:
    """The rows of all closed windows, in no order."""
    snapshot = cluster.snapshot(query)
    return pa.concat_tables([piece.load() for piece in cluster.context.tables.closed(snapshot, snapshot.watermark_us)])


def test_a_million_groups_in_one_window_are_exact(cluster, fresh_name):
    """Each key comes twice, with different values; then the window closes."""
    name = fresh_name("million")
    make(cluster, name)
    query = f"{name}_q"
    cluster.sql(f"CREATE QUERY {query} AS SELECT k, count(*), sum(v) FROM {name} GROUP BY k "
                "WINDOWING 60 s WATERMARK 5 s IDLE OFF")
    keys = np.random.default_rng(7).permutation(2 * GROUPS) % GROUPS
    lines = [f"{BASE},{key},{number % 1000}" for number, key in enumerate(keys)]
    cluster.produce((name, n // LINES % 2, "\n".join(lines[n:n + LINES]).encode()) for n in range(0, len(lines), LINES))
    cluster.produce((name, p, f"{BASE + 3600},-1,0".encode()) for p in range(2))
    began = time.monotonic()
    cluster.wait(lambda: (cluster.snapshot(query).watermark or 0) > BASE + 60, 300, "the window stays open", [query])
    print(f"closed after {time.monotonic() - began:.1f} s")
    rows = closed_rows(cluster, query).sort_by("k")
    sums = np.zeros(GROUPS, np.int64)
    np.add.at(sums, keys, np.arange(len(keys)) % 1000)
    assert rows["k"].to_numpy().tolist() == list(range(GROUPS))
    assert pc.all(pc.equal(rows["count"], 2)).as_py()
    assert (rows["sum"].to_numpy() == sums).all()


def test_two_hundred_queries_at_once_and_one_beyond_its_limit(cluster, fresh_name):
    name = fresh_name("many")
    cluster.scale(2, 2, query_groups_max=40_000)
    make(cluster, name)
    queries = [f"{name}_{number}" for number in range(QUERIES)]
    for number, query in enumerate(queries):
        cluster.sql(f"CREATE QUERY {query} AS SELECT k % {number + 1} AS rest, count(*) FROM {name} GROUP BY rest "
                    "WINDOWING 60 s WATERMARK 5 s IDLE OFF")
    cluster.sql(f"CREATE QUERY {name}_wide AS SELECT k, v, t, count(*) FROM {name} GROUP BY k, v, t "
                "WINDOWING 1 day WATERMARK 1 day IDLE OFF")
    lines = [f"{BASE + number // 2000},{number},{number}" for number in range(100_000)]
    cluster.produce((name, n // LINES % 2, "\n".join(lines[n:n + LINES]).encode()) for n in range(0, len(lines), LINES))
    cluster.produce((name, p, f"{BASE + 3600},-1,0".encode()) for p in range(2))
    began = time.monotonic()
    cluster.wait(lambda: all(cluster.has_read_all(query) for query in queries[::40]), 400, "not all read", queries[:1])
    print(f"read by {QUERIES} after {time.monotonic() - began:.1f} s")
    cluster.wait(lambda: all((cluster.snapshot(query).watermark or 0) > BASE + 60 for query in queries), 60,
                 "a window stays open", queries[:1])
    for number in (0, 1, 99, 199):
        rows = closed_rows(cluster, queries[number])
        assert len(rows) == number + 1
        assert pc.sum(rows["count"]).as_py() == len(lines)
    found = cluster.context.catalog.query(f"{name}_wide")[1]
    assert found.state == "LIMIT_EXCEEDED", found.reason
