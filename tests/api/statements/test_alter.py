"""ALTER QUERY over real services: closed windows are shown in the new way, and what a reader had from before is no longer
valid."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mars.algebra import cells
from reducer.committing.closed import Closed
from reducer.state.once import Once
from tests.api.conftest import Committer

pytestmark = pytest.mark.services


def commit(committer: Committer, part: int, start_s: int, counts: dict[str, int]) -> None:
    """Commit a closed window of 60 s: a count of tuples by sip, the bytes of each of which are its number."""
    plan, stream = committer.query.plan, committer.stream
    sips = [sip for sip, count in counts.items() for _ in range(count)]
    times = np.full(len(sips), start_s, np.int64)
    columns = {"sip": pa.array(sips), "bytes": pa.array(range(len(sips)), pa.int64())}
    table = cells.aggregate(plan.aggregation, stream, columns, times, None, 0, np.arange(len(sips)),
                            np.zeros(len(sips), np.int32))
    closed = Closed.of(plan, stream, table, Once())
    segment = closed.describe(committer.write("results", closed.blob()), 0)
    committer.commit(part, results=[*committer.commits[part].results, segment], watermark=start_s + 65)


@pytest.fixture
def altered(client, new_query):
    """A query with two closed windows, and what changes it."""
    committer = new_query()
    for start_s, counts in ((60, {"a": 2, "b": 1}), (120, {"a": 1, "c": 3})):
        commit(committer, 0, start_s, counts)
        commit(committer, 1, start_s, {"d": 1})

    def alter(select: str, words: str = "ALTER QUERY") -> tuple[int, dict]:
        sql = f"{words} {committer.query.name} AS SELECT {select.format(s=committer.stream.name)}"
        answer = client.post("/v1/sql", json={"sql": sql})
        return answer.status_code, answer.json()

    return committer, alter


def results(client, committer: Committer, **parameters: object) -> dict:
    return client.get(f"/v1/queries/{committer.query.name}/results", params=parameters).json()


def test_closed_windows_are_shown_in_the_new_way(client, altered):
    committer, alter = altered
    first = results(client, committer, limit=2)
    assert [row[2:] for row in first["rows"]] == [["a", 2, 1], ["b", 1, 2]]
    status, answer = alter("count(*) AS n, sip, sum(bytes) / count(*) AS mean FROM {s} GROUP BY sip WINDOWING 60 s "
                           "HAVING n > 1")
    assert (status, answer["kind"], answer["name"]) == (200, "altered", committer.query.name)
    page = results(client, committer)
    assert [column["name"] for column in page["columns"]] == ["window_start", "window_end", "n", "sip", "mean"]
    assert [row[2:] for row in page["rows"]] == [[2, "a", 0.5], [3, "c", 2.0]]
    described = client.get(f"/v1/queries/{committer.query.name}").json()
    assert (described["id"], described["state"]) == (committer.query.id, "RUNNING")
    assert described["sql"].startswith("SELECT count(*) AS n, sip")
    assert client.get(f"/v1/queries/{committer.query.name}/results", params={"cursor": first["next"]}).status_code == 422


def test_what_does_not_follow_is_refused_and_nothing_changes(client, altered):
    committer, alter = altered
    status, problem = alter("bytes, count(*) FROM {s} GROUP BY bytes WINDOWING 60 s")
    assert status == 400
    assert problem["title"].startswith("ALTER QUERY cannot change GROUP BY and which tuples are bad (it no longer reads sip")
    assert alter("sip, count(*), sum(bytes) FROM {s} GROUP BY sip WINDOWING 60 s FROM EARLIEST")[0] == 400
    assert len(results(client, committer)["rows"]) == 6


def test_a_query_with_sinks_is_not_altered(client, altered, tmp_path):
    committer, alter = altered
    name = f"{committer.query.name}_files"
    sql = f"CREATE SINK {name} FROM {committer.query.name} INTO PARQUET '{tmp_path}'"
    made = client.post("/v1/sql", json={"sql": sql})
    assert made.status_code == 200, made.text
    status, problem = alter("sip, sum(bytes) FROM {s} GROUP BY sip WINDOWING 60 s")
    assert (status, problem["title"]) == (409, "the query has sinks")
    assert client.post("/v1/sql", json={"sql": f"DROP SINK {name}"}).status_code == 200
    assert alter("sip, sum(bytes) FROM {s} GROUP BY sip WINDOWING 60 s")[0] == 200


def test_a_query_that_keeps_rows_is_not_altered(client, new_query):
    committer = new_query("SELECT sip, count(DISTINCT bytes) FROM {s} GROUP BY sip WINDOWING 60 s")
    select = f"SELECT count(DISTINCT bytes), sip FROM {committer.stream.name} GROUP BY sip WINDOWING 60 s"
    answer = client.post("/v1/sql", json={"sql": f"ALTER QUERY {committer.query.name} AS {select}"})
    assert (answer.status_code, answer.json()["title"]) == (409, "the query keeps rows of closed windows, and no cells")


def test_create_or_replace_and_if_exists(client, altered, fresh_name):
    committer, _ = altered
    stream, new = committer.stream.name, fresh_name("q")
    run = lambda sql: client.post("/v1/sql", json={"sql": sql}).json()  # noqa: E731
    select = f"SELECT sip, sum(bytes) FROM {stream} GROUP BY sip WINDOWING 60 s"
    assert run(f"CREATE OR REPLACE QUERY {committer.query.name} AS {select}")["kind"] == "altered"
    assert run(f"CREATE OR REPLACE QUERY {new} AS {select}")["kind"] == "created"
    found = run(f"CREATE QUERY IF NOT EXISTS {new} AS SELECT count(*) FROM {stream} WINDOWING 1 h")
    assert (found["kind"], found["notes"]) == ("created", [f"There is a query {new} already; it was left as it is."])
    assert run(f"DROP QUERY IF EXISTS {new}")["kind"] == "dropped"
    assert run(f"DROP QUERY IF EXISTS {new}")["notes"] == [f"There was no {new}."]


def test_explain_names_the_queries_that_keep_the_same_cells(client, altered):
    committer, _ = altered
    stream, name = committer.stream.name, committer.query.name
    select = f"SELECT sum(bytes) AS b, sip FROM {stream} GROUP BY sip WINDOWING 60 s"
    alike = client.post("/v1/sql", json={"sql": f"EXPLAIN {select.replace('sum(bytes)', 'count(*) + sum(bytes)')}"}).json()
    assert [row[0].split(maxsplit=1)[1] for row in alike["rows"] if row[0].startswith("shares")] == [
        f"its cells with {name}: they are computed and kept once, where both have read as far"]
    other = client.post("/v1/sql", json={"sql": f"EXPLAIN {select.replace('60 s', '70 s')}"}).json()
    assert not [row for row in other["rows"] if row[0].startswith("shares")]
    ordered = client.post("/v1/sql", json={"sql": f"EXPLAIN {select} ORDER BY b LIMIT 3"})
    assert ordered.status_code == 200, ordered.text
