"""The application against its own OpenAPI document: schemathesis sends what the document allows and what it forbids, to a
guarded API that has streams and queries, and compares each answer with what the document says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from api.rest import events as server_events
from mars.model.connections import Connection
from mars.model.sinks import Into, Sink
from mars.results import snapshot

pytestmark = pytest.mark.services
PROBLEM = "application/problem+json"
TOKEN = "0123456789abcdef"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
RUNNING = "a-running-statement"
GUARDED = {"api_host": "0.0.0.0", "api_token": TOKEN, "api_behind_tls": True, "api_allowed_hosts": "testserver"}
ERRORS_TOLD = ["2xx", "3xx", "4xx", "503"]
# A text that is no SQL, no time, no cursor or no media type fits what a schema can say of a text.
TEXTS_TOLD = ["2xx", "400", "401", "404", "406", "409", "410", "422", "503"]


def configuration(queries: list[str], new: str, streams: list[str], sinks: list[str], connections: list[str]) -> dict:
    """Of schemathesis: all its checks and phases, the same requests in each run, and words that mean something here."""
    def words(*values: str) -> dict:
        return {"values": list(values)}

    select = f"SELECT sip, count(*) FROM {streams[0]} GROUP BY sip WINDOWING 60 s"
    told = {"positive_data_acceptance": {"expected-statuses": TEXTS_TOLD}, "not_a_server_error":
            {"expected-statuses": ERRORS_TOLD}}
    return {
        "seed": 1, "headers": BEARER, "request-timeout": 5, "max-stream-events": 1,
        "generation": {"max-examples": 10, "database": "none"},
        "checks": {"enabled": True},
        "dictionaries": {
            "names": words(*queries, *streams), "new": words(new), "selects": words(select), "running": words(RUNNING),
            "statements": words(
                select, "SHOW QUERIES", f"SELECT * FROM {queries[0]}", f"DESCRIBE {streams[0]}", f"EXPLAIN {select}",
                f"PAUSE QUERY {queries[1]}", f"RESUME QUERY {queries[1]}", "DROP QUERY nothing"),
            "conditions": words("sip = 'a'", "b > 1", "partition = 0", "b >"),
            "times": words("2026-01-31T12:00:00Z", "now", "0"),
            "sinks": words(*sinks), "new_sinks": words(f"{new}_sink"), "old": words(queries[2]),
            "topics": words("KAFKA TOPIC 'x'"), "starts": words("EARLIEST", "2026-01-31"), "condition": words("b > 1"),
            "connections": words(*connections)},
        "parameters": {
            key: {"dictionary": name, "probability": 0.5} for key, name in {
                "path.name": "names", "path.id": "running", "body.sql": "statements",
                "query.where": "conditions", "query.from": "times", "query.to": "times"}.items()},
        "operations": [
            {"include-path": "/readyz", "checks": {"not_a_server_error": {"expected-statuses": ERRORS_TOLD}}},
            {"include-path": "/v1/sql", "checks": told},
            {"include-path": "/v1/sinks", "checks": told, "parameters": {
                "body.name": {"dictionary": "new_sinks", "probability": 0.9}, "body.query": {"dictionary": "old",
                "probability": 0.9}, "body.into": {"dictionary": "topics", "probability": 0.9},
                "body.from": {"dictionary": "starts", "probability": 0.9},
                "body.where": {"dictionary": "condition", "probability": 0.9}}},
            {"include-path": "/v1/queries", "include-method": "POST", "checks": told,
             "parameters": {"body.sql": {"dictionary": "selects", "probability": 0.9},
                            "body.name": {"dictionary": "new", "probability": 0.9}}},
            {"include-path-regex": "/v1/sinks/.*/replay$", "checks": told, "parameters": {
                "path.name": {"dictionary": "sinks", "probability": 0.9},
                "body.from": {"dictionary": "starts", "probability": 0.9}}},
            {"include-path-regex": "/v1/sinks/", "parameters": {"path.name": {"dictionary": "sinks", "probability": 0.9}}},
            {"include-path-regex": "/v1/connections/", "parameters": {
                "path.name": {"dictionary": "connections", "probability": 0.9}}},
            {"include-path-regex": "/(results|results/stream|dead-letters)$", "checks": told}]}


@pytest.fixture
def config(context, new_query, fresh_name, monkeypatch) -> Iterator[dict]:
    """For an API with three queries that have results, and a statement that runs; nothing waits long in it."""
    monkeypatch.setattr(snapshot, "COMMIT_WAIT_S", 0.05)
    monkeypatch.setattr(server_events, "HEARTBEAT_S", 0.1)
    made = [new_query() for _ in range(3)]
    for committer in made:
        committer.commit(0, rows=[{"start": 0, "sip": "a", "count": 2, "b": 3}], positions={0: 2})
    context.progress.report(RUNNING, 1, 2)
    before = {query.name for _, query in context.catalog.queries()}
    last = made[-1].query
    sink = Sink("", "", last.name, last.id, Into("KAFKA", "t"))
    sinks = [context.sinks.create(replace(sink, name=fresh_name("sink"))).name for _ in range(3)]
    connections = [context.sinks.create_connection(Connection(fresh_name("c"), "KAFKA")).name for _ in range(2)]
    yield configuration([one.query.name for one in made], fresh_name("q"), [one.stream.name for one in made], sinks,
                        connections)
    context.progress.end(RUNNING)
    for sink in context.sinks.read().sinks.values():
        context.sinks.drop(sink.name)
    for connection in context.sinks.read().connections.values():
        context.sinks.drop_connection(connection.name)
    for _, query in context.catalog.queries():
        if query.name not in before:
            context.catalog.drop_query(query.name)


def test_every_answer_is_one_that_the_document_names(client_with, config):
    schema = schemathesis.openapi.from_asgi("/openapi.json", client_with(**GUARDED).app, headers=BEARER,
                                            config=SchemathesisConfig.from_dict(config))
    found, answered = [], set()
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError | events.FatalError):
            found.append(str(event))
        if isinstance(event, events.ScenarioFinished):
            found += [f"{one.failure_info.failure.operation}: {one.name}: {one.failure_info.failure.message}\n"
                      f"{one.failure_info.code_sample}"
                      for checks in event.recorder.checks.values() for one in checks if one.failure_info]
            answered |= {(event.label, one.response.status_code) for one in event.recorder.interactions.values()
                         if one.response is not None}
    assert not found, "\n\n".join(found)
    operations = {operation.ok().label for operation in schema.get_all_operations()}
    succeeded = {label for label, status in answered if status < 300}
    assert operations - succeeded == {"GET /readyz"}, "there are no workers; of all others an answer is none but an error"


def test_every_error_of_every_route_is_a_problem(client_with):
    document = client_with(**GUARDED).get("/openapi.json", headers=BEARER).json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            answers = {int(status): answer for status, answer in operation["responses"].items()}
            errors = {status: answer for status, answer in answers.items() if status >= 400}
            assert errors.keys() < answers.keys(), path
            assert {421, 500} | ({401} if path not in ("/healthz", "/readyz") else set()) <= errors.keys(), path
            assert (403 in errors) == (method in ("post", "delete")), path
            assert (413 in errors) == ("requestBody" in operation), path
            for answer in errors.values():
                assert list(answer["content"]) == [PROBLEM], path
    assert "HTTPValidationError" not in document["components"]["schemas"]
    assert document["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}


def test_on_loopback_the_document_speaks_of_no_token(client):
    text = client.get("/openapi.json").text
    assert "securitySchemes" not in text
    assert '"401"' not in text


@pytest.mark.parametrize(("path", "methods"), [
    ("/v1/queries", "GET, POST"), ("/v1/queries/q", "GET, DELETE"), ("/v1/sql/x", "GET, DELETE"), ("/v1/sql", "POST"),
    ("/healthz", "GET, HEAD")])
def test_a_wrong_method_is_told_all_that_work(client, path, methods):
    answer = client.put(path)
    assert (answer.status_code, answer.headers["allow"]) == (405, methods)
