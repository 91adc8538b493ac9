"""The time of sending in lines: it stands where the event time stood, and nothing else changes."""

from __future__ import annotations

import json
import re
import time

import pytest

from api.cli.stamp import Stamper
from mars.errors import MarsError
from sql.guess.stream import guess_schema


def stamped(lines: list[bytes], column: str | None = None) -> list[bytes]:
    """The lines with the time of now, by what the first one looks like."""
    return list(map(Stamper(guess_schema(lines[:1]), column), lines))


@pytest.mark.parametrize(("line", "where"), [
    (b'1700000000000,"",x', rb'(\d{13}),"",x'),
    (b'x, "a" ,"b""c",1700000000000,1.50,,\xff', rb'x, "a" ,"b""c",(\d{13}),1\.50,,\xff'),
    (b'a;"1700000000000";b', rb'a;"(\d{13})";b'),
    (b"1700000000000," + b"x" * 200_000, rb"(\d{13}),x{200000}"),
    (b'{"at":1700000000000,"d":0.12345678901234567890123}', rb'{"at":(\d{13}),"d":0\.12345678901234567890123}'),
    (b'{"d": 1e400, "at" : 1700000000000 , "d": -0.0}', rb'{"d": 1e400, "at" : (\d{13}) , "d": -0\.0}'),
    (b'{"s":"\\ud800\\u00e4\\/","at":1700000000000}', rb'{"s":"\\ud800\\u00e4\\/","at":(\d{13})}'),
    (b'{"e":{"n":{},"at":1700000000000}}', rb'{"e":{"n":{},"at":(\d{13})}}'),
    (b'[{"at":1700000000000,"n":1.0}, {"at":1700000000001}]', rb'\[{"at":(\d{13}),"n":1\.0}, {"at":\d{13}}\]'),
])
def test_only_the_event_time_changes(line, where):
    sample = re.sub(rb"x{200000}", b"x", line)  # a line so long is none to guess from
    began = int(time.time() * 1000)
    [_, found] = stamped([sample, line])
    match = re.fullmatch(where, found)
    assert match, found[:200]
    assert began <= int(match[1]) <= time.time() * 1000


@pytest.mark.parametrize(("line", "before", "after"), [
    (b'{"at":"2026-01-01T00:00:00Z","n":1.0}', b'{"at":"', b'","n":1.0}'),
    (b'x,"2026-01-01 00:00:00",1.0', b'x,"', b'",1.0'),
    (b"2026-01-01T00:00:00,1.0", b"", b",1.0"),
])
def test_a_time_in_iso_8601_stays_one(line, before, after):
    [found] = stamped([line])
    assert found.startswith(before)
    assert found.endswith(after)
    text = found[len(before):len(found) - len(after)].decode()
    assert time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() - 60)) < text
    assert guess_schema([found]).time_column is not None


def test_a_value_of_another_kind_is_replaced_whole():
    texts, numbers = [b'{"at":"2026-01-01T00:00:00Z"}', b'{"at":5}'], [b'{"at":1700000000000}', b'{"at":"a\\"b"}']
    assert json.loads(stamped(texts)[1])["at"] > "2026-01-02"
    assert json.loads(stamped(numbers)[1])["at"] > 1_700_000_000_000


@pytest.mark.parametrize("line", [b"not json", b'{"at":1700000000000', b'{"e":{}}', b'{"e":{"at":null}}', b"[]", b"5", b"",
                                  b'{"at":1,"e":2}', b'{"x":"{\\"e\\":{\\"at\\":1}}"}'])
def test_json_without_an_event_time_stays_as_it_is(line):
    assert stamped([b'{"e":{"at":1700000000000}}', line])[1] == line


@pytest.mark.parametrize("line", [b"a", b"a,b", b"a,b,", b'a,"b,1700000000000', b'"a', b" "])
def test_csv_without_an_event_time_stays_as_it_is(line):
    assert stamped([b"a,b,1700000000000", line])[1] == line


def test_a_column_is_stamped_by_its_name():
    found = stamped([b'{"b":1700000000000,"a.b":1}'], "a.b")[0]
    assert re.fullmatch(rb'{"b":1700000000000,"a.b":\d{13}}', found)


def test_an_unknown_time_column_names_the_columns():
    with pytest.raises(MarsError, match="who, at"):
        Stamper(guess_schema([b"who,at\na,1700000000\n"]), "when")
