"""A user's file: what is a tuple in it, and what is refused."""

import os
from pathlib import Path

import pytest

from api.cli.lines import LineFile
from api.demo.own import FileSource
from mars.errors import MarsError


def write(path, text: str):
    path.write_text(text)
    return path


def test_header_and_blank_lines_are_no_tuples(tmp_path):
    path = write(tmp_path / "a.csv", "at,who\r\n1700000000,a\r\n\r\n1700000001,b")
    file = LineFile(path)
    assert file.header
    assert list(file.lines()) == [b"1700000000,a", b"1700000001,b"]
    assert next(iter(LineFile(path, header=False).lines())) == b"at,who"


@pytest.mark.parametrize(("text", "reason"), [("", "no tuple"), ("\n\n", "no tuple"), ("a\0b\n", "not a text file"),
                                              ('[\n{"a": 1}\n]', "several lines")])
def test_what_holds_no_lines_is_refused_with_the_reason(tmp_path, text, reason):
    with pytest.raises(MarsError, match=reason):
        LineFile(write(tmp_path / "x", text))


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(MarsError, match="cannot be read"):
        LineFile(tmp_path)


@pytest.fixture
def pipe():
    """A pipe with 3,000 lines behind a header, by the name that a shell gives it."""
    end, inlet = os.pipe()
    with open(inlet, "w") as writer:
        writer.write("at,who\n" + "".join(f"{1_700_000_000 + i},w{i}\n" for i in range(3_000)))
    yield Path(f"/dev/fd/{end}")
    os.close(end)


def test_a_pipe_gives_all_its_lines_once(pipe):
    file = LineFile(pipe)
    lines = list(file.lines())
    assert (len(lines), lines[0], lines[-1]) == (3_000, b"1700000000,w0", b"1700002999,w2999")
    assert (file.header, file.bytes, file.is_regular) == (True, None, False)
    with pytest.raises(MarsError, match="not a regular file"):
        next(file.lines())


def test_the_demo_refuses_a_pipe_that_it_would_read_thrice(pipe):
    with pytest.raises(MarsError, match="not a regular file") as caught:
        FileSource("127.0.0.1:9", None, pipe, {"topic": "t", "select": None})
    assert "write it to a file first" in caught.value.hint
