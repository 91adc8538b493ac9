"""The columns of late tuples, and what a SELECT says of those that are missing."""

from __future__ import annotations

from unittest.mock import Mock

from api.statements.late_tuples import LateTuples, gone_notes, schema
from sql.read.create import compile_stream
from sql.read.parse import parse

STREAM = compile_stream(parse("CREATE STREAM s (t BIGINT, `offset` INT, `Line` STRING, windows DOUBLE) FROM KAFKA 's' "
                              "FORMAT CSV TIMESTAMP t UNIT s"))


def test_columns_of_the_stream_give_way() -> None:
    assert schema(STREAM).names == ["window_start", "window_end", "windows", "partition", "offset", "line", "t", "offset_2",
                                    "Line_2", "windows_2"]


def test_notes_say_what_kafka_has_no_more() -> None:
    snapshot = Mock()
    snapshot.query.name = "q"
    some, none = LateTuples(Mock(), snapshot, bool, gone=1_200), LateTuples(Mock(), snapshot, bool)
    assert gone_notes([none, Mock()]) == []
    assert gone_notes([none, some]) == ["1,200 late tuples of q are left out: Kafka has their records no more."]


def test_why_there_is_none() -> None:
    snapshot, context = Mock(), Mock()
    snapshot.query.name, context.config.result_retention_days = "q", 7
    late = LateTuples(context, snapshot, bool)
    snapshot.counters.return_value = {"late": 0}
    assert late.why_none() == "No tuple of q has come too late."
    snapshot.counters.return_value = {"late": 3}
    assert late.why_none().startswith("3 tuples of q have come too late, and none of them is shown:")
