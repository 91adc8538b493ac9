"""What deliveries do otherwise where rows change: marks, ids of messages, and the newest row of a key."""

from __future__ import annotations

import json
from dataclasses import asdict

import pyarrow as pa

from mars.model.sinks import Into, Mark, Sink
from mars.publisher.postgres import newest
from mars.publisher.webhook import messages
from mars.results.places import ALL, Changes
from tests.publisher.rows import LINES, table

PLACE = Changes(((3, ALL, ALL), (4, -60_000, 7)))


def test_a_mark_has_the_place_among_changes() -> None:
    mark = Mark(2, rows=7, changes=PLACE.parts)
    assert Mark.load(mark.dump()) == mark
    assert "changes" not in Mark(2, (0, 60, 1), 7).dump(), "marks of other sinks are as they were"
    assert Mark.load(json.dumps({"epoch": 1, "place": None, "rows": 0, "above_us": None})).changes is None


def test_a_sink_knows_since_when_it_delivers() -> None:
    sink = Sink("s1", "s", "q", "q1", Into("KAFKA", "t"), since=(3, 4))
    form = json.loads(json.dumps(asdict(sink)))
    assert Sink.from_json(form) == sink
    assert Sink.from_json({name: value for name, value in form.items() if name != "since"}).since is None
    assert sink.replayed(None, None).since is None


def test_a_message_is_known_by_where_it_ends() -> None:
    """What comes again up to the same place has the same id, though rows that have changed meanwhile are missing."""
    def ids(rows: pa.Table, behind: Changes) -> list[str]:
        return [id_ for id_, _ in messages("s", "q", rows, Mark(1), Mark(1, changes=behind.parts))]

    assert ids(table(LINES), PLACE) == ids(table(LINES[1:]), PLACE)
    assert ids(table(LINES), PLACE) != ids(table(LINES), PLACE.at(0, (4, ALL, ALL)))
    assert len({*ids(pa.concat_tables([table(), table(first=table()["window_end"][0].as_py())]), PLACE)}) == 2


def test_the_newest_row_of_a_key_is_written() -> None:
    rows = pa.table({"window_start": [1, 1, 2, 1], "window_end": [2, 2, 3, 2], "k": ["a", None, "a", "a"],
                     "n": [1, 2, 3, 4]})
    assert newest(rows, ("window_start", "window_end", "k"))["n"].to_pylist() == [2, 3, 4]
