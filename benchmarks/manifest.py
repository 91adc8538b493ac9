"""How large a commit's manifest is, and how long it takes to write, copy and read it.

`python -m benchmarks.manifest` makes manifests of one key part, whose queries have a position, a greatest event time and
a leader epoch for each partition, and no window that is open. Each commit writes one whole.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from mars.model.commits import Manifest, QueryCommit

SHAPES = ((8, 3), (64, 10), (64, 50), (256, 50))
OFFSET, EVENT_TIME_US, EPOCH = 10 ** 9, 1_764_000_000_000_000, 3
REPEATS = 5


@dataclass(frozen=True)
class Size:
    """A manifest of so many partitions and queries: its bytes, and the least ms of several tries."""

    partitions: int
    queries: int
    bytes: int
    dump_ms: float
    copy_ms: float
    load_ms: float


def manifest(partitions: int, queries: int) -> Manifest:
    """One with large offsets, as after a long time."""
    every = range(partitions)
    return Manifest(stream_id=1, key_part=0, commit=1, generation=1, queries={
        f"q{number}": QueryCommit(incarnation=1, positions={p: OFFSET + p for p in every},
                                  max_event_time={p: EVENT_TIME_US + p for p in every},
                                  leader_epochs={p: [(EPOCH, OFFSET + p)] for p in every})
        for number in range(queries)})


def measure(partitions: int, queries: int) -> Size:
    """One shape. What is read again is what was written, or it is an error."""
    made = manifest(partitions, queries)
    data = made.dump()
    if Manifest.load(data) != made:
        raise AssertionError("the manifest that is read is not the one that was written")
    return Size(partitions, queries, len(data), least_ms(made.dump),
                least_ms(lambda: {name: query.copy() for name, query in made.queries.items()}),
                least_ms(lambda: Manifest.load(data)))


def least_ms(step: Callable[[], object]) -> float:
    """Of REPEATS calls, by the clock."""
    taken = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        step()
        taken.append(time.perf_counter() - began)
    return round(min(taken) * 1e3, 2)


def describe(found: list[Size]) -> str:
    """The figures for people."""
    head = f"{'partitions':>10} {'queries':>8} {'bytes':>12} {'dump ms':>9} {'copy ms':>9} {'load ms':>9}"
    return "\n".join([head, *(f"{size.partitions:>10} {size.queries:>8} {size.bytes:>12,} {size.dump_ms:>9.2f} "
                              f"{size.copy_ms:>9.2f} {size.load_ms:>9.2f}" for size in found)])


def main() -> None:
    """The benchmark."""
    parser = argparse.ArgumentParser(prog="benchmarks.manifest", description=__doc__.splitlines()[0])
    parser.add_argument("--partitions", type=int, help="this shape alone, with --queries")
    parser.add_argument("--queries", type=int)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if (given.partitions is None) != (given.queries is None):
        parser.error("--partitions and --queries go together")
    shapes = SHAPES if given.partitions is None else ((given.partitions, given.queries),)
    found = [measure(*shape) for shape in shapes]
    print(json.dumps([asdict(size) for size in found]) if given.json else describe(found))


if __name__ == "__main__":
    main()
