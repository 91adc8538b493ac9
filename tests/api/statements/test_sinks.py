"""Sinks and connections by SQL and REST: what is refused, and where; what is shown. tests/publisher has the delivery."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytestmark = pytest.mark.services


@pytest.fixture
def sql(client):
    """Runs a statement; the answer's document."""
    def run(statement: str) -> dict:
        return client.post("/v1/sql", json={"sql": statement}).json()

    return run


@pytest.fixture
def query(new_query) -> str:
    """A query with the columns sip, count and b."""
    return new_query().query.name


@pytest.fixture
def away(context, client, sql, fresh_name) -> Iterator[str]:
    """A connection to a Postgres that is not there."""
    name = fresh_name("wh")
    context.secrets.set("pw", b"p")
    sql(f"CREATE CONNECTION {name} TO POSTGRES (HOST '127.0.0.1', PORT 1, DATABASE d, USER u, PASSWORD SECRET pw)")
    yield name
    for sink in context.sinks.read().users(name):
        sql(f"DROP SINK {sink}")
    sql(f"DROP CONNECTION {name}")


def test_a_sink_of_each_face_is_made_shown_paused_and_dropped(client, sql, query, fresh_name) -> None:
    one, two = fresh_name("one"), fresh_name("two")
    made = sql(f"CREATE SINK {one} FROM {query} INTO KAFKA TOPIC '{one}' KEY (SIP) WHERE b > 1")
    assert (made["kind"], made["name"], made["notes"]) == ("created", one, [f"Topic '{one}' was made."])
    body = {"name": two, "query": query, "into": f"KAFKA TOPIC '{one}'", "from": "latest", "where": "b > 1"}
    answer = client.post("/v1/sinks", json=body)
    assert (answer.status_code, answer.headers["location"]) == (201, f"/v1/sinks/{two}")
    shown = client.get(f"/v1/sinks/{one.upper()}").json()
    assert {name: shown[name] for name in ("name", "query", "into", "where", "state", "rows", "delivered_until")} == {
        "name": one, "query": query, "into": f"KAFKA TOPIC '{one}' KEY (sip) FORMAT JSON", "where": "b > 1",
        "state": "STARTING", "rows": 0, "delivered_until": None}
    made = f"CREATE SINK {two} FROM {query} INTO KAFKA TOPIC '{one}' FORMAT JSON FROM LATEST WHERE b > 1"
    assert answer.json()["sql"] == made
    assert [row[0] for row in sql("SHOW SINKS")["rows"] if row[0] in (one, two)] == [one, two]
    assert client.post(f"/v1/sinks/{two}/pause").json()["state"] == "PAUSED"
    assert client.post(f"/v1/sinks/{two}/pause").status_code == 409
    assert client.post(f"/v1/sinks/{two}/resume").json()["state"] == "STARTING"
    plan = [row[0] for row in sql(f"EXPLAIN SINK {one} WHY")["rows"]]
    assert plan[0] == f"sink      {one} from query {query}"
    assert "state     STARTING: no publisher has taken it yet" in plan
    assert sql(f"DROP SINK {one}")["kind"] == "dropped"
    assert client.delete(f"/v1/sinks/{two}").status_code == 204
    assert client.get(f"/v1/sinks/{two}").status_code == 404


def test_a_sink_is_told_to_deliver_again(context, client, sql, query, fresh_name) -> None:
    name = fresh_name("again")
    sql(f"CREATE SINK {name} FROM {query} INTO KAFKA TOPIC '{name}' FROM LATEST")
    answer = sql(f"ALTER SINK {name} REPLAY FROM '1970-01-01T00:01:00Z'")
    assert (answer["kind"], answer["name"]) == ("altered", name)
    sink = context.sinks.sink(name)
    assert (sink.first_us, sink.above_us, sink.replay) == (60_000_000, None, sink.attempt)
    assert client.post(f"/v1/sinks/{name}/replay", json={"from": "earliest"}).json()["state"] == "STARTING"
    assert context.sinks.sink(name).first_us is None
    refused = client.post(f"/v1/sinks/{name}/replay", json={"from": "latest"})
    assert (refused.status_code, refused.json()["title"]) == (400, "'latest' is no time")
    assert sql(f"ALTER SINK {name}x REPLAY FROM EARLIEST")["title"] == "unknown sink"
    sql(f"DROP SINK {name}")


@pytest.mark.parametrize(("into", "at", "title"), [
    ("POSTGRES nowhere TABLE 't'", "nowhere", "unknown connection nowhere"),
    ("KAFKA TOPIC 'x' KEY (ip)", "ip", "unknown column ip"),
    ("KAFKA TOPIC 'x' WHERE bytes > 1", "bytes", "unknown column bytes"),
    ("KAFKA TOPIC 'x'\nWHERE b > 'x'", "b >", ""),
])
def test_a_sink_that_cannot_be_is_refused_at_its_place(sql, query, into: str, at: str, title: str) -> None:
    statement = f"CREATE SINK s FROM {query} INTO {into}"
    refused = sql(statement)
    assert refused["status"] == 400
    assert not title or refused["title"] == title
    line = statement.split("\n")[refused["line"] - 1]
    assert line[refused["column"] - 1:].startswith(at)


def test_a_sink_of_no_query_and_one_into_the_querys_own_topic(context, sql, query) -> None:
    assert sql(f"CREATE SINK s FROM {query}x INTO KAFKA TOPIC 'x'")["title"] == "unknown query"
    stream, _ = context.catalog.query(query)
    refused = sql(f"CREATE SINK s FROM {query} INTO KAFKA TOPIC '{stream.topic}'")
    assert refused["title"] == f"topic '{stream.topic}' is what the query reads"


def test_a_key_that_is_not_shown_cannot_be_in_a_table(sql, new_query, away) -> None:
    hidden = new_query("SELECT count(*) FROM {s} GROUP BY sip WINDOWING 60 s").query.name
    refused = sql(f"CREATE SINK s FROM {hidden} INTO POSTGRES {away} TABLE 't'")
    assert (refused["status"], refused["title"]) == (409, "key sip is not in the result")


def test_a_target_that_is_away_is_a_warning(sql, query, away, fresh_name) -> None:
    name = fresh_name("s")
    [note] = sql(f"CREATE SINK {name} FROM {query} INTO POSTGRES {away} TABLE 't'")["notes"]
    assert note.startswith("Warning: the target does not answer now, and the sink waits for it: Postgres")
    assert sql(f"DROP CONNECTION {away}")["title"] == "the connection is in use"
    refused = sql(f"CREATE SINK k FROM {query} INTO KAFKA TOPIC 'x' AT {away}")
    assert refused["title"] == f"connection {away} goes to POSTGRES"


def test_sinks_and_connections_may_be_there_already(sql, query, away, fresh_name) -> None:
    name = fresh_name("s")
    made = f"CREATE SINK IF NOT EXISTS {name} FROM {query} INTO KAFKA TOPIC '{name}'"
    assert sql(made)["notes"] == [f"Topic '{name}' was made."]
    assert sql(made)["notes"] == [f"There is a sink {name} already; it was left as it is."]
    assert sql(f"CREATE CONNECTION IF NOT EXISTS {away} TO POSTGRES (HOST 'h', DATABASE 'd', USER 'u')")["notes"] == [
        f"There is a connection {away} already; it was left as it is."]
    assert sql(f"DROP SINK IF EXISTS {name}")["kind"] == "dropped"
    assert sql(f"DROP SINK IF EXISTS {name}")["notes"] == [f"There was no {name}."]
    assert sql(f"DROP CONNECTION IF EXISTS {name}")["notes"] == [f"There was no {name}."]


def test_a_connection_names_secrets_that_are_there_and_shows_none(context, client, sql, away) -> None:
    shown = client.get(f"/v1/connections/{away}").json()
    assert shown["options"] == {"HOST": "127.0.0.1", "PORT": 1, "DATABASE": "d", "USER": "u", "PASSWORD": {"secret": "pw"}}
    assert [c["name"] for c in client.get("/v1/connections").json()["connections"]].count(away) == 1
    [row] = [row for row in sql("SHOW CONNECTIONS")["rows"] if row[0] == away]
    assert row[2] == "HOST '127.0.0.1', PORT 1, DATABASE 'd', USER 'u', PASSWORD SECRET pw"
    refused = sql("CREATE CONNECTION c TO POSTGRES (HOST 'h', DATABASE 'd', USER 'u', PASSWORD SECRET nope)")
    assert (refused["title"], refused["hint"]) == ("unknown secret nope", "mars secret set nope asks for it and keeps it")
    refused = sql("CREATE CONNECTION c TO POSTGRES (HOST 'h', DATABASE 'd', USER 'u', PASSWORD 'topsecret')")
    assert "topsecret" not in str(refused)


@pytest.mark.parametrize(("options", "said"), [
    ({"host": "h", "database": "d", "user": "u", "password": "topsecret"}, "a password does not stand in a request"),
    ({"host": "h"}, "DATABASE is missing"), ({"hots": "h"}, "unknown option hots"), ({"port": "x"}, "wrong port"),
    ({"host": "h", "database": "d", "user": "u", "tls": "maybe"}, "wrong tls"),
    ({"host": "h", "database": "d", "user": "u", "password": {"secret": "nope"}}, "unknown secret nope"),
])
def test_a_connection_by_rest_that_cannot_be(client, options: dict, said: str) -> None:
    answer = client.post("/v1/connections", json={"name": "c", "to": "postgres", "options": options})
    assert (answer.status_code, answer.json()["title"]) == (422, said)
    assert "topsecret" not in answer.text


def test_a_connection_by_rest(context, client, fresh_name) -> None:
    name = fresh_name("k")
    body = {"name": name, "to": "kafka", "options": {"address": "a:1", "security": "ssl"}}
    answer = client.post("/v1/connections", json=body)
    assert (answer.status_code, answer.json()["options"]) == (201, {"ADDRESS": "a:1", "SECURITY": "SSL"})
    assert client.post("/v1/connections", json=body).status_code == 409
    assert client.delete(f"/v1/connections/{name}").status_code == 204
    assert client.get(f"/v1/connections/{name}").status_code == 404


def test_a_query_with_its_sink_by_rest_can_be_asked_for_again(context, client, new_query, fresh_name) -> None:
    stream, name = new_query().stream.name, fresh_name("q")
    body = {"name": name, "sql": f"SELECT sip, count(*) FROM {stream} GROUP BY sip WINDOWING 60 s",
            "into": f"KAFKA TOPIC '{name}' KEY (sip)"}
    assert [client.post("/v1/queries", json=body).status_code for _ in range(2)] == [201, 200]
    assert client.get(f"/v1/sinks/{name}").json()["query"] == name
    for other in ({**body, "into": "KAFKA TOPIC 'other'"}, {key: body[key] for key in ("name", "sql")}):
        assert client.post("/v1/queries", json=other).status_code == 409
    client.post("/v1/sql", json={"sql": f"CREATE SINK {name}_2 FROM {name} INTO KAFKA TOPIC '{name}'"})
    assert client.delete(f"/v1/queries/{name}").json()["hint"] == f"drop them first: DROP SINK {name}_2"
    client.delete(f"/v1/sinks/{name}_2")
    assert client.delete(f"/v1/queries/{name}").status_code == 204
    assert client.get(f"/v1/sinks/{name}").status_code == 404


def test_metrics_and_readiness_know_of_sinks(client, sql, query, fresh_name) -> None:
    name = fresh_name("s")
    sql(f"CREATE SINK {name} FROM {query} INTO KAFKA TOPIC '{name}'")
    assert f'mars_sink_delivering{{query="{query}",sink="{name}"}} 0.0' in client.get("/metrics").text
    ready = client.get("/readyz").json()["dependencies"]["publishers"]
    assert ready == {"ready": False, "detail": "none is alive"}
    sql(f"DROP SINK {name}")
