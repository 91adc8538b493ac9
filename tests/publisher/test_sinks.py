"""Sinks of a running Mars into a real Postgres, a real Kafka, files, an HTTP server and a table of Iceberg: whatever dies
and whenever, the target has the rows of /results, each once; the HTTP server may get the same message again.

With LONG_TESTS=1 also 20 seeds for each target that keeps the mark, and a target that is away for ten minutes.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from api.statements.dispatch import execute
from mars.errors import ConflictError
from mars.faults import STOP
from tests.cluster import Cluster
from tests.postgres import Postgres
from tests.publisher.world import (
    LONG_S,
    Feed,
    IcebergFeed,
    KafkaFeed,
    ParquetFeed,
    PostgresFeed,
    WebhookFeed,
    cluster_with_warehouse,
    stopped_at,
    wake,
)

pytestmark = [pytest.mark.services, pytest.mark.faults]
KINDS = ("postgres", "kafka", "parquet", "webhook")
POINTS = ("publisher.read", "publisher.staged", "publisher.committing", "publisher.committed")
KILLS = [(kind, point) for kind in KINDS for point in POINTS] + [("iceberg", "publisher.committing")]
STOPS = [(kind, point) for kind in KINDS for point in POINTS[1:3]]
SEEDS = 20
BURST_TUPLES = 200_000
long = pytest.mark.skipif(not os.environ.get("LONG_TESTS"), reason="takes minutes: set LONG_TESTS=1")


@pytest.fixture(scope="module")
def cluster(stack, postgres, tmp_path_factory) -> Iterator[Cluster]:
    """Two publishers, so that one takes over from the other."""
    with cluster_with_warehouse(stack, postgres, tmp_path_factory.mktemp("sinks"), 1, 1, publishers=2) as made:
        yield made


@pytest.fixture(scope="module")
def feeds(cluster, postgres) -> Iterator[dict[str, Feed]]:
    """A sink of each kind that was asked for; all tests add to what it has delivered."""
    found: dict[str, Feed] = {}
    yield found
    if "webhook" in found:
        found["webhook"].receiver.close()


@pytest.fixture
def feed(cluster, feeds, postgres) -> Iterator[Callable[[str], Feed]]:
    """The sink of a kind, delivering; afterwards nothing is armed."""
    make = {"postgres": partial(PostgresFeed, cluster, "pages", postgres), "kafka": partial(KafkaFeed, cluster, "clicks"),
            "parquet": partial(ParquetFeed, cluster, "files"), "webhook": partial(WebhookFeed, cluster, "alerts"),
            "iceberg": partial(IcebergFeed, cluster, "visits")}

    def ready(kind: str) -> Feed:
        if kind not in feeds:
            feeds[kind] = make[kind]()
        feeds[kind].wait_for_state("DELIVERING")
        return feeds[kind]

    yield ready
    cluster.disarm()


@pytest.mark.parametrize("kind", KINDS)
def test_the_target_has_the_rows_of_results(feed, kind: str) -> None:
    one = feed(kind)
    one.produce(5)
    one.check()
    found = one.cluster.wait(lambda: (found := one.document())["behind_s"] == 0 and found, LONG_S, "it stays behind")
    assert (found["state"], found["rows"], found["reason"]) == ("DELIVERING", len(one.results()), None)


@pytest.mark.parametrize(("kind", "point"), KILLS)
def test_a_publisher_that_is_killed_between_two_steps(cluster, feed, kind: str, point: str) -> None:
    one = feed(kind)
    one.check()
    cluster.arm(point)
    one.produce()
    cluster.wait(lambda: cluster.died_at(point), LONG_S, f"nobody died at {point}")
    one.check()


def test_a_publisher_that_is_killed_once_it_has_a_sink(cluster, feed) -> None:
    one = feed("postgres")
    cluster.arm("publisher.claimed")
    cluster.kill("publisher", one.owner())
    cluster.wait(lambda: cluster.died_at("publisher.claimed"), LONG_S, "nobody died")
    one.produce()
    one.check()


@pytest.mark.parametrize(("kind", "point"), STOPS)
def test_a_zombie_adds_nothing(cluster, feed, kind: str, point: str) -> None:
    one = feed(kind)
    one.check()
    cluster.arm(point, STOP)
    one.produce()
    pid = stopped_at(cluster, point)
    one.check()
    cluster.wait(lambda: cluster.pid("publisher", one.owner()) != pid, LONG_S, "nobody takes over")
    wake(pid)
    one.produce()
    one.check()


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("away_s", [8, pytest.param(600, marks=long)])
def test_a_target_that_is_away_stops_and_slows_no_query_and_no_other_sink(cluster, feed, postgres, away_s: int) -> None:
    one, other = feed("postgres"), feed("kafka")
    before = [one.burst(BURST_TUPLES) for _ in range(3 if away_s < 60 else 20)]
    one.check()
    postgres.stop()
    try:
        away, deadline = [], time.monotonic() + away_s
        while time.monotonic() < deadline:
            away.append(one.burst(BURST_TUPLES))
        there, gone = statistics.median(before), statistics.median(away)
        print(f"tuples/s of the query: {there:,.0f} with its target, {gone:,.0f} without it for {away_s} s")
        assert gone > (0.5 if away_s < 60 else 0.9) * there  # a busy machine makes the short one vague
        one.produce()
        one.results()
        found = one.wait_for_state("WAITING")
        assert found["reason"].startswith("waits for the target since ")
        assert "next try" in found["reason"]
        assert f"Postgres at 127.0.0.1:{postgres.port} does not answer" in found["last_error"]
        assert found["next_try"]
        other.produce()
        other.check()
    finally:
        postgres.start()
    one.check()
    assert one.wait_for_state("DELIVERING")["last_error"] is None


@long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("kind", ["postgres", "kafka", "iceberg"])
def test_publishers_die_and_sleep_by_seed(cluster, feed, kind: str, seed: int) -> None:
    """One after another dies or stands still at a point that is drawn; who stood still goes on before or after its heir."""
    rng, one = random.Random(f"{kind} {seed}"), feed(kind)
    one.produce()  # from here on each further minute closes one
    one.check()
    for _ in range(3):
        point, action = rng.choice(POINTS), rng.choice(["", STOP])
        cluster.arm(point, action)
        one.produce(rng.randint(1, 5))
        if action == STOP:
            pid = stopped_at(cluster, point)
            if rng.random() < 0.5:
                time.sleep(rng.uniform(0.0, 4.0))
            else:
                one.check()
            os.kill(pid, signal.SIGCONT)
        else:
            cluster.wait(partial(cluster.died_at, point), LONG_S, f"nobody died at {point}")
        one.check()
        cluster.disarm()


def test_the_password_is_in_no_log_no_file_and_no_znode(cluster, feed) -> None:
    def znodes(path: str) -> Iterator[bytes]:
        yield cluster.context.zk.get(path).data
        for child in cluster.context.zk.children(path):
            yield from znodes(f"{path}/{child}")

    feed("postgres")
    password = Postgres.password.encode()
    written = [file for file in cluster.folder.rglob("*") if file.is_file()]
    assert [file for file in written if password in file.read_bytes()] == []
    assert not any(password in data for data in znodes("/mars"))


def test_a_sink_is_paused_and_resumed(cluster, feed) -> None:
    one = feed("kafka")
    one.check()
    before = len(one.delivered())
    cluster.sql(f"PAUSE SINK {one.sink}")
    assert one.document()["state"] == "PAUSED"
    with pytest.raises(ConflictError):
        cluster.sql(f"PAUSE SINK {one.sink}")
    one.produce()
    one.results()
    assert len(one.delivered()) == before
    cluster.sql(f"RESUME SINK {one.sink}")
    one.check()


def test_a_row_that_is_refused_stops_its_sink_alone_until_somebody_mends_it(cluster, feed, postgres) -> None:
    one = feed("postgres")
    one.check()
    postgres.rows(f"ALTER TABLE {one.name} ADD CONSTRAINT few CHECK (n < 1) NOT VALID")
    one.produce()
    found = one.wait_for_state("FAILED")
    assert "refuses a row: window_start = " in found["reason"]
    assert "few" in found["last_error"]
    postgres.rows(f"ALTER TABLE {one.name} DROP CONSTRAINT few")
    cluster.sql(f"RESUME SINK {one.sink}")
    one.check()


def test_a_mark_that_is_lost_is_told_and_accepted(cluster, feed, postgres) -> None:
    one = feed("postgres")
    one.check()
    cluster.wait(lambda: one.document()["rows"] == len(one.results()), LONG_S, "the copy does not come")
    postgres.rows("DELETE FROM mars_sinks")
    one.produce()
    assert "has no row" in one.wait_for_state("SINK_PROGRESS_LOST")["reason"]
    cluster.sql(f"RESUME SINK {one.sink}")
    one.check()


def test_a_query_and_its_sink_are_made_and_dropped_together(cluster, feed, feeds, postgres, fresh_name) -> None:
    one, name = feed("postgres"), fresh_name("both")
    select = f"SELECT page, count(*) AS n FROM {one.name} GROUP BY page WINDOWING 60 s WATERMARK 0 s IDLE OFF FROM EARLIEST"
    cluster.sql(f"CREATE QUERY {name} INTO POSTGRES wh TABLE '{name}' AS {select}")
    cluster.sql(f"CREATE SINK {name}_2 FROM {name} INTO POSTGRES wh TABLE '{name}_2' WHERE page = 'home'")
    cluster.wait(lambda: len(postgres.rows(f"SELECT * FROM {name}")) == len(one.results()), LONG_S, "not delivered", [name])
    homes = [row for row in one.results() if row[2] == "home"]
    cluster.wait(lambda: len(postgres.rows(f"SELECT * FROM {name}_2")) == len(homes), LONG_S, "not delivered", [name])
    with pytest.raises(ConflictError, match=f"{name}_2"):
        cluster.sql(f"DROP QUERY {name}")
    cluster.sql(f"DROP SINK {name}_2")
    cluster.sql(f"DROP QUERY {name}")
    shown = execute(cluster.context, "SHOW SINKS").table["name"].to_pylist()
    assert sorted(shown) == sorted(found.sink for found in feeds.values())


def test_from_latest_and_from_a_time_leave_earlier_windows_out(cluster, feed, postgres) -> None:
    one = feed("postgres")
    one.check()
    since = one.results()[-1][0]
    cluster.sql(f"CREATE SINK late FROM {one.query} INTO POSTGRES wh TABLE 'late' FROM LATEST")
    cluster.sql(f"CREATE SINK since FROM {one.query} INTO POSTGRES wh TABLE 'since' FROM '{since}'")
    before = len(one.results())
    one.produce()
    one.check()
    new = len(one.results()) - before
    last = sum(row[0] == since for row in one.results())
    cluster.wait(lambda: len(postgres.rows("SELECT * FROM late")) == new, LONG_S, "not delivered")
    cluster.wait(lambda: len(postgres.rows("SELECT * FROM since")) == new + last, LONG_S, "not delivered")
    for name in ("late", "since"):
        cluster.sql(f"DROP SINK {name}")
