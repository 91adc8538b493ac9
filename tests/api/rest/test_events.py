"""Server-sent events from a real server: each closed row once, also over breaks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import httpx
import pytest

from api.rest.app import _Server, create_app
from mars.results.places import Place
from mars.results.rows import gone

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


def read(url: str, name: str, count: int, last_id: str = "", then: Callable = lambda: None, each: Callable = lambda: None,
         **parameters) -> list[dict]:
    """The first `count` events that are no comments, fewer if the stream ends or a minute passes. `then` is called once the
    reader is connected, `each` after each event."""
    events, event, deadline = [], {}, time.monotonic() + 60
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
                each()
                if len(events) == count:
                    break
            elif field in ("id", "event", "data"):
                event[field] = value
            elif time.monotonic() > deadline:
                break
    return events


def rows(start: int, count: int) -> list[dict]:
    return [{"start": start, "sip": f"s{i:05}", "count": i, "b": None} for i in range(count)]


def test_rows_come_once_and_a_break_loses_none(url, new_query, monkeypatch):
    monkeypatch.setattr("mars.results.tails.CHUNK_ROWS", 10)
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
    monkeypatch.setattr("mars.results.tails.CHUNK_ROWS", 2)
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
                              ({"from": ["now", "0"]}, "parameter from is given twice")):
        answer = httpx.get(stream, params=parameters)
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
        assert answer.json()["title"] == title
        assert answer.json()["hint"]


def test_the_same_rows_have_the_same_id_whenever_they_are_read(url, new_query, monkeypatch):
    """So who reads again, in one go and as of later commits, knows what it has already."""
    monkeypatch.setattr("mars.results.tails.CHUNK_ROWS", 10)
    committer = new_query()
    name, events = committer.query.name, []
    committer.commit(1, watermark=1000)
    for start, count, expected in ((0, 25, 3), (60, 0, 0), (120, 3, 1), (180, 10, 1)):
        committer.commit(0, rows(start, count), watermark=start + 65)
        events += read(url, name, expected, events[-1]["id"] if events else "") if expected else []
    again = read(url, name, len(events))
    assert [(e["id"], e["data"]["rows"]) for e in again] == [(e["id"], e["data"]["rows"]) for e in events]
    assert [len(e["data"]["rows"]) for e in events] == [10, 10, 5, 3, 10]
    behind = read(url, name, 3, events[1]["id"])
    assert [e["id"] for e in behind] == [e["id"] for e in events[2:]]


def test_a_place_outlives_older_windows_and_is_gone_with_its_own(url, new_query, monkeypatch):
    """Rows in front of the place are deleted: nothing behind it is left out, and what is missing is told."""
    monkeypatch.setattr("mars.results.tails.CHUNK_ROWS", 10)
    committer = new_query()
    name = committer.query.name
    committer.commit(1, rows(60, 1), watermark=1000)
    committer.commit(0, rows(0, 25), watermark=65)
    committer.commit(0, rows(60, 24), watermark=125)
    committer.commit(0, rows(120, 2), watermark=185)
    events = read(url, name, 7)
    committer.forget(0, 60)
    assert [e["data"]["rows"] for e in read(url, name, 3, events[3]["id"])] == [e["data"]["rows"] for e in events[4:]]
    assert read(url, name, 1)[0]["id"] == events[3]["id"], "who begins anew gets what is whole"
    stream = f"{url}/v1/queries/{name}/results/stream"
    lost = httpx.get(stream, headers={"Last-Event-ID": events[2]["id"]})
    assert (lost.status_code, lost.json()["title"]) == (410, "the rows after this place are no longer kept")
    assert "begin again" in lost.json()["hint"]
    committer.forget(1, 120)  # of this window the other key part still has its rows
    assert httpx.get(stream, headers={"Last-Event-ID": events[3]["id"]}).status_code == 410
    assert [e["id"] for e in read(url, name, 1)] == [events[6]["id"]]


def test_a_reader_whose_rows_are_deleted_is_told_and_left(url, new_query, monkeypatch):
    committer = new_query()
    committer.commit(0, rows(0, 2), watermark=65)
    committer.commit(1, watermark=1000)

    def lose(*_) -> None:
        raise gone(Place(0, 60_000_000, 1), 120_000_000)

    first, error = read(url, committer.query.name, 2, each=lambda: monkeypatch.setattr("mars.results.tails._begin", lose))
    assert (first["event"], error["event"], error["data"]["status"]) == ("result", "error", 410)
    assert "id" not in error, "else a browser would forget its place"
    assert read(url, committer.query.name, 2) == [error], "and no more"


def test_a_damaged_file_is_told_and_waited_for(url, new_query, context):
    committer = new_query()
    committer.commit(0, rows(0, 2), watermark=65)
    committer.commit(1, watermark=1000)
    file = context.storage.root / committer.commits[0].results[0].segment.path
    blob = file.read_bytes()
    file.write_bytes(bytes(len(blob)))
    error, result = read(url, committer.query.name, 2, each=lambda: file.write_bytes(blob))
    assert (error["event"], error["data"]["status"], file.name in error["data"]["detail"]) == ("error", 500, True)
    assert "from a backup" in error["data"]["hint"]
    assert [r[2] for r in result["data"]["rows"]] == ["s00000", "s00001"]


def test_a_dropped_query_ends_its_stream(url, new_query, context):
    name = new_query().query.name
    assert [e["event"] for e in read(url, name, 1, "", lambda: context.catalog.drop_query(name))] == ["dropped"]


def test_a_wrong_event_id_is_refused(url, new_query):
    query = new_query().query
    id_, stream = query.id, f"{url}/v1/queries/{query.name}/results/stream"
    for wrong in ("/nonsense", "q0:::0:", "/0/60/-1", "/0/60/0", "/60/0/1", f"/0/{2**63}/1", "/0/60/1/a/b"):
        answer = httpx.get(stream, headers={"Last-Event-ID": wrong if "q" in wrong else id_ + wrong})
        assert (answer.status_code, answer.json()["title"]) == (422, "this is not an event id")
    for wrong, title in ((f"{id_}::65000000:25:2,1", "this is not an event id"),
                         ("q0/0/60/1", "the event id belongs to another query"),
                         (f"{id_}/0/60/1/0123456789ab", "the event id belongs to other rows")):
        answer = httpx.get(stream, headers={"Last-Event-ID": wrong})
        assert (answer.status_code, answer.json()["title"]) == (422, title)
        assert answer.json()["hint"]
