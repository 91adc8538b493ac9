"""Rows that are given out while windows are open, on real services: a topic gets each of them once and in order, a table the
newest of each window and key, events the same as the topic, whoever is killed meanwhile."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import orjson
import pytest

from api.statements.dispatch import execute
from mars.errors import MarsError
from mars.model.plan import Window
from mars.results import pages
from mars.results.cursors import Selection
from mars.results.formats import rows as json_rows
from mars.results.formats import timestamp_text
from mars.results.tails import next_block, open_tail
from tests.cluster import Cluster
from tests.mars.algebra.windows.test_emitted import given
from tests.plans import changed
from tests.postgres import Postgres
from tests.publisher.consume import read
from tests.publisher.world import LONG_S, cluster_with_warehouse
from tests.reducer.pieces import PLAN

pytestmark = [pytest.mark.services, pytest.mark.faults]
BASE, SIZE, EVERY = 1_700_000_040, 60, 20
NAMES = ("k0", "k1", "k2", "k3")
TUPLES = 400


@pytest.fixture(scope="module")
def cluster(stack, postgres, tmp_path_factory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("emitted")
    with cluster_with_warehouse(stack, postgres, folder, 1, 1, publishers=1, batch_tuples=20, run_tuples_max=20) as made:
        made.create_topic("flow", 1)
        made.sql("CREATE STREAM flow (t BIGINT, k STRING) FROM KAFKA 'flow' FORMAT CSV TIMESTAMP t UNIT s")
        made.sql("CREATE QUERY sofar AS SELECT k, count(*) FROM flow GROUP BY k WINDOWING 1 min EMIT EVERY 20 s "
                 "WATERMARK 9 s IDLE OFF FROM EARLIEST")
        made.sql("CREATE SINK sofar_topic FROM sofar INTO KAFKA TOPIC 'sofar_out'")
        made.sql("CREATE SINK sofar_table FROM sofar INTO POSTGRES wh TABLE 'public.sofar'")
        yield made


def tuples() -> list[tuple[int, int]]:
    """(time, key) in the order of a log, out of order by less than the watermark stays behind."""
    chance = random.Random(5)
    return [(BASE + i + chance.randrange(-4, 5), chance.randrange(len(NAMES))) for i in range(TUPLES)]


def expected(found: list[tuple[int, int]]) -> list[tuple]:
    """(start, time at which it is given out, key, count), in order."""
    plan = changed(PLAN, window=Window("emitted", SIZE * 1_000, EVERY * 1_000))
    reached = max(time for time, _ in found) - 9
    return sorted(((start, at, NAMES[key], count) for (start, at, key), count in given(plan, found, -1, reached).items()),
                  key=lambda row: (row[1], row[0], row[2]))


def as_rows(wanted: list[tuple]) -> list[tuple]:
    """As they are shown."""
    return [(timestamp_text(start * 10**6), timestamp_text((start + SIZE) * 10**6), key, count, at == start + SIZE)
            for start, at, key, count in wanted]


def test_each_row_comes_once_and_the_newest_stays(cluster, postgres):
    sent, chance = tuples(), random.Random(1)
    for begin in range(0, TUPLES, 50):
        cluster.produce(("flow", 0, f"{time},{NAMES[key]}".encode()) for time, key in sent[begin:begin + 50])
        cluster.kill(chance.choice(("mapper", "reducer", "publisher")), 0)
    wanted = expected(sent)
    rows = as_rows(wanted)
    cluster.wait(lambda: cluster.has_read_all("sofar"), LONG_S, "not read", ["sofar"])

    def delivered() -> list[tuple]:
        try:
            return [tuple(orjson.loads(value).values()) for _, value in read(cluster.config.kafka_address, "sofar_out")]
        except KeyError:
            return []

    cluster.wait(lambda: len(delivered()) >= len(rows), LONG_S, "not delivered", ["sofar"])
    newest = {row[:3]: row for row in rows}
    assert sorted(delivered()) == sorted(rows)
    cluster.wait(lambda: sorted(table(postgres)) == sorted(newest.values()), LONG_S, "another table", ["sofar"])
    page = [tuple(row) for row in json_rows(cluster.rows("sofar"))]
    assert page == sorted(newest.values(), key=lambda row: row[:3])
    assert [tuple(row) for row in events(cluster)] == rows, "in the order of the times at which they are given out"
    open_ = page_of(cluster)
    last = max(time for time, _ in sent) // SIZE * SIZE
    assert [row for row in open_ if row[-1]] == [row for row in open_ if not row[4]]
    assert Counter((row[0], row[2]) for row in open_) == Counter(dict.fromkeys({(row[0], row[2]) for row in open_}, 1))
    counted = Counter(NAMES[key] for time, key in sent if time // SIZE * SIZE == last)
    assert {row[2]: row[3] for row in open_ if row[0] == timestamp_text(last * 10**6)} == counted
    answer = execute(cluster.context, "SELECT count(*) AS n, bool_and(final) AS f FROM sofar")
    assert answer.table.to_pylist() == [{"n": sum(row[4] for row in newest.values()), "f": True}]


def table(postgres: Postgres) -> list[tuple]:
    """What the table holds."""
    as_text = "to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
    columns = ", ".join([*map(as_text.format, ("window_start", "window_end")), "k, count, final"])
    return [tuple(row) for row in postgres.rows(f"SELECT {columns} FROM sofar")]


def page_of(cluster: Cluster) -> list[tuple]:
    """A page with the open windows."""
    made = pages.page(cluster.context.results, "sofar", Selection(partial=True), 10_000)
    return [tuple(row) for row in json_rows(made.rows)]


def events(cluster: Cluster) -> list[tuple]:
    """What a reader of events gets, from the first row on."""
    source = cluster.context.results
    tail, found = open_tail(source, "sofar", None, None, None), []
    while (block := next_block(source, tail)) is not None:
        found += json_rows(block.table)
    return found


def test_a_webhook_takes_no_such_rows(cluster):
    cluster.context.secrets.set("hook_key", b"a key")
    cluster.sql("CREATE CONNECTION hook TO HTTP (URL 'http://127.0.0.1:9/', KEY SECRET hook_key)")
    with pytest.raises(MarsError, match="EMIT EVERY"):
        cluster.sql("CREATE SINK no FROM sofar INTO WEBHOOK hook")
