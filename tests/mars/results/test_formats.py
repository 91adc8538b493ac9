"""Every type in every format."""

from __future__ import annotations

import datetime
import decimal
import time

import orjson
import pyarrow as pa
import pytest

from mars.errors import FormatError
from mars.results import formats
from mars.results.formats import choose, named_types, rows, timestamp_text, to_csv, to_json

DAY = datetime.date(2026, 1, 31)
TABLE = pa.table({
    "b": pa.array([True, None]), "n": pa.array([2**62, None]), "f": pa.array([0.1, float("nan")], pa.float32()),
    "d": pa.array([1e300, float("-inf")]), "m": pa.array([decimal.Decimal("0.0000000100"), None], pa.decimal128(20, 10)),
    "s": pa.array(['a,"b"', ""]), "day": pa.array([DAY, None]),
    "t": pa.array([1_500_000, 60_000_000], pa.timestamp("us", "UTC"))})


def test_json_values_are_exact_and_typed():
    document = orjson.loads(to_json({"next": None}, TABLE))
    assert document["rows"] == [
        [True, 2**62, 0.1, 1e300, "0.0000000100", 'a,"b"', "2026-01-31", "1970-01-01T00:00:01.500Z"],
        [None, None, "NaN", "-Infinity", None, "", None, "1970-01-01T00:01:00Z"]]
    assert [c["type"] for c in named_types(TABLE.schema)] == [
        "BOOLEAN", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(20,10)", "STRING", "DATE", "TIMESTAMP"]


def test_rows_are_written_a_few_at_a_time(monkeypatch):
    made = []
    monkeypatch.setattr(formats, "rows", lambda table: made.append(len(table)) or rows(table))
    table = pa.table({"n": range(25_000)})
    assert orjson.loads(to_json({"next": None}, table)) == {"next": None, "rows": [[n] for n in range(25_000)]}
    assert orjson.loads(to_json({}, table.slice(0, 0))) == {"rows": []}
    assert max(made) <= 10_000


def test_csv_tells_null_from_empty_text():
    assert to_csv(TABLE).decode().split("\r\n") == [
        "b,n,f,d,m,s,day,t", f'true,{2**62},0.1,1e+300,0.0000000100,"a,""b""",2026-01-31,1970-01-01T00:00:01.500Z',
        ',,NaN,-Infinity,,"",,1970-01-01T00:01:00Z', ""]


def test_an_empty_table_has_a_header():
    assert to_csv(TABLE.slice(0, 0)) == b"b,n,f,d,m,s,day,t\r\n"
    assert rows(TABLE.slice(0, 0)) == []


@pytest.mark.parametrize(("micros", "text"), [
    (None, None), (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59.999999Z"),
    (1_000, "1970-01-01T00:00:00.001Z"), (253_402_300_799_000_000, "9999-12-31T23:59:59Z")])
def test_instants_are_rfc_3339(micros, text):
    assert timestamp_text(micros) == text


@pytest.mark.parametrize(("accept", "chosen"), [
    ("", "application/json"), ("*/*", "application/json"), ("text/csv", "text/csv"), ("text/html, text/*;q=0.5", "text/csv"),
    ("application/json;q=0.1, text/csv", "text/csv"),
    ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.stream")])
def test_accept_chooses(accept, chosen):
    assert choose(accept) == chosen


def test_nothing_acceptable_is_refused():
    with pytest.raises(FormatError):
        choose("image/png, text/csv;q=0")


def test_a_full_page_is_fast():
    count = 100_000
    table = pa.table({"t": pa.array([i // 1000 * 60_000_000 for i in range(count)], pa.timestamp("us", "UTC")),
                      "s": [f"10.0.{i % 256}.{i % 7}" for i in range(count)], "n": range(count),
                      "d": [i / 7 for i in range(count)]})
    began = time.thread_time()  # of the processor, so that others at work do not count
    to_json({}, table)
    assert time.thread_time() - began < 4.0


def test_years_below_0_have_four_digits_and_the_least_time_is_itself():
    times = pa.chunked_array([pa.array([-(2**63), -(2**63) + 1, -84_000_000_000_000_000, None], pa.timestamp("us", "UTC"))])
    assert formats._converter(times.type)(times) == [
        "-290308-12-21T19:59:05.224192Z", "-290308-12-21T19:59:05.224193Z", "-0692-02-23T18:40:00Z", None]
