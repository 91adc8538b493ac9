"""A query that a fault has stopped says so, with its reason, wherever it is shown; lost rows are waited for."""

from __future__ import annotations

import threading

import pytest

from api import results_snapshot
from api.commands.status import describe
from api.results_snapshot import Snapshot
from mars import names
from mars.adapters.view import stop_queries
from mars.commits import Pointer, QueryCommit
from mars.config import Config
from mars.registry import FAULT_STATES

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
    monkeypatch.setattr(results_snapshot, "COMMIT_WAIT_S", 0.2)
    refused = client.get(f"/v1/queries/{made.query.name}/results")
    assert (refused.status_code, refused.json()["title"]) == (503, "closed windows are made again")
    assert client.get(f"/v1/queries/{made.query.name}").json()["state"] == "RUNNING"

    def heal() -> None:
        made.commits[0].published = None
        made.commit(0, watermark=900)

    monkeypatch.setattr(results_snapshot, "COMMIT_WAIT_S", 20)
    threading.Timer(0.3, heal).start()
    assert client.get(f"/v1/queries/{made.query.name}/results").status_code == 200


def test_the_watermark_stays_while_rows_are_made_again():
    parts = (QueryCommit(1, watermark=600, published=900), QueryCommit(1, watermark=950))
    assert Snapshot(None, None, parts).watermark == 900
    assert Snapshot(None, None, (*parts, None)).watermark is None


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
