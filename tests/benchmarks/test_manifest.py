"""The manifest's size: what is measured is a whole one, and it grows with partitions times queries alone."""

from benchmarks.manifest import describe, manifest, measure
from mars.model.commits import Manifest


def test_a_manifest_has_every_partition_of_every_query():
    made = manifest(partitions=5, queries=3)
    read = Manifest.load(made.dump())
    assert read == made
    assert len(read.queries) == 3
    for query in read.queries.values():
        assert set(query.positions) == set(query.max_event_time) == set(query.leader_epochs) == set(range(5))


def test_a_manifest_of_many_partitions_and_queries_stays_below_a_megabyte():
    most = measure(partitions=256, queries=50)
    assert most.bytes < 1_000_000
    assert min(most.dump_ms, most.copy_ms, most.load_ms) > 0
    assert f"{most.bytes:,}" in describe([most])
