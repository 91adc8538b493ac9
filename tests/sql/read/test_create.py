"""CREATE STREAM to a Stream."""

from __future__ import annotations

import pytest

from mars.model.plan import Stream, StreamColumn
from sql.read.create import compile_stream
from sql.read.parse import parse


def test_every_option_is_kept() -> None:
    sql = (r"CREATE STREAM `My Stream` (a integer, `b c` TEXT, time LONG) FROM KAFKA 'a.b' FORMAT csv "
           r"(DELIMITER '\t', QUOTE '''', NULL 'NA', STRICT) TIMESTAMP TIME UNIT ns;")
    stream = compile_stream(parse(sql))
    assert stream == Stream(
        name="My Stream", id=0, topic="a.b", topic_id="", format="CSV", time_column="time", time_unit="ns", sql=sql,
        columns=(StreamColumn("a", "INT"), StreamColumn("b c", "STRING"), StreamColumn("time", "BIGINT")),
        options={"delimiter": "\t", "quote": "'", "null": "NA", "strict": True})
    assert Stream.from_json(stream.to_json()) == stream


def test_defaults() -> None:
    stream = compile_stream(parse("CREATE STREAM s (t BIGINT, p DECIMAL(5)) FROM KAFKA 's' FORMAT CSV TIMESTAMP t"))
    assert stream.options == {"delimiter": ",", "quote": '"', "null": "", "strict": False}
    assert (stream.time_unit, stream.columns[1].type) == ("ms", "DECIMAL(5,0)")


def test_json_has_paths_and_text_times_count_in_microseconds() -> None:
    sql = "CREATE STREAM s (t STRING PATH 'a.t', `PATH` INT) FROM KAFKA 's' FORMAT JSON TIMESTAMP t"
    stream = compile_stream(parse(sql))
    assert stream.columns == (StreamColumn("t", "STRING", "a.t"), StreamColumn("PATH", "INT"))
    assert (stream.time_unit, stream.options) == ("us", {})


@pytest.mark.parametrize(("written", "null"), [(r"'\\N'", r"\N"), ("'N'", "N"), (r"'\NA'", "NA"), (r"'\\'", "\\")])
def test_a_text_that_means_null_may_have_a_backslash(written: str, null: str) -> None:
    stream = compile_stream(parse(f"CREATE STREAM s (t BIGINT) FROM KAFKA 's' FORMAT CSV (NULL {written}) TIMESTAMP t"))
    assert stream.options["null"] == null
