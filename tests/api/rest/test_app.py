"""Problems, health and the token: what every route has in common."""

from __future__ import annotations

import pytest

from api.rest.app import is_loopback
from mars.errors import NotReadyError

pytestmark = pytest.mark.services
PROBLEM = "application/problem+json"


@pytest.mark.parametrize(("method", "path", "body", "status"), [
    ("GET", "/nothing", None, 404), ("DELETE", "/v1/sql", None, 405), ("POST", "/v1/sql", b"{", 422),
    ("POST", "/v1/sql", b'{"sq": 1}', 422), ("POST", "/v1/sql", b'{"sql": 7}', 422), ("POST", "/v1/queries", b"[]", 422),
    ("POST", "/v1/sql", b'{"sql": "\xff"}', 422), ("POST", "/v1/sql", b'{"sql": "SHOW STREAMS", "Id": "x"}', 422),
    ("POST", "/v1/queries", b'{"name": "q", "sql": "SELECT 1", "in": "x"}', 422),
    ("POST", "/v1/sql", b'{"sql": "SELECT \\ud800 FROM s"}', 400), ("POST", "/v1/sql", b"[" * 1_048_577, 413),
    ("POST", "/v1/queries", b'{"name": "\\ud800", "sql": "SELECT a FROM s"}', 422),
    ("POST", "/v1/queries", b'{"name": "q", "sql": "SELECT a FROM s", "into": "\\ud800"}', 400),
    ("GET", "/v1/queries/nothing", None, 404), ("GET", "/v1/queries/nothing/results", None, 404),
    ("GET", "/v1/queries/nothing/results/stream", None, 404), ("GET", "/v1/sql/nothing", None, 404)])
def test_every_error_is_a_problem(client, method, path, body, status):
    answer = client.request(method, path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    assert answer.headers["content-type"] == PROBLEM
    document = answer.json()
    assert document["status"] == status
    assert {"type", "title", "detail", "hint"} <= document.keys()


def test_what_is_wrong_with_a_body_is_said(client):
    def title(body: bytes) -> str:
        return client.post("/v1/sql", content=body, headers={"Content-Type": "application/json"}).json()["title"]

    assert title(b'{"sql": "SHOW STREAMS", "Id": "x"}') == "unknown key Id"
    assert title(b'{"sql": "\xff"}') == title(b"{") == "the body is not JSON"


def test_a_body_of_unknown_length_has_the_same_bound(client):
    answer = client.post("/v1/sql", content=iter([b'{"sql": "', b"x" * 1_048_577, b'"}']))
    assert (answer.status_code, answer.json()["title"]) == (413, "the body is too large")


def test_what_was_sent_is_told_cut(client):
    answer = client.post("/v1/sql", json={"sql": "x" * 60_000})
    assert (answer.status_code, len(answer.json()["title"])) == (400, 200)


def test_probes_may_ask_for_the_head_alone(client):
    assert (client.head("/healthz").status_code, client.head("/readyz").status_code) == (200, 503)


def test_a_defect_shows_no_stack_trace(client, context, monkeypatch):
    monkeypatch.setattr(context.catalog, "catalog", lambda: 1 / 0)
    answer = client.get("/v1/streams")
    assert answer.status_code == 500
    assert "Traceback" not in answer.text
    assert answer.json()["title"] == "an internal error"


def test_a_service_that_is_away_is_a_503(client, context, monkeypatch):
    def away():
        raise NotReadyError("ZooKeeper does not answer", "gone", "wait")

    monkeypatch.setattr(context.catalog, "catalog", away)
    assert client.get("/v1/streams").status_code == 503


def test_readiness_names_what_is_missing(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    answer = client.get("/readyz")
    assert answer.status_code == 503
    states = {name: state["ready"] for name, state in answer.json()["dependencies"].items()}
    assert states == {"zookeeper": True, "state folder": True, "kafka": True, "redis": True,
                      "spark": False, "mappers": False, "reducers": False, "publishers": True}


def test_metrics_speak_of_queries(client, new_query):
    name = new_query().query.name
    text = client.get("/metrics").text
    assert f'mars_query_tuples_total{{query="{name}"' in text
    assert 'mars_workers{kind="mapper"} 0.0' in text


def test_the_root_says_where_everything_is(client):
    document = client.get("/").json()
    assert (document["name"], document["version"]) == ("Mars", client.app.version)
    assert {"/v1/sql", "/docs", "/metrics", "/healthz"} <= set(document["links"].values())
    for link in document["links"].values():
        assert client.get(link).status_code in (200, 405, 503), link


def test_openapi_describes_every_path(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/v1/sql", "/v1/queries/{name}/results", "/v1/queries/{name}/results/stream", "/readyz"} <= paths.keys()


def test_off_loopback_a_token_is_needed(client_with):
    token = "0123456789abcdef"
    guarded = client_with(api_host="0.0.0.0", api_token=token, api_behind_tls=True)
    assert guarded.get("/v1/streams").status_code == 401
    assert guarded.get("/v1/streams", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert guarded.get("/v1/streams", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert guarded.get("/healthz").status_code == 200


def test_loopback_is_what_only_this_machine_reaches():
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "mars.example")] == [
        True, True, True, False, False]
