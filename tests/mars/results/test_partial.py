"""Open windows from committed state, over two key parts of which one is behind."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mars.algebra import cells

pytestmark = pytest.mark.services


def encoded(committer, tuples: list[tuple[int, str]], part: int) -> bytes:
    """The cells of (time, sip) tuples whose keys are all said to lie in `part`."""
    times, sips = (list(column) for column in zip(*tuples, strict=True))
    count = len(times)
    columns = {"sip": pa.array(sips).dictionary_encode(), "bytes": pa.array([1] * count),
               "time": pa.array(times, pa.int64())}
    table = cells.aggregate(committer.query.plan, committer.stream, columns, np.array(times, np.int64), None, 0,
                            np.arange(count), np.zeros(count, np.int32))
    return cells.encode(table)


def get(client, committer, **parameters):
    return client.get(f"/v1/queries/{committer.query.name}/results", params={"partial": "true", **parameters})


@pytest.fixture
def committer(new_query):
    """Part 0 has closed window 0 and holds 60; part 1 has closed nothing and holds 0 (twice) and 60."""
    made = new_query()
    closed_too = made.write("state", encoded(made, [(1, "a"), (61, "a"), (62, "a")], 0))
    made.commit(0, [{"start": 0, "sip": "a", "count": 1, "b": 1}], watermark=70, state=[closed_too])
    deltas = [made.write("state", encoded(made, tuples, 1)) for tuples in ([(2, "b"), (60, "b")], [(3, "b")])]
    made.commit(1, watermark=50, state=deltas)
    return made


def test_open_windows_are_marked(client, committer):
    page = get(client, committer).json()
    assert page["columns"][-1] == {"name": "partial", "type": "BOOLEAN"}
    assert [r[2:] for r in page["rows"]] == [["a", 1, 1, True], ["b", 2, 2, True], ["a", 2, 2, True], ["b", 1, 1, True]]
    committer.commit(1, [{"start": 0, "sip": "b", "count": 2, "b": 2}], watermark=60)
    assert [r[-1] for r in get(client, committer).json()["rows"]] == [False, False, True, True]


def test_the_mark_has_its_type_before_the_first_row(client, new_query):
    page = get(client, new_query()).json()
    assert (page["columns"][-1], page["rows"]) == ({"name": "partial", "type": "BOOLEAN"}, [])


def test_pages_of_open_windows_are_kept_for_a_while(client, committer, context):
    first = get(client, committer, limit=3).json()
    committer.commit(0, watermark=130, state=[])
    second = get(client, committer, limit=3, cursor=first["next"]).json()
    assert [r[2:] for r in second["rows"]] == [["b", 1, 1, True]]
    assert second["next"] is None
    kept = context.results.partial_pages._tables
    for id_ in list(kept):
        kept.pop(id_)
    gone = get(client, committer, cursor=first["next"])
    assert gone.status_code == 410


def test_an_empty_result_names_what_is_open(client, committer):
    for part in (0, 1):
        committer.commit(part, max_event_time={0: 62}, watermark=57, results=[],
                         counters={**committer.commits[part].counters, "tuples": 3})
    reason = client.get(f"/v1/queries/{committer.query.name}/results").json()["reason"]
    assert reason == (
        "No window is closed yet: 2 windows are open, and the next one closes once the event time of every active partition "
        f"has reached 1970-01-01T00:01:05Z; the watermark is 1970-01-01T00:00:57Z, and partition 0 of topic "
        f"'{committer.stream.topic}' holds it back (newest event time: 1970-01-01T00:01:02Z).")


def test_a_damaged_file_of_open_windows_is_told_as_what_mends(client, new_query, context):
    made = new_query()
    segment = made.write("state", encoded(made, [(61, "a")], 0))
    made.commit(0, [{"start": 0, "sip": "a", "count": 1, "b": 1}], watermark=60, state=[segment])
    made.commit(1, watermark=60, state=[])
    file = context.storage.root / segment.path
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + b"?")
    answer = get(client, made)
    assert (answer.status_code, answer.json()["title"]) == (503, "the open windows cannot be read")
    assert segment.path in answer.json()["detail"]
    assert len(get(client, made, partial="false").json()["rows"]) == 1
    file.write_bytes(whole)
    assert [row[-1] for row in get(client, made).json()["rows"]] == [False, True]
