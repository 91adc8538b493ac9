"""What goes wrong with one query, one tuple or one file stops what it must, says so, and harms nothing else."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlparse

import pytest

from mars.adapters.exchange import Exchange
from mars.errors import MarsError
from mars.model import names
from mars.model.commits import Manifest, Pointer, Segment
from tests.cluster import Cluster
from tests.faults.workload import BASE, Workload

pytestmark = [pytest.mark.services, pytest.mark.faults, pytest.mark.timeout(600)]
long = pytest.mark.skipif(not os.environ.get("LONG_TESTS"), reason="takes a minute: set LONG_TESTS=1")


@pytest.fixture(scope="module")
def cluster(stack, tmp_path_factory) -> Iterator[Cluster]:
    """One with small limits on what a query may hold."""
    made = Cluster(stack, tmp_path_factory.mktemp("cluster"), batch_tuples=500, run_tuples_max=1_000,
                   query_groups_max=30_000)
    try:
        made.wait_for_workers()
        yield made
    finally:
        made.close()


def state(cluster: Cluster, query: str) -> tuple[str, str]:
    found = cluster.context.catalog.query(query)[1]
    return found.state, found.reason


def stops(cluster: Cluster, query: str, wanted: str, timeout_s: float = 100) -> str:
    """Wait until the query is in the state; its reason."""
    cluster.wait(lambda: state(cluster, query)[0] == wanted, timeout_s, f"{query} is not {wanted}", [query])
    return state(cluster, query)[1]


@contextlib.contextmanager
def also(cluster: Cluster, load: Workload, name: str, select: str) -> Iterator[str]:
    """One more query over the workload, for a while."""
    query = f"{load.name}_{name}"
    cluster.sql(f"CREATE QUERY {query} AS {select.format(s=load.name)}")
    try:
        yield query
    finally:
        cluster.sql(f"DROP QUERY {query}")


# -- files ------------------------------------------------------------------------------------------------------------


def last_commit(cluster: Cluster, load: Workload, key_part: int) -> tuple[Path, Pointer, Manifest]:
    """The state folder, and what a key part's pointer names."""
    stream = cluster.context.catalog.stream(load.name)
    pointer = Pointer.load(cluster.context.zk.get(names.pointer(stream.id, key_part)).data)
    return Path(urlparse(cluster.config.state_root).path), pointer, cluster.context.storage.manifest(pointer)


@contextlib.contextmanager
def killed_reducers(cluster: Cluster) -> Iterator[None]:
    """The block sees and damages what nobody commits to any more: the reducers stand still, and are killed at its end. (A
    commit in between would be the last one, and what it keeps of the results in the damaged file is not made again.)"""
    with cluster.paused("reducer", 0), cluster.paused("reducer", 1):
        time.sleep(0.5)  # what they have sent to ZooKeeper by now is done
        yield
        for number in range(2):
            cluster.kill("reducer", number)


def flip(root: Path, segment: Segment) -> None:
    """Other bits in the middle of a segment."""
    path = root / segment.path
    data = bytearray(path.read_bytes())
    for at in range(segment.start + segment.length // 3, segment.start + segment.length // 2):
        data[at] ^= 0x5A
    path.write_bytes(data)


def test_damaged_files_of_the_last_commits_change_nothing(cluster, workload):
    """Of one key part the whole newest file, with results, state and manifest; of the other the oldest cells. Meanwhile a
    reader never sees fewer rows."""
    load = workload()
    load.produce(0.7)
    cluster.wait(lambda: all(cluster.has_read_all(query) for query in load.queries), 100, "not all read", load.queries)
    with killed_reducers(cluster):
        root, pointer, _ = last_commit(cluster, load, 0)
        data = bytearray((root / pointer.manifest.path).read_bytes())
        (root / pointer.manifest.path).write_bytes(bytes(byte ^ 0x5A for byte in data))
        _, _, manifest = last_commit(cluster, load, 1)
        flip(root, next(s for query in manifest.queries.values() for s in query.state))
    counts, done = [], threading.Event()

    def read() -> None:
        while not done.wait(0.1):
            with contextlib.suppress(MarsError):  # a refusal is no answer
                counts.append(len(cluster.rows(load.queries[0])))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        load.produce()
        load.check()
    finally:
        done.set()
        reader.join()
    assert counts, "nobody could read"
    assert counts == sorted(counts)
    reasons = [state(cluster, query)[1] for query in load.queries]
    assert any(pointer.manifest.path in reason for reason in reasons)
    assert all("fell back" in reason for reason in reasons if reason)


@long
def test_a_query_of_which_nothing_reads_is_named_and_the_others_go_on(cluster, workload):
    load = workload()
    load.produce(0.5)
    cluster.wait(lambda: all(cluster.has_read_all(query) for query in load.queries), 100, "not all read", load.queries)
    lost = cluster.context.catalog.query(load.queries[0])[1]
    kept = {}
    with killed_reducers(cluster):
        for k in range(2):
            root, pointer, manifest = last_commit(cluster, load, k)
            manifests = [manifest, *(cluster.context.storage.manifest(e) for e in pointer.earlier if e.manifest)]
            segments = {s for m in manifests if lost.id in m.queries for s in m.queries[lost.id].state}
            for segment in segments:  # each once: two turns would be none
                kept.setdefault(root / segment.path, (root / segment.path).read_bytes())
                flip(root, segment)
            # A commit from before the query's first tuples always reads: take it away, as if the stream were older.
            path = names.pointer(cluster.context.catalog.stream(load.name).id, k)
            queries = {e: cluster.context.storage.manifest(e).queries.get(lost.id) for e in pointer.earlier if e.manifest}
            earlier = tuple(e for e, query in queries.items() if query and query.state)
            real = Pointer(pointer.manifest, pointer.commit, earlier, pointer.published)
            cluster.context.zk.client.set(path, real.dump())
    reason = stops(cluster, load.queries[0], "STATE_LOST")
    assert "put the file back" in reason
    assert any(str(path).endswith(reason.split("checksum: ")[1].split(",")[0]) for path in kept)
    load.produce()
    load._wait_for_rows(load.queries[1], len(load.by_rest()))
    for path, data in kept.items():
        path.write_bytes(data)
    cluster.sql(f"RESUME QUERY {load.queries[0]}")
    load.check()


# -- tuples that kill ---------------------------------------------------------------------------------------------------


@long
def test_tuples_that_end_every_worker_are_isolated(cluster, workload):
    """One offset that cannot be read, one over which one query cannot be computed: the rest is exact."""
    load = workload()
    load.produce(0.3)
    cluster.wait(lambda: all(cluster.has_read_all(query) for query in load.queries), 100, "not all read", load.queries)
    ends = cluster.context.kafka.end_offsets(load.name, range(3))
    victim = cluster.context.catalog.query(load.queries[1])[1].id
    (cluster.orders / "poison.reading").write_text(f"0 {ends[0]}")
    (cluster.orders / f"poison.computing.{victim}").write_text(f"1 {ends[1]}")
    now = BASE + 600
    cluster.produce((load.name, p, f"{now},poison,{n}".encode()) for p, n in ((0, 1), (1, 1)))
    reason = stops(cluster, load.queries[1], "QUARANTINED", 500)
    assert f"partition 1, offset {ends[1]}" in reason
    cluster.wait(lambda: cluster.has_read_all(load.queries[0]), 100, "the other query stands", load.queries)
    snapshot = cluster.snapshot(load.queries[0])
    assert snapshot.bad_reasons()["reading it ended the worker process"] == 1
    (cluster.orders / f"poison.computing.{victim}").unlink()
    cluster.sql(f"RESUME QUERY {load.queries[1]}")
    cluster.wait(lambda: cluster.has_read_all(load.queries[1]), 100, "the quarantined query does not go on", load.queries)
    for query in load.queries:
        counters = cluster.snapshot(query).counters()
        assert counters["tuples"] == load.produced + 2, query
        assert cluster.snapshot(query).bad_reasons()["reading it ended the worker process"] == 1


# -- topics -------------------------------------------------------------------------------------------------------------


def test_queries_whose_topic_is_gone_stop_in_a_named_state_and_hold_no_other(cluster, workload):
    """Their reason tells which topic; windows of the other stream go on closing."""
    lost, load = workload(), workload()
    lost.produce(0.2)
    lost.wait_for_commit()
    cluster.delete_topic(lost.name)
    load.produce()
    for query in lost.queries:
        assert lost.name in stops(cluster, query, "DATA_LOSS")
    load.check()
    assert [state(cluster, query)[0] for query in load.queries] == ["RUNNING", "RUNNING"]


# -- limits -------------------------------------------------------------------------------------------------------------


def test_a_query_beyond_its_limit_stops_itself_and_harms_no_other(cluster, workload):
    load = workload()
    wide = "SELECT k, v, t, count(*) FROM {s} GROUP BY k, v, t WINDOWING 1 day WATERMARK 1 day IDLE OFF"
    with also(cluster, load, "wide", wide) as query:
        load.produce(0.3)
        cluster.produce((load.name, n % 3, f"{BASE},wide{n},{n % 1000}".encode()) for n in range(120_000))
        reason = stops(cluster, query, "LIMIT_EXCEEDED")
        assert "query_groups_max is 30,000" in reason
        held = int(reason.split(" holds ")[1].split(" groups")[0].replace(",", ""))
        assert 30_000 < held < 62_000
        cluster.wait(lambda: cluster.has_read_all(load.queries[0]), 100, "the small query stands", load.queries)
        assert cluster.snapshot(load.queries[0]).counters()["tuples"] == load.produced + 120_000


# -- Redis --------------------------------------------------------------------------------------------------------------


def hold_a_range(cluster: Cluster, load: Workload) -> None:
    """Claim a range as a worker does that then hangs: what follows it waits in the logs until its lease is over."""
    stream = cluster.context.catalog.stream(load.name)
    exchange, generation = Exchange(cluster.config.redis_address), cluster.context.zk.get(names.generation(stream.id))
    held = None
    while held is None:
        load.produce(min(0.9, load.produced / len(load.tuples) + 0.002))
        ends = cluster.context.kafka.end_offsets(load.name, range(3))
        held = exchange.claim(stream.id, int(generation.data), "test", time.monotonic_ns(), lease_ms=9_000, most=50,
                              bound=10**6, key_parts=stream.key_parts, ends=ends, stay=None, allow_new=True)


def test_a_full_redis_pauses_the_heaviest_query_which_goes_on_by_itself(cluster, workload):
    load = workload()
    heavy = "SELECT k, v, t, count(*), sum(v) FROM {s} GROUP BY k, v, t WINDOWING 10 s WATERMARK 5 s IDLE OFF"
    with also(cluster, load, "heavy", heavy) as query:
        load.produce(0.2)
        cluster.wait(lambda: cluster.has_read_all(query), 100, "not all read", [query])
        hold_a_range(cluster, load)
        load.produce(0.95)
        time.sleep(1.5)
        cluster.redis.config_set("maxmemory", int(cluster.redis.info("memory")["used_memory"] * 1.02))
        try:
            reason = stops(cluster, query, "PAUSED_BY_MEMORY")
            assert "cells of this query" in reason
            assert [state(cluster, name)[0] for name in load.queries] == ["RUNNING", "RUNNING"]
        finally:
            cluster.redis.config_set("maxmemory", 256 * 1024 * 1024)
        cluster.wait(lambda: state(cluster, query)[0] == "RUNNING", 100, "it does not go on", [query])
        load.produce()
        load.check()
        cluster.wait(lambda: cluster.has_read_all(query), 100, "it does not go on", [query])
        assert cluster.snapshot(query).counters()["tuples"] == len(load.tuples)
