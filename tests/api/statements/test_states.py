"""A query that a fault has stopped says so, with its reason, wherever it is shown; lost rows are waited for."""

from __future__ import annotations

import threading

import pytest
from fastapi.testclient import TestClient

from api.cli.commands.status import describe
from api.rest.app import create_app
from api.statements.context import Context, connect
from mars.adapters.view import stop_queries
from mars.config import Config
from mars.model import names
from mars.model.commits import COUNTERS, Pointer, QueryCommit
from mars.model.registry import FAULT_STATES
from mars.results import snapshot
from mars.results.snapshot import Snapshot

REASON = "offsets [7, 9) of partition 0 are gone; DROP QUERY"


@pytest.fixture
def stopped(context, new_query):
    """Stops a query of its own in a state; gives its name."""
    def stop(state: str) -> str:
        made = new_query()
        made.commit(0)
        stop_queries(context.zk, made.stream, [made.query.id], state, REASON)
        return made.query.name

    return stop


@pytest.mark.parametrize("state", FAULT_STATES)
def test_every_state_is_shown_with_its_reason_everywhere(context, client, stopped, state):
    name = stopped(state)

    def sql(statement: str) -> list[list]:
        return client.post("/v1/sql", json={"sql": statement}).json()["rows"]

    document = client.get(f"/v1/queries/{name}").json()
    assert (document["state"], document["reason"]) == (state, REASON)
    [listed] = [d for d in client.get("/v1/queries").json()["queries"] if d["name"] == name]
    assert (listed["state"], listed["reason"]) == (state, REASON)
    [shown] = [row for row in sql("SHOW QUERIES") if row[0] == name]
    assert shown[2:4] == [state, REASON]
    assert ["reason", REASON] in sql(f"DESCRIBE {name}")
    assert any(state in line and REASON in line for [line] in sql(f"EXPLAIN QUERY {name} WHY"))
    assert REASON in client.get(f"/v1/queries/{name}/results").json()["reason"]
    found = {"state": "ready", "api": "", "kafka": "", "redis": "", "zookeeper": "", "mappers": [], "reducers": [],
             "queries": [document]}
    assert f"{name}  {state}: {REASON}" in describe(found, Config())
    assert client.post(f"/v1/queries/{name}/resume").json()["state"] == "RUNNING"
    client.delete(f"/v1/queries/{name}")


def test_rows_that_are_made_again_are_waited_for_and_never_missing(context, client, new_query, monkeypatch):
    made = new_query()
    made.commit(0, watermark=600)
    made.commits[0].published = 900
    made.commit(0, watermark=600)
    monkeypatch.setattr(snapshot, "COMMIT_WAIT_S", 0.2)
    refused = client.get(f"/v1/queries/{made.query.name}/results")
    assert (refused.status_code, refused.json()["title"]) == (503, "closed windows are computed again")
    assert client.get(f"/v1/queries/{made.query.name}").json()["state"] == "RUNNING"

    def heal() -> None:
        made.commits[0].published = None
        made.commit(0, watermark=900)

    monkeypatch.setattr(snapshot, "COMMIT_WAIT_S", 20)
    threading.Timer(0.3, heal).start()
    assert client.get(f"/v1/queries/{made.query.name}/results").status_code == 200


def test_the_watermark_stays_while_rows_are_made_again():
    parts = (QueryCommit(1, watermark=600, published=900), QueryCommit(1, watermark=950))
    assert Snapshot(None, None, parts).watermark == 900
    assert Snapshot(None, None, (*parts, None)).watermark is None


@pytest.fixture
def unreadable(context, new_query):
    """A query that has committed, and of which no manifest reads any more; how a restarted API sees it and all others."""
    made = new_query()
    made.commit(0, rows=[], positions={0: 5})
    pointer = Pointer.load(context.zk.get(names.pointer(made.stream.id, 0)).data)
    (context.storage.root / pointer.manifest.path).unlink()
    again = Context(context.config, connect(context.config))
    yield made, TestClient(create_app(again), "http://localhost", raise_server_exceptions=False)
    again.close()
    context.catalog.drop_query(made.query.name)


def test_a_query_whose_commits_do_not_read_is_shown_with_all_others(context, new_query, unreadable):
    """Just when its state must be seen."""
    (lost, api), other = unreadable, new_query()
    other.commit(0, positions={0: 7}, counters=dict.fromkeys(COUNTERS, 7))
    before = api.get(f"/v1/queries/{lost.query.name}").json()
    assert (before["state"], "cannot be read" in before["reason"]) == ("RUNNING", True)
    stop_queries(context.zk, lost.stream, [lost.query.id], "STATE_LOST", "key part 0: put the file back")
    listed = {document["name"]: document for document in api.get("/v1/queries").json()["queries"]}
    document, whole = listed[lost.query.name], listed[other.query.name]
    assert document.keys() == whole.keys()
    assert (document["state"], document["reason"]) == ("STATE_LOST", "key part 0: put the file back")
    assert [document[name] for name in ("watermark", "lag", "commit")] == [None, None, None]
    assert document["counters"] == dict.fromkeys(COUNTERS)
    assert (document["positions"], "cannot be read" in document["lag_unknown"]) == ({"0": None}, True)
    assert whole["counters"]["tuples"] == 7

    def sql(statement: str) -> list[list]:
        return api.post("/v1/sql", json={"sql": statement}).json()["rows"]

    shown = {row[0]: row[2:] for row in sql("SHOW QUERIES")}
    assert shown[lost.query.name][:3] == ["STATE_LOST", "key part 0: put the file back", None]
    assert shown[other.query.name][4] == 7
    facts = dict(sql(f"DESCRIBE {lost.query.name}"))
    assert (facts["state"], facts["commit"], facts["tuples"]) == ("STATE_LOST", "not known", "not known")
    why = [line for [line] in sql(f"EXPLAIN QUERY {lost.query.name} WHY")]
    assert any("STATE_LOST: key part 0" in line for line in why)
    metrics = api.get("/metrics").text
    assert f'mars_query_running{{query="{lost.query.name}",stream="{lost.stream.name}"}} 0.0' in metrics
    assert f'mars_query_tuples_total{{query="{other.query.name}",stream="{other.stream.name}"}} 7.0' in metrics
    assert f'mars_query_commit{{query="{lost.query.name}"' not in metrics


def test_rows_of_a_query_whose_commits_do_not_read_say_the_way_out(context, unreadable):
    lost, api = unreadable
    results = f"/v1/queries/{lost.query.name}/results"
    refused = api.get(results)
    assert (refused.status_code, refused.json()["hint"][:9]) == (500, "ask again")
    stop_queries(context.zk, lost.stream, [lost.query.id], "STATE_LOST", "key part 0: put the file back")
    for refused in (api.get(results), api.post("/v1/sql", json={"sql": f"SELECT * FROM {lost.query.name}"})):
        assert (refused.status_code, refused.json()["title"]) == (500, "a committed file cannot be read")
        assert f"{lost.query.name} is STATE_LOST" in refused.json()["detail"]
        assert f"RESUME QUERY {lost.query.name}; or DROP" in refused.json()["hint"]


def test_while_a_commit_does_not_read_what_was_known_is_shown(context, client, new_query):
    made = new_query()
    made.commit(0, rows=[], positions={0: 5})
    assert client.get(f"/v1/queries/{made.query.name}").json()["commit"] == 1
    made.commit(0, positions={0: 6})
    pointer = Pointer.load(context.zk.get(names.pointer(made.stream.id, 0)).data)
    (context.storage.root / pointer.manifest.path).unlink()
    context.snapshots.cache.forget()
    document = client.get(f"/v1/queries/{made.query.name}")
    assert (document.status_code, document.json()["commit"]) == (200, 1)
    made.commit(0, positions={0: 5})
    assert client.get(f"/v1/queries/{made.query.name}").json()["commit"] == 3
