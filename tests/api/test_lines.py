"""A user's file: what is a tuple in it, what is refused, and the time of now in its lines."""

import json
import time

import pytest

from api.lines import LineFile, Stamper
from mars.errors import MarsError


def write(path, text: str):
    path.write_text(text)
    return path


def test_header_and_blank_lines_are_no_tuples(tmp_path):
    path = write(tmp_path / "a.csv", "at,who\r\n1700000000,a\r\n\r\n1700000001,b")
    file = LineFile(path)
    assert file.header
    assert list(file.lines()) == [b"1700000000,a", b"1700000001,b"]
    assert list(LineFile(path, header=False).lines())[0] == b"at,who"


@pytest.mark.parametrize(("text", "reason"), [("", "no tuple"), ("\n\n", "no tuple"), ("a\0b\n", "no text"),
                                              ('[\n{"a": 1}\n]', "several lines")])
def test_what_holds_no_lines_is_refused_with_the_reason(tmp_path, text, reason):
    with pytest.raises(MarsError, match=reason):
        LineFile(write(tmp_path / "x", text))


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(MarsError, match="cannot be read"):
        LineFile(tmp_path)


def test_csv_gets_the_time_of_now_in_its_unit(tmp_path):
    file = LineFile(write(tmp_path / "a.csv", 'who,at\n"a,b",1700000000\nc,1700000001\n'))
    began = int(time.time())
    stamped = [Stamper(file.guess, None)(line).decode() for line in file.lines()]
    assert stamped[0].startswith('"a,b",')
    assert began <= int(stamped[1].split(",")[1]) <= time.time()


def test_json_gets_the_time_of_now_inside_an_object(tmp_path):
    file = LineFile(write(tmp_path / "a.json", '{"e": {"at": "2026-01-01T00:00:00Z"}, "n": 1}\n'))
    stamper = Stamper(file.guess, None)
    assert json.loads(stamper(next(file.lines())))["e"]["at"] > "2026-01-02"
    assert stamper(b"not json") == b"not json"


def test_an_unknown_time_column_names_the_columns(tmp_path):
    file = LineFile(write(tmp_path / "a.csv", "who,at\na,1700000000\n"))
    with pytest.raises(MarsError, match="who, at"):
        Stamper(file.guess, "when")
