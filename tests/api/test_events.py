"""Server-sent events from a real server: each closed row once, also over breaks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import httpx
import pytest

from api.app import _Server, create_app

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def url(context):
    """A server in a thread of this process."""
    import uvicorn

    settings = uvicorn.Config(create_app(context), port=0, log_level="error", timeout_graceful_shutdown=1)
    server = _Server(settings, context)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


def read(url: str, name: str, count: int, last_id: str = "", then: Callable = lambda: None, **parameters) -> list[dict]:
    """The first `count` events that are no comments; `then` is called once the reader is connected."""
    events, event = [], {}
    headers = {"Last-Event-ID": last_id} if last_id else {}
    with httpx.stream("GET", f"{url}/v1/queries/{name}/results/stream", headers=headers, params=parameters,
                      timeout=60) as answer:
        assert answer.status_code == 200
        then()
        for line in answer.iter_lines():
            field, _, value = line.partition(": ")
            if line == "" and "event" in event:
                events.append({**event, "data": json.loads(event["data"])})
                event = {}
                if len(events) == count:
                    break
            elif field in ("id", "event", "data"):
                event[field] = value
    return events


def rows(start: int, count: int) -> list[dict]:
    return [{"start": start, "sip": f"s{i:05}", "count": i, "b": None} for i in range(count)]


def test_rows_come_once_and_a_break_loses_none(url, new_query, monkeypatch):
    monkeypatch.setattr("api.events.CHUNK_ROWS", 10)
    committer = new_query()
    name = committer.query.name
    committer.commit(1, watermark=1000)
    committer.commit(0, rows(0, 25), watermark=65)
    first = read(url, name, 2)
    assert [e["event"] for e in first] == ["result", "result"]
    assert first[0]["data"]["watermark"] == "1970-01-01T00:01:05Z"
    committer.commit(0, rows(60, 5), watermark=125)
    rest = read(url, name, 2, first[1]["id"])
    sent = [r[2] for e in [*first, *rest] for r in e["data"]["rows"]]
    assert sent == [f"s{i:05}" for i in range(25)] + [f"s{i:05}" for i in range(5)]
    last, = read(url, name, 1, rest[-1]["id"], lambda: committer.commit(0, rows(120, 1), watermark=185))
    assert [r[0] for r in last["data"]["rows"]] == ["1970-01-01T00:02:00Z"]
    assert last["data"]["commit"] == 4


def test_from_now_leaves_out_what_is_closed(url, new_query):
    committer = new_query()
    committer.commit(1, watermark=1000)
    committer.commit(0, rows(0, 2), watermark=65)
    event, = read(url, committer.query.name, 1, "", lambda: committer.commit(0, rows(60, 1), watermark=125),
                  **{"from": "now"})
    assert event["data"]["rows"][0][0] == "1970-01-01T00:01:00Z"


def test_where_leaves_out_rows_and_a_break_within_a_commit_loses_none(url, new_query, monkeypatch):
    monkeypatch.setattr("api.events.CHUNK_ROWS", 2)
    committer = new_query()
    name, where = committer.query.name, "count >= 20 OR sip = 's00003'"
    committer.commit(1, watermark=1000)
    committer.commit(0, rows(0, 25), watermark=65)
    committer.commit(0, rows(60, 3), watermark=125)
    committer.commit(0, rows(120, 4), watermark=185)
    first, = read(url, name, 1, where=where)
    rest = read(url, name, 3, first["id"], where=where)
    assert [r[3] for e in [first, *rest] for r in e["data"]["rows"]] == [3, 20, 21, 22, 23, 24, 3]
    stream = f"{url}/v1/queries/{name}/results/stream"
    for other in ({}, {"where": "count > 20"}, {"where": where, "from": "0"}):
        answer = httpx.get(stream, headers={"Last-Event-ID": first["id"]}, params=other)
        assert (answer.status_code, answer.json()["title"]) == (422, "the event id belongs to other rows")
    assert httpx.get(stream, params={"where": "no_column > 1"}).status_code == 400


def test_what_the_stream_does_not_take_is_refused(url, new_query):
    stream = f"{url}/v1/queries/{new_query().query.name}/results/stream"
    for parameters, title in (({"partial": "true"}, "unknown parameter partial"),
                              ({"from": ["now", "0"]}, "parameter from stands twice")):
        answer = httpx.get(stream, params=parameters)
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
        assert answer.json()["title"] == title
        assert answer.json()["hint"]


def test_a_dropped_query_ends_its_stream(url, new_query, context):
    name = new_query().query.name
    assert [e["event"] for e in read(url, name, 1, "", lambda: context.catalog.drop_query(name))] == ["dropped"]


def test_a_wrong_event_id_is_refused(url, new_query):
    name = new_query().query.name
    for wrong in ("nonsense", "q0:::0:", ":::-1:", ":::0::a:b"):
        answer = httpx.get(f"{url}/v1/queries/{name}/results/stream", headers={"Last-Event-ID": wrong})
        assert answer.status_code == 422
