"""SELECT over results: what it reads, when it ends, and that looking at the first windows alone changes no answer."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from api.statements import select_results

MINUTE_US = 60_000_000
LONG = "SELECT count(*) FROM {q} AS q, range(10000000000) AS a, range(10000) AS b"


@pytest.fixture
def minutes(new_query):
    """40 windows, each in a segment of its own."""
    committer = new_query()
    for number in range(40):
        committer.commit(0, [{"start": 60 * number, "sip": sip, "count": number, "b": None} for sip in "ab"])
    for part in (0, 1):
        committer.commit(part, watermark=10_000)
    return committer.query.name


@pytest.fixture
def reads(context, monkeypatch):
    """The segments that are read, one entry for each time."""
    found, rows_of = [], context.tables.rows
    monkeypatch.setattr(context.tables, "rows", lambda one, *shown: found.append(one.segment) or rows_of(one, *shown))
    return found


@pytest.fixture
def post(client):
    """Runs a statement; the answer's status and document."""
    def run(sql: str, id_: str | None = None) -> tuple[int, dict]:
        answer = client.post("/v1/sql", json={"sql": sql, "id": id_})
        return answer.status_code, answer.json()

    return run


@pytest.mark.services
@pytest.mark.parametrize(("sql", "counts", "segments"), [
    ("SELECT * FROM {q} ORDER BY window_start DESC LIMIT 5", [39, 39, 38, 38, 37], 40),
    ("SELECT sip, window_start, count FROM {q} WHERE count % 2 = 0 ORDER BY window_end DESC, sip LIMIT 1", [38], 40),
    ("SELECT * FROM {q} WHERE window_start >= '1970-01-01T00:38:00Z' AND window_end < '1970-01-01T00:40:00Z'", [38, 38], 1),
    ("SELECT 1, 2, max(count) FROM {q} WHERE window_start < '1970-01-01T00:03:00Z'", [2], 3)])
def test_no_more_is_read_than_a_statement_needs(post, minutes, reads, sql, counts, segments):
    status, document = post(sql.format(q=minutes))
    place = [column["name"] for column in document["columns"]].index("count") if "max" not in sql else 2
    assert (status, [row[place] for row in document["rows"]]) == (200, counts)
    assert len(reads) <= segments


@pytest.mark.services
def test_a_statement_that_is_stopped_answers_with_an_error(post, client, minutes):
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(post, LONG.format(q=minutes), "long")
        deadline = time.monotonic() + 60
        while client.get("/v1/sql/long").status_code == 404:
            assert time.monotonic() < deadline
        assert client.delete("/v1/sql/long").status_code == 204
        status, document = answer.result(60)
    assert (status, document["title"]) == (400, "the statement was stopped")


@pytest.mark.services
def test_a_statement_without_a_place_says_so_or_is_stopped(post, client, context, minutes, monkeypatch):
    monkeypatch.setattr(context.engine, "places", threading.Semaphore(0))
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(post, f"SELECT * FROM {minutes}", "waits")
        deadline = time.monotonic() + 60
        while client.delete("/v1/sql/waits").status_code == 404:
            assert time.monotonic() < deadline
        assert answer.result(60)[1]["title"] == "the statement was stopped"
    monkeypatch.setattr(select_results, "QUEUE_S", 0.2)
    status, document = post(f"SELECT * FROM {minutes}")
    assert (status, document["title"]) == (503, "too many SELECTs over results at once")


@pytest.mark.services
def test_an_answer_that_is_too_large_is_refused_and_gives_its_place_back(post, context, minutes, monkeypatch):
    monkeypatch.setattr(select_results, "ANSWER_BYTES_MAX", 1 << 20)
    monkeypatch.setattr(context.engine, "places", threading.Semaphore(1))
    status, document = post(f"SELECT q.* FROM {minutes} AS q, range(100000) AS r LIMIT 8000000")
    assert (status, document["title"]) == (400, "the answer is too large")
    assert "page by page" in document["hint"]
    status, document = post(f"SELECT sip FROM {minutes} WHERE count > 99")
    assert (status, document["rows"]) == (200, [])
    assert "have rows, but the statement leaves all of them out" in document["reason"]
    assert f"Windows of {minutes} that begin after 1970-01-01T02:45:40Z are not closed yet: " in document["reason"]


@pytest.mark.services
def test_a_damaged_file_is_named(post, context, new_query):
    committer = new_query()
    for part in (0, 1):
        committer.commit(part, [{"start": 0, "sip": "a", "count": 1, "b": 1}], watermark=100)
    file = context.storage.root / committer.commits[0].results[0].segment.path
    file.write_bytes(b"\0" * file.stat().st_size)
    status, document = post(f"SELECT * FROM {committer.query.name}")
    assert (status, file.name in document["detail"]) == (500, True)
