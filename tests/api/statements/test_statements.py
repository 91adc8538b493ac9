"""Every statement by REST: kinds, status codes, problems."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from api.statements import define, status
from mars.adapters.kafka.admin import KafkaAdmin
from mars.adapters.view import stop_queries
from mars.errors import ConflictError

pytestmark = pytest.mark.services
COLUMNS = "(sip STRING, bytes BIGINT, time BIGINT)"


@pytest.fixture
def sql(client):
    """Runs a statement; the answer's status and document."""
    def run(statement: str) -> tuple[int, dict]:
        answer = client.post("/v1/sql", json={"sql": statement})
        return answer.status_code, answer.json()

    return run


@pytest.fixture
def topic(kafka, stack, fresh_name) -> str:
    """Two partitions with five messages, times in seconds."""
    name = fresh_name("flows")
    kafka.create(name, 2)
    stack.produce(name, [b"10.0.0.1,100,1700000000", b"10.0.0.2,200,1700000001", b"bad,x,y"])
    stack.produce(name, [b"10.0.0.1,50,1700000060", b"10.0.0.3,70,1700000061"], partition=1)
    return name


@pytest.fixture
def stream(sql, topic, fresh_name) -> str:
    name = fresh_name("Flows")
    status, document = sql(f"CREATE STREAM {name} {COLUMNS} FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP time UNIT s")
    assert (status, document["kind"], document["name"]) == (200, "created", name)
    assert "notes" not in document
    return name


def test_a_query_from_create_to_drop(sql, client, stream, fresh_name):
    name = fresh_name("q")
    status, made = sql(f"CREATE QUERY {name} AS SELECT sip, count(*) FROM {stream.lower()} GROUP BY sip WINDOWING 60 s;")
    assert (status, made["kind"], made["name"]) == (200, "created", name)
    assert "5 tuples" in made["notes"][0]
    assert "FROM EARLIEST" in made["notes"][0]
    document = client.get(f"/v1/queries/{name}").json()
    assert document["sql"] == f"SELECT sip, count(*) FROM {stream.lower()} GROUP BY sip WINDOWING 60 s"
    assert document["positions"] == {"0": 3, "1": 2}
    assert sql(f"CREATE QUERY {name.upper()} AS SELECT count(*) FROM {stream} WINDOWING 60 s")[0] == 409
    assert sql(f"RESUME QUERY {name}")[0] == 409
    assert sql(f"PAUSE QUERY {name}")[1]["kind"] == "paused"
    assert sql(f"PAUSE QUERY {name}")[0] == 409
    assert "is PAUSED" in client.get(f"/v1/queries/{name}/results").json()["reason"]
    assert sql(f"RESUME QUERY {name}")[1]["kind"] == "resumed"
    status, refused = sql(f"DROP STREAM {stream}")
    assert status == 409
    assert name in refused["detail"]
    assert sql(f"DROP QUERY {name}")[1]["kind"] == "dropped"
    assert sql(f"DROP STREAM {stream}")[1]["kind"] == "dropped"
    assert stream not in [s["name"] for s in client.get("/v1/streams").json()["streams"]]


@pytest.mark.parametrize("statement", ["DROP STREAM nothing_here", "DROP QUERY nothing_here", "PAUSE QUERY nothing_here",
                                       "RESUME QUERY nothing_here", "DESCRIBE nothing_here"])
def test_an_unknown_name_is_a_404(sql, statement):
    assert sql(statement)[0] == 404


@pytest.mark.parametrize("statement", ["SELEC 1", "SELECT count(*) FROM nothing_here", "PEEK 'no-such-topic'", "",
                                       "CREATE QUERY q INTO kafka AS SELECT 1"])
def test_any_other_refusal_is_a_400(sql, statement):
    status, document = sql(statement)
    assert status == 400
    assert document["title"]
    assert document["hint"]


def test_a_missing_topic_names_the_one_that_was_meant(sql, topic):
    status, document = sql(f"CREATE STREAM s1 {COLUMNS} FROM KAFKA '{topic}x' FORMAT CSV TIMESTAMP time UNIT s")
    assert status == 400
    assert topic in document["hint"]
    assert (document["line"], document["column"]) == (1, 69)


def test_a_wrong_unit_is_warned_of(sql, topic, fresh_name):
    name = fresh_name("s")
    _, document = sql(f"CREATE STREAM {name} {COLUMNS} FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP time UNIT ms")
    assert "1970-01-20" in document["notes"][0]
    assert "the wrong UNIT" in document["notes"][0]
    assert [row[3] for row in sql("SHOW STREAMS")[1]["rows"] if row[0] == name] == ["time in ms"]
    sql(f"DROP STREAM {name}")


def test_of_a_timestamp_column_no_unit_is_spoken(sql, kafka, stack, fresh_name):
    name, topic = fresh_name("s"), fresh_name("old")
    kafka.create(topic, 1)
    stack.produce(topic, [b"1967-01-01T00:00:00Z,1"])
    _, document = sql(f"CREATE STREAM {name} (time TIMESTAMP, n INT) FROM KAFKA '{topic}' FORMAT CSV TIMESTAMP time")
    assert "1967-01-01" in document["notes"][0]
    assert "UNIT" not in document["notes"][0]
    assert "time in" not in str(sql(f"DESCRIBE {name}")[1]["rows"])
    assert [row[3] for row in sql("SHOW STREAMS")[1]["rows"] if row[0] == name] == ["time"]
    sql(f"DROP STREAM {name}")


def test_a_start_in_the_future_is_refused(sql, stream):
    status, document = sql(f"CREATE QUERY z AS SELECT count(*) FROM {stream} WINDOWING 60 s FROM '2999-01-01'")
    assert (status, document["line"]) == (400, 1)
    assert "future" in document["title"]


@pytest.mark.parametrize(("windows", "statuses"), [((60, 60), [200, 201]), ((60, 30), [201, 409])])
def test_of_two_requests_at_once_the_later_finds_what_the_other_made(client, stream, fresh_name, monkeypatch, windows,
                                                                      statuses):
    name, both, start_offsets = fresh_name("q"), threading.Barrier(2), define.start_offsets

    def at_once(*arguments: object) -> dict[int, int]:
        both.wait(20)
        return start_offsets(*arguments)

    monkeypatch.setattr(define, "start_offsets", at_once)

    def post(window: int) -> int:
        sql = f"SELECT count(*) FROM {stream} WINDOWING {window} s FROM EARLIEST"
        return client.post("/v1/queries", json={"name": name, "sql": sql}).status_code

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(post, windows)) == statuses


def test_a_query_that_others_make_and_drop_meanwhile_is_made_or_in_conflict(client, stream, fresh_name, monkeypatch):
    """Never unknown: nobody asks for it."""
    name, start, tries = fresh_name("q"), define._start, []

    def made_and_dropped(*arguments: object) -> object:
        tries.append(name)
        if len(tries) < 3:
            raise ConflictError("the name exists", name)
        return start(*arguments)

    monkeypatch.setattr(define, "_start", made_and_dropped)
    body = {"name": name, "sql": f"SELECT count(*) FROM {stream} WINDOWING 60 s FROM EARLIEST"}
    assert client.post("/v1/queries", json=body).status_code == 201
    assert client.delete(f"/v1/queries/{name}").status_code == 204
    monkeypatch.setattr(define, "_start", lambda *_: (None, []))
    answer = client.post("/v1/queries", json=body)
    assert (answer.status_code, answer.json()["title"]) == (409, "the query has just been dropped")


def test_rest_makes_a_query_once(client, stream, fresh_name):
    name = fresh_name("q")
    body = {"name": name, "sql": f"SELECT count(*) FROM {stream} WINDOWING 60 s FROM EARLIEST"}
    assert [client.post("/v1/queries", json=body).status_code for _ in range(2)] == [201, 200]
    other = {**body, "sql": f"SELECT count(*) FROM {stream} WINDOWING 30 s"}
    assert client.post("/v1/queries", json=other).status_code == 409
    assert client.post("/v1/queries", json={**body, "name": "x", "into": "kafka"}).status_code == 400
    assert name in [q["name"] for q in client.get("/v1/queries").json()["queries"]]
    assert client.post(f"/v1/queries/{name}/pause").json()["state"] == "PAUSED"
    assert client.post(f"/v1/queries/{name}/pause").status_code == 409
    assert client.post(f"/v1/queries/{name}/resume").json()["state"] == "RUNNING"
    assert client.delete(f"/v1/queries/{name}").status_code == 204
    assert client.delete(f"/v1/queries/{name}").status_code == 404
    assert client.get(f"/v1/queries/{name}").status_code == 404


def test_tuples_are_shown_in_order(sql, stream):
    _, document = sql(f"SELECT * FROM {stream} LIMIT 3")
    assert document["rows"] == [["10.0.0.1", 100, 1700000000], ["10.0.0.2", 200, 1700000001], ["10.0.0.1", 50, 1700000060]]
    _, document = sql(f"SELECT sip, bytes * 2 AS d FROM {stream} WHERE bytes > 60 ORDER BY d DESC")
    assert [r[1] for r in document["rows"]] == [400, 200, 140]
    assert "1 bad is left out" in document["notes"][0]


def test_peek_gives_a_statement_that_runs(sql, topic):
    _, document = sql(f"PEEK '{topic}'")
    assert len(document["rows"]) == 5
    assert document["rows"][0][3] == "10.0.0.1,100,1700000000"
    assert document["create_stream"].startswith("CREATE STREAM")


def test_peek_shows_the_begin_of_long_messages(sql, kafka, stack, fresh_name):
    name = kafka.create(fresh_name("long"), 1).name
    producer = Producer({"bootstrap.servers": stack.config.kafka_address})
    for value in (b"1,a", b"2," + "é".encode() * 20_000, None):
        producer.produce(name, value, partition=0)
    producer.flush(20)
    _, document = sql(f"PEEK '{name}'")
    assert [row[3] for row in document["rows"]] == ["1,a", "2," + "é" * 9_998, None]
    assert document["notes"][0] == "Longer messages are cut to their first 10,000 characters."


def test_peek_shows_a_message_whose_time_is_too_far_for_a_timestamp(sql, kafka, stack, fresh_name):
    """As Kafka has it of a producer that takes nanoseconds for milliseconds."""
    name = kafka.create(fresh_name("far"), 1).name
    producer = Producer({"bootstrap.servers": stack.config.kafka_address})
    for time_ms in (1_700_000_000_000_000_000, 9_000_000_000_000_000, 1_700_000_000_000):
        producer.produce(name, b"1,a", partition=0, timestamp=time_ms)
    producer.flush(20)
    status, document = sql(f"PEEK '{name}'")
    assert status == 200, document
    assert sorted((row[1], row[2]) for row in document["rows"]) == [
        (0, None), (1, "+287168-08-24T16:00:00Z"), (2, "2023-11-14T22:13:20Z")]


def test_show_describe_and_explain_speak(sql, stream, new_query):
    committer = new_query()
    name = committer.query.name
    assert stream in [r[0] for r in sql("SHOW STREAMS")[1]["rows"]]
    assert name in [r[0] for r in sql("SHOW QUERIES")[1]["rows"]]
    facts = dict(sql(f"DESCRIBE {stream}")[1]["rows"])
    assert facts["column sip"] == "STRING"
    assert dict(sql(f"DESCRIBE {name}")[1]["rows"])["state"] == "RUNNING"
    for statement in (f"EXPLAIN SELECT sip, count(*) FROM {stream} GROUP BY sip WINDOWING 60 s",
                      f"EXPLAIN (FORMAT SPARK) SELECT count(*) FROM {stream}", f"EXPLAIN QUERY {name} WHY"):
        status, document = sql(statement)
        assert (status, document["kind"]) == (200, "plan"), statement
        assert document["rows"]
    for clauses in ("EMIT CHANGES", "EMIT EVERY 10 s", "LATE UPDATE FOR 5 s", "LATE TO x", "EMIT FINAL TIMEOUT 5 s"):
        status, document = sql(f"EXPLAIN SELECT sip, count(*) FROM {stream} GROUP BY sip WINDOWING 60 s {clauses}")
        assert (status, document["kind"]) == (200, "plan"), clauses


def test_select_from_a_query_reads_its_closed_windows(sql, new_query):
    committer = new_query()
    rows = [{"start": s, "sip": "a", "count": c, "b": None} for s, c in ((0, 1), (60, 2), (120, 4))]
    committer.commit(0, rows, watermark=125)
    committer.commit(1, watermark=200)
    name = committer.query.name
    assert sql(f"SELECT sum(count) AS n FROM {name}")[1]["rows"] == [[3]]
    joined = f"SELECT a.count FROM {name} a JOIN `{name}` b ON a.window_start = b.window_end WHERE a.sip = 'a'"
    assert sql(joined)[1]["rows"] == [[2]]
    status, document = sql(f"SELECT cuont FROM {name}")
    assert (status, document["line"], document["column"]) == (400, 1, 8)
    assert "count" in document["hint"]


def test_an_empty_result_says_why(client, new_query, stack):
    committer = new_query("SELECT count(*) FROM {s} WINDOWING 60 s")
    url = f"/v1/queries/{committer.query.name}/results"
    assert "No tuple has come yet" in client.get(url).json()["reason"]
    stack.produce(committer.stream.topic, [b"a,1,30"])
    deadline = time.monotonic() + 60
    while "about 1 more to read" not in (reason := client.get(url).json()["reason"]):
        assert time.monotonic() < deadline, reason
    for part in (0, 1):
        committer.commit(part, counters={"tuples": 2 if part == 0 else 0, "bad": 2 if part == 0 else 0}, watermark=None)
    assert "None of the 2 tuples" in client.get(url).json()["reason"]


def delete(kafka: KafkaAdmin, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.address})
    admin.delete_topics([topic])[topic].result(30)
    deadline = time.monotonic() + 60
    while kafka.describe(topic) and time.monotonic() < deadline:
        time.sleep(0.1)


def make_anew(kafka: KafkaAdmin, topic: str) -> None:
    delete(kafka, topic)
    kafka.create(topic, 1)


def test_a_query_whose_topic_is_gone_is_not_resumed(client, context, kafka, new_query):
    query = new_query()
    delete(kafka, query.stream.topic)
    stop_queries(context.zk, query.stream, [query.query.id], "DATA_LOSS", "the topic was deleted")
    answer = client.post(f"/v1/queries/{query.query.name}/resume")
    assert (answer.status_code, answer.json()["title"]) == (409, "the stream's topic is gone")
    assert answer.json()["hint"].startswith(f"DROP QUERY {query.query.name}, DROP STREAM {query.stream.name}, then")


def test_a_paused_query_whose_topic_was_made_anew_is_not_resumed_and_has_no_lag(client, context, kafka, new_query):
    query = new_query()
    assert client.post(f"/v1/queries/{query.query.name}/pause").status_code == 200
    make_anew(kafka, query.stream.topic)
    answer = client.post(f"/v1/queries/{query.query.name}/resume")
    assert (answer.status_code, answer.json()["title"]) == (409, "the stream's topic is another one")
    document = client.get(f"/v1/queries/{query.query.name}").json()
    assert (document["state"], document["lag"]) == ("PAUSED", None)
    assert "was deleted and created again" in document["lag_unknown"]


def test_a_full_state_folder_is_named(client, sql, context, monkeypatch, new_query):
    name = new_query().query.name
    monkeypatch.setattr(status, "ROOM_BYTES", 1 << 62)
    assert not client.get("/readyz").json()["dependencies"]["state folder"]["ready"]
    plan = sql(f"EXPLAIN QUERY {name} WHY")[1]["rows"]
    assert any("waits" in line and f"{context.storage.root} has" in line for [line] in plan)


def test_a_hint_can_be_run_for_a_name_in_backticks(sql, stream, fresh_name):
    name = fresh_name("a query")
    assert sql(f"CREATE QUERY `{name}` AS SELECT count(*) FROM {stream} WINDOWING 60 s")[0] == 200
    hint = sql(f"DROP STREAM {stream}")[1]["hint"]
    assert sql(hint.removeprefix("drop them first: "))[1]["kind"] == "dropped"


@pytest.mark.parametrize(("select", "rows"), [
    ("SELECT q.* FROM {q} AS q, (SELECT 1 AS one FROM range(10001) LIMIT 10001) AS r", 10_000),
    ("(SELECT sip FROM {q} LIMIT 1) UNION ALL (SELECT 'x' FROM range(10001) LIMIT 10001)", 10_000),
    ("SELECT q.* FROM {q} AS q, range(10001) AS r LIMIT 10001", 10_001),
    ("(SELECT q.* FROM {q} AS q, range(10001) AS r LIMIT 10001);", 10_001)])
def test_a_limit_within_a_statement_is_none_of_its_own(sql, new_query, select, rows):
    committer = new_query()
    for part in range(committer.stream.key_parts):
        committer.commit(part, [{"start": 0, "sip": "a", "count": 1, "b": 1}][part:], watermark=200)
    status, document = sql(select.format(q=committer.query.name))
    assert (status, len(document.get("rows", []))) == (200, rows), document
    assert document.get("truncated", False) == (rows == 10_000)
