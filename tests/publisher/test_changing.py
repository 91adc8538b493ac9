"""Rows that change, on a running Mars with real sinks: whatever dies meanwhile, pages, events and targets end with what the
tuples give, and no revision comes twice or in two forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import orjson
import pyarrow.parquet as pq
import pytest

from api.statements.dispatch import execute
from mars.results import event_ids
from mars.results.formats import rows as json_rows
from mars.results.formats import timestamp_text
from mars.results.tails import next_block, open_tail
from tests.cluster import Cluster
from tests.postgres import Postgres
from tests.publisher.consume import read
from tests.publisher.world import BASE_S, LONG_S, cluster_with_warehouse

pytestmark = [pytest.mark.services, pytest.mark.faults, pytest.mark.timeout(600)]
KEYS = ("a", "b", "c", "d", "e")
SELECT = "SELECT k, count(*) AS n, sum(v) AS total FROM {s} GROUP BY k WINDOWING 60 s WATERMARK 0 s IDLE OFF {clause}"
CLAUSES = {"changes": "EMIT CHANGES", "revised": "LATE UPDATE FOR 1 d"}


@pytest.fixture(scope="module")
def cluster(stack, postgres, tmp_path_factory) -> Iterator[Cluster]:
    with cluster_with_warehouse(stack, postgres, tmp_path_factory.mktemp("changing"), 1, 2, publishers=2) as made:
        yield made


class Changing:
    """A query whose rows change, with three sinks, and what was sent to it."""

    def __init__(self, cluster: Cluster, postgres: Postgres, kind: str) -> None:
        self.cluster, self.postgres, self.kind, self.name = cluster, postgres, kind, f"ch_{kind}"
        self.query, self.sent, self.event_id, self.events = f"{self.name}_q", Counter(), None, []
        cluster.create_topic(self.name, 2)
        cluster.sql(f"CREATE STREAM {self.name} (t BIGINT, k STRING, v INT) FROM KAFKA '{self.name}' FORMAT CSV TIMESTAMP t "
                    "UNIT s")
        cluster.sql(f"CREATE QUERY {self.query} AS {SELECT.format(s=self.name, clause=CLAUSES[kind])}")
        self.folder = cluster.folder / self.name
        targets = (f"POSTGRES wh TABLE 'public.{self.name}'", f"KAFKA TOPIC '{self.name}_out'",
                   f"PARQUET '{self.folder}' EVERY 100 ms OR 1 MB")
        for number, target in enumerate(targets):
            cluster.sql(f"CREATE SINK {self.name}_s{number} FROM {self.query} INTO {target}")

    def send(self, minute: int, count: int = 20) -> None:
        """Tuples of one minute."""
        lines = [(BASE_S + 60 * minute + number % 60, KEYS[number * 7 % len(KEYS)], number) for number in range(count)]
        for time, key, _ in lines:
            self.sent[(time - BASE_S) // 60, key] += 1
        self.cluster.produce((self.name, number % 2, f"{time},{key},{value}".encode())
                             for number, (time, key, value) in enumerate(lines))
        self.cluster.wait(lambda: self.cluster.has_read_all(self.query), LONG_S, "not read", [self.query])

    def follow(self) -> None:
        """All events that there are now, behind the last one that was read."""
        tail = open_tail(self.cluster.context.results, self.query, self.event_id, None, None)
        while (block := next_block(self.cluster.context.results, tail)) is not None:
            self.events += [tuple(row) for row in json_rows(block.table)]
            self.event_id = event_ids.dump(tail.query.shown_id, block.chunks[-1].behind, tail.selection)

    def shown(self) -> list[tuple]:
        """The rows that /results has."""
        return [tuple(row) for row in json_rows(self.cluster.rows(self.query))]

    def counts(self, rows: list[tuple]) -> dict[tuple, int]:
        """(window, key) -> tuples, in the newest row of each."""
        return {(row[0], row[2]): row[3] for row in rows}

    def wanted(self) -> dict[tuple, int]:
        """The same by what was sent, of all windows but the last one."""
        last = max(minute for minute, _ in self.sent)
        return {(timestamp_text((BASE_S + 60 * minute) * 1_000_000), key): count
                for (minute, key), count in self.sent.items() if minute < last}

    def in_kafka(self, topic: str = "out") -> list[tuple]:
        return [tuple(orjson.loads(value).values()) for _, value in read(self.cluster.config.kafka_address,
                                                                        f"{self.name}_{topic}")]

    def selected(self) -> list[tuple]:
        """What a SELECT over the query gives."""
        return [tuple(row) for row in json_rows(execute(self.cluster.context, f"SELECT * FROM {self.query}").table)]

    def in_files(self) -> list[tuple]:
        return [tuple(row) for path in sorted(self.folder.glob("*.parquet")) for row in json_rows(pq.read_table(path))]

    def in_postgres(self) -> list[tuple]:
        as_text = "to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
        columns = ", ".join([*map(as_text.format, ("window_start", "window_end")), "k, n, total",
                             "final" if self.kind == "changes" else "revision"])
        return self.postgres.rows(f"SELECT {columns} FROM {self.name}")


@pytest.mark.parametrize("kind", CLAUSES)
def test_rows_that_change_end_right_everywhere(cluster, postgres, kind) -> None:
    query = Changing(cluster, postgres, kind)
    for minute in range(4):
        query.send(minute)
        query.follow()
        if minute == 1:
            cluster.kill("reducer", 0)
            cluster.kill("publisher", 0)
        if minute == 2:
            cluster.flush_redis()
            cluster.kill("publisher", 1)
        if kind == "revised" and minute:
            query.send(minute - 1, 7)  # late: a window that has closed is revised
            query.follow()
    wanted = query.wanted()

    def is_there(rows: list[tuple]) -> bool:
        found = query.counts(rows)
        newest = {(row[0], row[2]): row for row in rows}
        ends = kind == "revised" or all(row[-1] for key, row in newest.items() if key in wanted)
        return ends and {key: found.get(key) for key in wanted} == wanted

    cluster.wait(lambda: is_there(query.shown()), LONG_S, f"pages have {query.shown()}, not {wanted}", [query.query])
    query.follow()
    assert is_there(query.events)
    for read_target in (query.in_kafka, query.in_files, query.in_postgres):
        cluster.wait(lambda read_target=read_target: is_there(sorted(read_target(), key=lambda row: (row[3], row[-1]))),
                     LONG_S, f"{read_target.__name__} has {read_target()}, not {wanted}", [query.query])
    assert len(query.in_postgres()) == len(query.counts(query.in_postgres())), "one row of each key"
    for rows in (query.in_kafka(), query.in_files(), query.events):
        versions = Counter((row[0], row[2], row[-1]) for row in rows if kind == "revised" or row[-1])
        assert set(versions.values()) == {1}, f"a revision, or a final row, came twice: {versions}"
    if kind == "revised":
        assert max(row[-1] for row in query.events) > 0
        assert sorted(query.in_kafka()) == sorted(query.in_files()) == sorted(query.events)
    else:
        assert any(not row[-1] for row in query.shown()), "the last window is open, and shown"
        assert not all(row[-1] for row in query.events)
    assert sorted(query.selected()) == sorted(query.shown())
    _begins_with_the_latest(query)


def _begins_with_the_latest(query: Changing) -> None:
    """A sink that is made now gets what changes from now on."""
    before = set(query.shown())
    query.cluster.sql(f"CREATE SINK {query.name}_late FROM {query.query} INTO KAFKA TOPIC '{query.name}_late' FROM LATEST")
    query.send(6)

    def later() -> bool:
        found = [row for row in query.in_kafka("late") if query.kind == "revised" or row[-1]]
        return {row[2] for row in found if row[0] == timestamp_text((BASE_S + 180) * 1_000_000)} == set(KEYS)

    query.cluster.wait(later, LONG_S, f"the sink has {query.in_kafka('late')}", [query.query])
    assert before.isdisjoint(query.in_kafka("late"))
