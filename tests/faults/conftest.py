"""A running Mars for tests that kill parts of it; each file has one of its own, so that none inherits another's ruins."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.cluster import Cluster
from tests.faults.workload import Workload


@pytest.fixture(scope="module")
def cluster(stack, tmp_path_factory) -> Iterator[Cluster]:
    """Two mappers and two reducers, whose runs are short, so that each fault meets work under way."""
    made = Cluster(stack, tmp_path_factory.mktemp("cluster"), batch_tuples=500, run_tuples_max=1_000)
    try:
        made.wait_for_workers()
        yield made
    finally:
        made.close()


@pytest.fixture
def workload(cluster, fresh_name) -> Iterator[Callable[[], Workload]]:
    """Makes a stream with its queries; afterwards nothing is armed and no query runs."""
    made: list[Workload] = []

    def make() -> Workload:
        made.append(Workload(cluster, fresh_name("w")))
        return made[-1]

    yield make
    cluster.disarm()
    for each in made:
        each.drop()
