"""Tuples over three partitions, two queries over them, and an independent count of what their answer must be."""

from __future__ import annotations

import random
from collections import Counter

from tests.cluster import Cluster

PARTITIONS = 3
TUPLES = 20_000
SECONDS = 600
BASE = 1_700_000_040 - 1_700_000_040 % 120
DISORDER_S = 4
LONG_S = 100

BY_KEY = "SELECT k, t, count(*), sum(v) FROM {s} GROUP BY k, t WINDOWING 60 s WATERMARK 5 s IDLE OFF"
BY_REST = ("SELECT v % 10 AS rest, count(*), count(DISTINCT k) AS keys, max(v) FROM {s} WHERE v >= 100 "
           "GROUP BY rest WINDOWING 2 min WATERMARK 5 s IDLE OFF")


class Workload:
    """One stream of CSV with event time t in seconds, key k and value v; one tuple in 97 does not read."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.name = cluster, name
        self.queries = [f"{name}_key", f"{name}_rest"]
        self.tuples = self._tuples(random.Random(name))
        self.produced = 0
        cluster.create_topic(name, PARTITIONS)
        cluster.sql(f"CREATE STREAM {name} (t BIGINT, k STRING, v BIGINT) FROM KAFKA '{name}' FORMAT CSV "
                    "TIMESTAMP t UNIT s")
        for query, select in zip(self.queries, (BY_KEY, BY_REST), strict=True):
            cluster.sql(f"CREATE QUERY {query} AS {select.format(s=name)}")

    def _tuples(self, rng: random.Random) -> list[tuple[int, str, int | None]]:
        """(t, k, v) in the order of production; v None is a tuple that does not read. The last ones close all windows."""
        made = []
        for i in range(TUPLES):
            time = BASE + i * SECONDS // TUPLES - rng.randint(0, DISORDER_S)
            made.append((max(time, BASE), f"k{min(int(rng.expovariate(0.1)), 60)}",
                         None if rng.randrange(97) == 0 else rng.randrange(1_000)))
        return made + [(BASE + SECONDS + 3_600, "end", 0)] * PARTITIONS

    def produce(self, share: float = 1.0) -> None:
        """Produce up to this share of all tuples."""
        end = round(len(self.tuples) * share)
        self.cluster.produce((self.name, i % PARTITIONS, f"{t},{k},{'bad' if v is None else v}".encode())
                             for i, (t, k, v) in enumerate(self.tuples[:end]) if i >= self.produced)
        self.produced = end

    def pause_and_resume(self) -> None:
        """Attach the first query anew, at its committed positions."""
        self.cluster.sql(f"PAUSE QUERY {self.queries[0]}")
        self.cluster.sql(f"RESUME QUERY {self.queries[0]}")

    def drop(self) -> None:
        """Drop the queries and the stream."""
        for query in self.queries:
            self.cluster.sql(f"DROP QUERY {query}")
        self.cluster.sql(f"DROP STREAM {self.name}")

    def wait_for_commit(self, tuples: int = 1) -> None:
        """Return once a commit holds so many tuples of the first query."""
        self.cluster.wait(lambda: self.cluster.snapshot(self.queries[0]).counters()["tuples"] >= tuples, LONG_S,
                          f"no commit of {tuples} tuples", self.queries)

    def check(self) -> int:
        """Wait until all is read and closed, then compare every row and counter. Returns the duplicates skipped."""
        by_key, by_rest = self.by_key(), self.by_rest()
        rows = self.cluster.rows
        for query, expected in zip(self.queries, (by_key, by_rest), strict=True):
            self._wait_for_rows(query, len(expected))
        assert _differences({(r["k"], r["t"]): (r["count"], r["sum"])
                             for r in rows(self.queries[0]).to_pylist()}, by_key) == {}
        assert _differences({(r["window_start"].timestamp(), r["rest"]): (r["count"], r["keys"], r["max"])
                             for r in rows(self.queries[1]).to_pylist()}, by_rest) == {}
        assert len(rows(self.queries[0])) == len(by_key)
        assert len(rows(self.queries[1])) == len(by_rest)
        counters = [self.cluster.snapshot(query).counters() for query in self.queries]
        skipped = [counter.pop("duplicates_skipped") for counter in counters]
        bad = sum(v is None for _, _, v in self.tuples)
        filtered = sum(v is not None and v < 100 for _, _, v in self.tuples)
        fixed = {"tuples": len(self.tuples), "bad": bad, "late": 0, "future": 0}
        assert counters == [{**fixed, "filtered": 0}, {**fixed, "filtered": filtered}]
        return sum(skipped)

    def _wait_for_rows(self, query: str, count: int) -> None:
        self.cluster.wait(lambda: self.cluster.has_read_all(query) and len(self.cluster.rows(query)) >= count, LONG_S,
                          f"{query} is not done", self.queries)

    def closed(self) -> list[tuple[int, str, int]]:
        """The tuples of windows that close."""
        return [(t, k, v) for t, k, v in self.tuples if v is not None and t < BASE + SECONDS]

    def by_key(self) -> dict[tuple, tuple]:
        """(k, window's start) -> (count, sum)."""
        count, total = Counter(), Counter()
        for t, k, v in self.closed():
            count[k, t // 60 * 60] += 1
            total[k, t // 60 * 60] += v
        return {key: (count[key], total[key]) for key in count}

    def by_rest(self) -> dict[tuple, tuple]:
        """(window's start, v % 10) -> (count, different keys, greatest v)."""
        groups: dict[tuple, list] = {}
        for t, k, v in self.closed():
            if v >= 100:
                groups.setdefault((t // 120 * 120, v % 10), []).append((k, v))
        return {key: (len(pairs), len({k for k, _ in pairs}), max(v for _, v in pairs)) for key, pairs in groups.items()}


def _differences(got: dict, expected: dict) -> dict:
    """Some of the keys whose values differ: key -> (got, expected)."""
    wrong = {key: (got.get(key), expected.get(key)) for key in got.keys() | expected.keys()
             if got.get(key) != expected.get(key)}
    return dict(list(wrong.items())[:5])
