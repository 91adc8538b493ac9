"""Pages of results over hand-made commits of two key parts."""

from __future__ import annotations

import base64
import io
import json

import pyarrow as pa
import pytest

from mars.model.commits import COUNTERS
from mars.results import tails

pytestmark = pytest.mark.services
CSV, ARROW = "text/csv", "application/vnd.apache.arrow.stream"


def row(start: int, sip: str | None, count: int, b: int | None = 1) -> dict:
    return {"start": start, "sip": sip, "count": count, "b": b}


def get(client, committer, accept="application/json", **parameters):
    return client.get(f"/v1/queries/{committer.query.name}/results", params=parameters, headers={"Accept": accept})


@pytest.fixture
def filled(new_query):
    """Windows 0, 60 and 120 in both key parts; key part 1 is one window behind."""
    committer = new_query()
    committer.commit(0, [row(0, "b", 1), row(0, None, 2), row(60, "b", 3)], watermark=125)
    committer.commit(1, [row(0, "a", 4), row(60, "a", 5), row(120, "a", 6)], watermark=185)
    return committer


def test_a_window_is_visible_once_every_key_part_has_closed_it(client, filled):
    page = get(client, filled).json()
    assert [(c["name"], c["type"]) for c in page["columns"]] == [
        ("window_start", "TIMESTAMP"), ("window_end", "TIMESTAMP"), ("sip", "STRING"), ("count", "BIGINT"), ("b", "BIGINT")]
    assert [r[2:] for r in page["rows"]] == [[None, 2, 1], ["a", 4, 1], ["b", 1, 1], ["a", 5, 1], ["b", 3, 1]]
    assert page["rows"][3][:2] == ["1970-01-01T00:01:00Z", "1970-01-01T00:02:00Z"]
    assert (page["commit"], page["watermark"], page["next"]) == (2, "1970-01-01T00:02:05Z", None)
    filled.commit(0, watermark=190)
    assert get(client, filled).json()["rows"][-1][2:] == ["a", 6, 1]


def test_pages_stay_as_of_the_first_pages_commit(client, filled):
    for order in ("asc", "desc"):
        filled.commit(0, watermark=filled.commits[0].watermark)
        whole = get(client, filled, order=order).json()
        first = get(client, filled, order=order, limit=2).json()
        filled.commit(0, watermark=filled.commits[0].watermark + 70)
        rows, cursor = first["rows"], first["next"]
        while cursor:
            page = get(client, filled, cursor=cursor, limit=2).json()
            assert page["commit"] == whole["commit"]
            rows, cursor = rows + page["rows"], page["next"]
        assert rows == whole["rows"]


def test_rows_that_are_deleted_are_missing_from_no_page_in_silence(client, filled):
    """A page whose rows, or whose place, nobody knows any more is refused; a window is shown whole or not at all."""
    filled.commit(0, watermark=190)

    def begun(rows: int, **parameters) -> str:
        return get(client, filled, limit=rows, **parameters).json()["next"]

    in_first, in_second, backwards = begun(2), begun(4), begun(2, order="desc")
    since, of_one = begun(1, order="desc", **{"from": 60_000}), begun(1, where="sip = 'a'")
    filled.forget(0, 60)
    assert [r[2:] for r in get(client, filled, cursor=in_second).json()["rows"]] == [["b", 3, 1], ["a", 6, 1]]
    assert [r[2:] for r in get(client, filled).json()["rows"]] == [["a", 5, 1], ["b", 3, 1], ["a", 6, 1]]
    assert len(get(client, filled, cursor=since).json()["rows"]) == 2
    for cursor in (in_first, backwards, of_one):
        answer = get(client, filled, cursor=cursor)
        assert (answer.status_code, answer.json()["type"]) == (410, "urn:mars:problem:gone")
        assert "windows from 1970-01-01T00:01:00Z on are still complete" in answer.json()["detail"]
    assert get(client, filled, cursor=begun(2, order="desc")).json()["rows"][0][2:] == ["a", 5, 1]
    rows = client.post("/v1/sql", json={"sql": f"SELECT count(*) FROM {filled.query.name}"}).json()["rows"]
    assert rows == [[3]]
    filled.forget(0, 120)
    assert get(client, filled, cursor=in_second).status_code == 410


def test_a_cursor_of_an_earlier_version_reads_on(client, filled):
    given = get(client, filled, limit=2).json()["next"]
    document = json.loads(base64.urlsafe_b64decode(given + "=="))
    del document["gone_us"]
    old = base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")
    assert get(client, filled, cursor=old).json() == get(client, filled, cursor=given).json()


def test_from_to_and_where_select(client, filled):
    assert [r[2] for r in get(client, filled, **{"from": "1970-01-01T00:01:00Z"}).json()["rows"]] == ["a", "b"]
    assert len(get(client, filled, to=60_000).json()["rows"]) == 3
    assert [r[2] for r in get(client, filled, where="count >= 4 AND sip LIKE 'a%'").json()["rows"]] == ["a", "a"]
    empty = get(client, filled, where="count > 100").json()
    assert empty["rows"] == []
    assert "No row matches" in empty["reason"]


def test_a_read_behind_the_last_closed_window_says_what_the_next_one_waits_for(client, filled):
    def why(**parameters) -> str:
        page = get(client, filled, **parameters).json()
        assert page["rows"] == []
        return page["reason"]

    name = filled.query.name
    watermark = client.get(f"/v1/queries/{name}").json()["watermark"]
    behind = why(**{"from": 900_000})
    assert behind.startswith("No window that begins at 1970-01-01T00:15:00Z or later is closed yet: ")
    assert f"the watermark is {watermark}, and partition 0 of topic '{filled.stream.topic}'" in behind
    sql = client.post("/v1/sql", json={"sql": f"SELECT * FROM {name} WHERE window_start > '1971-01-01T00:00:00Z'"}).json()
    assert f"Windows of {name} that begin after 1970-01-01T00:01:05Z are not closed yet: the watermark is" in sql["reason"]
    plan = client.post("/v1/sql", json={"sql": f"EXPLAIN QUERY {name} WHY"}).json()["rows"]
    assert plan[-1][0].startswith(f"next      the watermark is {watermark}, and partition 0")
    assert client.post(f"/v1/queries/{name}/pause").status_code == 200
    assert f"{name} is PAUSED: RESUME QUERY {name} continues it." in why(**{"from": 900_000})
    plan = client.post("/v1/sql", json={"sql": f"EXPLAIN QUERY {name} WHY"}).json()["rows"]
    assert plan[-1][0].startswith("counted ")


@pytest.mark.parametrize("where", ["count >", "nothing > 1", "1=1) UNION SELECT 1 --", "count IN (SELECT 1)", '"count" > 1'])
def test_a_wrong_condition_is_refused(client, filled, where):
    answer = get(client, filled, where=where)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("parameters", [{"limit": 0}, {"limit": 100_001}, {"from": "yesterday"}, {"order": "up"},
                                        {"cursor": "abc"}, {"partial": "perhaps"}])
def test_a_wrong_parameter_is_a_422(client, filled, parameters):
    answer = get(client, filled, **parameters)
    assert answer.status_code == 422
    assert answer.json()["title"]


@pytest.mark.parametrize("name", ["from", "to"])
@pytest.mark.parametrize("time", [1_767_225_600_000_000_000, -1_767_225_600_000_000_000, 2**63 // 1000, "9" * 5_000])
def test_a_time_in_other_units_than_milliseconds_is_a_422(client, filled, name, time):
    answer = get(client, filled, limit=1, **{name: time})
    assert (answer.status_code, answer.json()["title"]) == (422, f"{name} is not a time")
    assert "milliseconds" in answer.json()["hint"]


def test_the_farthest_times_are_times(client, filled):
    farthest = 2**63 // 1000 - 1
    page = get(client, filled, limit=1, to=farthest, **{"from": -farthest}).json()
    assert len(page["rows"]) == 1
    assert len(get(client, filled, limit=9, cursor=page["next"]).json()["rows"]) == 4


@pytest.mark.parametrize(("parameters", "title", "hint"), [
    ({"wher": "count > 1"}, "unknown parameter wher", "did you mean where?"),
    ({"nothing_like_it": 1}, "unknown parameter nothing_like_it", "it takes partial, from, to, where, limit"),
    ({"limit": [1, 2]}, "parameter limit is given twice", "give it once")])
def test_a_parameter_that_would_be_ignored_is_refused(client, filled, parameters, title, hint):
    answer = get(client, filled, **parameters)
    assert (answer.status_code, answer.json()["title"]) == (422, title)
    assert hint in answer.json()["hint"]


@pytest.mark.parametrize("change", [{"skip": -3}, {"commits": [99, 99]}, {"commits": [1]}, {"commits": [-1, 1]},
                                    {"bound_us": 186_000_000}, {"start_us": 2**63}, {"gone_us": "long ago"}])
def test_a_cursor_that_no_page_gave_out_is_refused(client, filled, change):
    given = get(client, filled, limit=2).json()["next"]
    document = json.loads(base64.urlsafe_b64decode(given + "=="))
    forged = base64.urlsafe_b64encode(json.dumps({**document, **change}).encode()).decode().rstrip("=")
    answer = get(client, filled, cursor=forged)
    assert (answer.status_code, answer.json()["title"]) == (422, "this is not a cursor")


def test_a_cursor_that_contradicts_is_told_in_the_words_of_the_request(client, filled):
    given = get(client, filled, limit=2, **{"from": "1970-01-01"}).json()["next"]
    for parameters, detail in (({"order": "desc"}, "order is desc now and was asc on the first page"),
                               ({"from": 60_000}, "from is 1970-01-01T00:01:00Z now and was 1970-01-01T00:00:00Z"),
                               ({"where": "count > 1"}, "where is count > 1 now and was not given")):
        answer = get(client, filled, cursor=given, **parameters)
        assert answer.status_code == 422
        assert detail in answer.json()["detail"]


@pytest.mark.parametrize(("first", "then"), [({"order": "desc"}, {"order": "asc"}),
                                             ({"partial": "true"}, {"partial": "false"})])
def test_a_cursor_is_not_turned_back_to_a_default_in_silence(client, filled, first, then):
    given = get(client, filled, limit=2, **first).json()["next"]
    assert get(client, filled, limit=2, cursor=given, **then).status_code == 422
    repeated = get(client, filled, limit=2, cursor=given, **first).json()["rows"]
    assert repeated == get(client, filled, limit=2, cursor=given, **{"from": "", "where": ""}).json()["rows"] != []


def test_what_a_condition_cannot_name_has_a_hint_for_results(client, filled):
    assert "DESCRIBE the query" in get(client, filled, where="no_column_like_it = 1").json()["hint"]
    assert "at each row alone" in get(client, filled, where="sum(count) > 1").json()["hint"]


def test_a_damaged_file_of_results_is_named_with_what_to_do(client, filled, context):
    file = context.storage.root / filled.commits[0].results[0].segment.path
    file.write_bytes(b"\0" * file.stat().st_size)
    answer = get(client, filled)
    assert (answer.status_code, file.name in answer.json()["detail"]) == (500, True)
    assert "from a backup" in answer.json()["hint"]


def test_csv_and_arrow_carry_the_same_rows(client, filled):
    answer = get(client, filled, CSV, limit=3)
    assert answer.text == ("window_start,window_end,sip,count,b\r\n"
                           "1970-01-01T00:00:00Z,1970-01-01T00:01:00Z,,2,1\r\n"
                           "1970-01-01T00:00:00Z,1970-01-01T00:01:00Z,a,4,1\r\n"
                           "1970-01-01T00:00:00Z,1970-01-01T00:01:00Z,b,1,1\r\n")
    assert answer.headers["mars-commit"] == "2"
    assert answer.headers["mars-watermark"] == "1970-01-01T00:02:05Z"
    assert answer.headers["mars-next"]
    table = pa.ipc.open_stream(io.BytesIO(get(client, filled, ARROW).content)).read_all()
    assert table["sip"].to_pylist() == [None, "a", "b", "a", "b"]
    assert str(table.schema.field("window_start").type) == "timestamp[us, tz=UTC]"
    assert get(client, filled, "image/png").status_code == 406


def test_min_commit_waits_for_nothing_that_is_there(client, filled):
    assert get(client, filled, min_commit=2).json()["commit"] == 2


def test_a_query_shows_its_counters_once(client, filled):
    counters = dict(zip(COUNTERS, (10, 1, 2, 0, 3, 4), strict=True))
    filled.commit(0, counters=counters, bad_reasons={"bytes: not a number": 1}, positions={0: 8})
    filled.commit(1, positions={0: 7})
    document = client.get(f"/v1/queries/{filled.query.name}").json()
    assert document["counters"] == counters
    assert document["bad_reasons"] == {"bytes: not a number": 1}
    assert document["positions"] == {"0": 7}
    assert document["lag"] == {"tuples": 0, "partitions": {"0": 0}}
    assert (document["state"], document["commit"]) == ("RUNNING", 4)


def test_a_query_with_a_limit_shows_the_first_rows_of_each_window_of_all_key_parts(client, context, new_query):
    committer = new_query("SELECT sip, count(*), sum(bytes) AS b FROM {s} GROUP BY sip WINDOWING 60 s "
                          "ORDER BY count DESC LIMIT 2")
    committer.commit(0, [row(0, "b", 7), row(0, None, 2), row(60, "b", 3), row(60, "c", 3)], watermark=185)
    committer.commit(1, [row(0, "a", 4), row(0, "d", 9), row(60, "a", 5)], watermark=185)
    shown = [["b", 7, 1], ["d", 9, 1], ["a", 5, 1], ["b", 3, 1]]
    assert [r[2:] for r in get(client, committer).json()["rows"]] == shown
    rows, cursor = [], ""
    while cursor is not None:
        page = get(client, committer, limit=1, **({"cursor": cursor} if cursor else {})).json()
        rows, cursor = rows + page["rows"], page["next"]
    assert [r[2:] for r in rows] == shown
    assert [r[2:] for r in get(client, committer, where="count < 7").json()["rows"]] == shown[2:]  # of what is shown
    tail = tails.open_tail(context.results, committer.query.name, None, None, None)
    assert [list(r.values())[2:] for r in tails.next_block(context.results, tail).table.to_pylist()] == shown
    answer = client.post("/v1/sql", json={"sql": f"SELECT sip FROM {committer.query.name} ORDER BY sip"})
    assert [r for r, in answer.json()["rows"]] == ["a", "b", "b", "d"]
