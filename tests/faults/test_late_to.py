"""LATE TO on real services: each late tuple is there once, with its place and windows, whatever dies meanwhile."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from api.statements.dispatch import execute
from mars.errors import ConflictError, NotFoundError
from tests.cluster import Cluster

pytestmark = [pytest.mark.services, pytest.mark.faults, pytest.mark.timeout(300)]
BASE, LONG_S, PARTITIONS = 1_700_000_040, 60, 2
SELECT = ("SELECT k, count(*) AS n FROM {s} WHERE v > 0 GROUP BY k WINDOWING 60 s EVERY 30 s WATERMARK 5 s IDLE OFF "
          "LATE TO late_{s} FROM EARLIEST")
Row = tuple[int, int, int, int, int, str, int]  # partition, offset, first start, last end, windows, k, v


@pytest.fixture
def query(cluster, fresh_name) -> Iterator[str]:
    """A query over a stream of two partitions, both of its name."""
    name = fresh_name("kept")
    cluster.create_topic(name, PARTITIONS)
    cluster.sql(f"CREATE STREAM {name} (t BIGINT, k STRING, v INT) FROM KAFKA '{name}' FORMAT CSV TIMESTAMP t UNIT s")
    cluster.sql(f"CREATE QUERY q_{name} AS {SELECT.format(s=name)}")
    yield name
    cluster.disarm()
    cluster.sql(f"DROP QUERY IF EXISTS q_{name}")
    cluster.sql(f"DROP STREAM {name}")


class Sent:
    """What a test has sent: the number of records of each partition, and the rows that late ones must give."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.name, self.counts, self.late = cluster, name, [0] * PARTITIONS, list[Row]()

    def send(self, *tuples: tuple[int, int, str, int], late: bool = False) -> None:
        """(partition, seconds after BASE, key, value) of each; those without a value above 0 are filtered."""
        self.cluster.produce((self.name, p, f"{BASE + t},{k},{v}".encode()) for p, t, k, v in tuples)
        for p, t, k, v in tuples:
            first = t // 30 * 30 - 30
            self.late += [(p, self.counts[p], first, first + 90, 2, k, v)] if late and v > 0 else []
            self.counts[p] += 1

    def wait(self) -> None:
        """Until all is read."""
        self.cluster.wait(lambda: self.cluster.has_read_all(f"q_{self.name}"), LONG_S, "not all is read", [f"q_{self.name}"])

    def advance(self, to: int) -> None:
        """Close all windows up to there."""
        self.send(*((p, to, "clock", 1) for p in range(PARTITIONS)))
        watermark = BASE + to - 5
        self.cluster.wait(lambda: (self.cluster.snapshot(f"q_{self.name}").watermark or 0) >= watermark, LONG_S,
                          "the watermark does not come", [f"q_{self.name}"])


def shown(cluster: Cluster, name: str, statement: str = "SHOW LATE FROM late_{s} LIMIT 10000") -> list[Row]:
    rows = execute(cluster.context, statement.format(s=name)).table.to_pylist()
    return [(row["partition"], row["offset"], int(row["window_start"].timestamp()) - BASE,
             int(row["window_end"].timestamp()) - BASE, row["windows"], row["k"], row["v"]) for row in rows]


def test_late_tuples_are_shown_with_their_places_and_windows(cluster: Cluster, query: str) -> None:
    sent = Sent(cluster, query)
    sent.send((0, 0, "a", 1), (1, 0, "b", 1))
    sent.wait()
    answer = execute(cluster.context, f"SHOW LATE FROM LATE_{query}")
    assert answer.extra["reason"] == f"No tuple of q_{query} has come too late."
    sent.advance(200)
    sent.send((0, 31, "a", 7), (1, 65, "b", 8), (0, 66, "c", 0), (0, 67, "a", 9), late=True)
    sent.send((0, 195, "in time", 1))
    sent.wait()
    assert shown(cluster, query) == sorted(sent.late)
    assert shown(cluster, query, "SELECT * FROM late_{s} WHERE v > 7 AND k = 'a'") == [sent.late[2]]
    joined = execute(cluster.context, f"SELECT count(*) AS n FROM late_{query} l JOIN q_{query} q ON l.k = q.k").table
    assert joined["n"].to_pylist()[0] > 0
    assert cluster.snapshot(f"q_{query}").counters()["late"] == 3
    with pytest.raises(ConflictError, match="late tuples"):
        cluster.sql(f"CREATE QUERY late_{query} AS {SELECT.format(s=query)}")
    with pytest.raises(NotFoundError, match="are the late tuples"):
        cluster.sql(f"PAUSE QUERY late_{query}")
    cluster.sql(f"DROP QUERY q_{query}")
    with pytest.raises(NotFoundError):
        cluster.sql(f"SHOW LATE FROM late_{query}")


@pytest.mark.parametrize("point", ["reducer.merged", "reducer.files_written", "reducer.committed", "mapper.pushed"])
def test_whatever_dies_each_late_tuple_is_there_once(cluster: Cluster, query: str, point: str) -> None:
    sent, draw = Sent(cluster, query), random.Random(point)
    sent.send((0, 0, "a", 1), (1, 0, "b", 1))
    sent.advance(400)
    for number in range(6):
        if number % 2:
            cluster.arm(point)
        sent.send(*((draw.randrange(2), draw.randrange(250), f"k{draw.randrange(5)}", draw.randrange(3))
                    for _ in range(50)), late=True)
        if number == 3:
            cluster.flush_redis()
        sent.wait()
    assert cluster.died_at(point)
    assert shown(cluster, query) == sorted(sent.late)
    assert cluster.snapshot(f"q_{query}").counters()["late"] == len(sent.late)


def test_what_kafka_has_no_more_is_left_out_and_counted(cluster: Cluster, query: str) -> None:
    sent = Sent(cluster, query)
    sent.send((0, 0, "a", 1), (1, 0, "b", 1))
    sent.advance(200)
    sent.send((0, 10, "a", 1), (1, 10, "b", 2), late=True)
    sent.wait()
    assert len(shown(cluster, query)) == 2
    admin = AdminClient({"bootstrap.servers": cluster.config.kafka_address})
    for found in admin.delete_records([TopicPartition(query, 0, sent.counts[0])]).values():
        found.result(10)
    answer = execute(cluster.context, f"SHOW LATE FROM late_{query}")
    assert [row["k"] for row in answer.table.to_pylist()] == ["b"]
    assert answer.notes == [f"1 late tuples of q_{query} are left out: Kafka has their records no more."]
