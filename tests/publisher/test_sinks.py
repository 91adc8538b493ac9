"""Sinks of a running Mars into a real Postgres, a real Kafka, files and an HTTP server: whatever dies and whenever, the
target has the rows of /results, each once; the HTTP server may get the same message again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from api.statements.dispatch import execute
from mars.errors import ConflictError
from mars.faults import STOP
from tests.cluster import Cluster
from tests.postgres import Postgres
from tests.publisher.world import (
    LONG_S,
    Feed,
    KafkaFeed,
    ParquetFeed,
    PostgresFeed,
    WebhookFeed,
    stopped_at,
    wake,
)

pytestmark = [pytest.mark.services, pytest.mark.faults]
KINDS = ("postgres", "kafka", "parquet", "webhook")
POINTS = ("publisher.read", "publisher.staged", "publisher.committing", "publisher.committed")


@pytest.fixture(scope="module")
def cluster(stack, postgres, tmp_path_factory) -> Iterator[Cluster]:
    """Two publishers, so that one takes over from the other."""
    made = Cluster(stack, tmp_path_factory.mktemp("sinks"), 1, 1, publishers=2)
    try:
        made.wait_for_workers()
        made.context.secrets.set("wh_pw", Postgres.password.encode())
        made.sql(f"CREATE CONNECTION wh TO POSTGRES (HOST '127.0.0.1', PORT {postgres.port}, DATABASE {postgres.database}, "
                 f"USER {postgres.user}, PASSWORD SECRET wh_pw)")
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def feeds(cluster, postgres) -> Iterator[dict[str, Feed]]:
    """A sink of each kind; all tests add to what it has delivered."""
    webhook = WebhookFeed(cluster, "alerts")
    yield {"postgres": PostgresFeed(cluster, "pages", postgres), "kafka": KafkaFeed(cluster, "clicks"),
           "parquet": ParquetFeed(cluster, "lake"), "webhook": webhook}
    webhook.receiver.close()


@pytest.fixture
def feed(cluster, feeds) -> Iterator[Callable[[str], Feed]]:
    """The sink of a kind, delivering; afterwards nothing is armed."""
    def ready(kind: str) -> Feed:
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("point", POINTS)
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("point", ["publisher.staged", "publisher.committing"])
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


def test_a_target_that_is_away_stops_no_query_and_no_other_sink(cluster, feed, postgres) -> None:
    one, other = feed("postgres"), feed("kafka")
    postgres.stop()
    try:
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


def test_a_query_and_its_sink_are_made_and_dropped_together(cluster, feed, postgres, fresh_name) -> None:
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
    assert sorted(shown) == sorted(feed(kind).sink for kind in KINDS)


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
