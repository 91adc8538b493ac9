"""EMIT FINAL TIMEOUT on real services: the clock closes the last windows, once all is read, and once for all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from api.statements.dispatch import execute
from mars.results.tails import next_block, open_tail
from tests.cluster import Cluster

pytestmark = [pytest.mark.services, pytest.mark.faults, pytest.mark.timeout(300)]
TIMEOUT_S, BASE, LONG_S = 3, 1_700_000_040, 60
SELECT = "SELECT k, count(*) AS n FROM {s} GROUP BY k WINDOWING 60 s WATERMARK 5 s IDLE OFF GRACE 2 s EMIT FINAL TIMEOUT 3 s"


@pytest.fixture
def query(cluster, fresh_name) -> Iterator[str]:
    """A query over a stream of two partitions, both of its name."""
    name = fresh_name("timed")
    cluster.create_topic(name, 2)
    cluster.sql(f"CREATE STREAM {name} (t BIGINT, k STRING) FROM KAFKA '{name}' FORMAT CSV TIMESTAMP t UNIT s")
    cluster.sql(f"CREATE QUERY q_{name} AS {SELECT.format(s=name)} FROM EARLIEST")
    yield name
    cluster.sql(f"DROP QUERY q_{name}")
    cluster.sql(f"DROP STREAM {name}")


def send(cluster: Cluster, name: str, *tuples: tuple[int, int, str]) -> None:
    """(partition, seconds after BASE, key) of each."""
    cluster.produce((name, partition, f"{BASE + t},{k}".encode()) for partition, t, k in tuples)


def rows(cluster: Cluster, name: str) -> list[tuple[int, str, int, bool]]:
    """(start of the window, key, count, timed_out) of what has closed."""
    return [(int(row["window_start"].timestamp()) - BASE, row["k"], row["n"], row["timed_out"])
            for row in cluster.rows(f"q_{name}").to_pylist()]


def comes(cluster: Cluster, name: str, wanted: list) -> None:
    cluster.wait(lambda: rows(cluster, name) == wanted, LONG_S, f"not {wanted}, but {rows(cluster, name)}", [f"q_{name}"])


def late(cluster: Cluster, name: str) -> int:
    return cluster.snapshot(f"q_{name}").counters()["late"]


def test_the_last_windows_close_without_a_further_tuple_and_a_later_one_is_late(cluster: Cluster, query: str) -> None:
    send(cluster, query, (0, 1, "a"), (0, 61, "a"), (1, 61, "b"), (0, 68, "a"), (1, 68, "b"))
    began = time.monotonic()
    wanted = [(0, "a", 1, False), (60, "a", 2, True), (60, "b", 2, True)]
    comes(cluster, query, wanted)
    assert time.monotonic() - began > TIMEOUT_S
    send(cluster, query, (0, 119, "a"), (1, 120, "b"))
    cluster.wait(lambda: late(cluster, query) == 1, LONG_S, "no tuple is late", [f"q_{query}"])
    comes(cluster, query, [*wanted, (120, "b", 1, True)])
    _shows(cluster, query)


def _shows(cluster: Cluster, query: str) -> None:
    """Events, SELECT and EXPLAIN of the same."""
    context = cluster.context
    tail, found = open_tail(context.results, f"q_{query}", None, None, None), []
    while (block := next_block(context.results, tail)) is not None:
        found += [(row["k"], row["timed_out"]) for row in block.table.to_pylist()]
    assert found == [("a", False), ("a", True), ("b", True), ("b", True)]
    answer = execute(context, f"SELECT count(*) AS n FROM q_{query} WHERE timed_out")
    assert answer.table["n"].to_pylist() == [3]
    lines = execute(context, f"EXPLAIN QUERY q_{query} WHY").table["plan"].to_pylist()
    assert any(line.startswith("emits       FINAL TIMEOUT 3 s:") for line in lines)
    assert any("for 3 s by the clock" in line for line in lines if line.startswith("next"))


def test_sinks_have_the_column_too(cluster: Cluster, query: str, tmp_path: Path) -> None:
    cluster.scale(2, 2, 1)
    cluster.sql(f"CREATE SINK sink_{query} FROM q_{query} INTO PARQUET '{tmp_path}' EVERY 1 s OR 1 MB")
    try:
        send(cluster, query, (0, 1, "a"), (0, 68, "a"), (1, 68, "b"))

        def delivered() -> list[tuple[str, bool]]:
            found = [row for path in tmp_path.glob("*.parquet") for row in pq.read_table(path).to_pylist()]
            return sorted((row["k"], row["timed_out"]) for row in found)

        wanted = [("a", False), ("a", True), ("b", True)]
        cluster.wait(lambda: delivered() == wanted, LONG_S, "not delivered", [f"q_{query}"])
    finally:
        cluster.sql(f"DROP SINK sink_{query}")
        cluster.scale(2, 2)


def test_the_clock_closes_nothing_that_is_not_read(cluster: Cluster, query: str) -> None:
    """Nobody reads the second tuples while the mappers stand still, for longer than TIMEOUT."""
    send(cluster, query, (0, 1, "a"), (1, 1, "b"))
    cluster.wait(lambda: cluster.snapshot(f"q_{query}").counters()["tuples"] == 2, LONG_S, "not read", [f"q_{query}"])
    with cluster.paused("mapper", 0), cluster.paused("mapper", 1):
        send(cluster, query, (0, 2, "a"), (1, 2, "b"))
        time.sleep(3 * TIMEOUT_S)
        assert rows(cluster, query) == []
    comes(cluster, query, [(0, "a", 2, True), (0, "b", 2, True)])
    assert late(cluster, query) == 0


@pytest.mark.parametrize("fault", ["reducers", "redis"])
def test_a_restart_begins_to_wait_again_and_keeps_what_is_closed(cluster: Cluster, query: str, fault: str) -> None:
    strikes: dict[str, Callable[[], object]] = {
        "reducers": lambda: [cluster.kill("reducer", number) for number in range(2)], "redis": cluster.flush_redis}
    send(cluster, query, (0, 1, "a"), (1, 1, "b"))
    time.sleep(TIMEOUT_S / 2)
    strikes[fault]()
    wanted = [(0, "a", 1, True), (0, "b", 1, True)]
    comes(cluster, query, wanted)
    strikes[fault]()
    send(cluster, query, (0, 2, "a"), (1, 2, "b"))
    cluster.wait(lambda: late(cluster, query) == 2, LONG_S, "they are not late", [f"q_{query}"])
    assert rows(cluster, query) == wanted
