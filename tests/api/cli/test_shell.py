"""The shell's lines: when a statement runs, what the shortcuts do, and that errors end nothing."""

import pytest
from prompt_toolkit.document import Document

from api.cli.shell import Names, Shell
from mars.errors import SqlError

ROWS = {"kind": "rows", "columns": [{"name": "name", "type": "STRING"}], "rows": [["flows"]]}


class FakeClient:
    """Answers every statement with one row and remembers it."""

    url = "http://127.0.0.1:1"

    def __init__(self):
        self.statements = []

    def sql(self, statement, id_=None):
        self.statements.append(statement)
        if statement.startswith("SELEC "):
            raise SqlError("this is no statement", sql=statement, line=1, column=1, length=5, hint="SELECT")
        return ROWS


@pytest.fixture
def shell():
    return Shell(FakeClient(), "table")


def test_a_statement_runs_with_its_semicolon(shell):
    assert shell.feed("SELECT *")
    assert shell.client.statements == []
    assert shell.feed("FROM q; SHOW")
    assert shell.client.statements == []
    assert shell.feed("STREAMS;")
    assert shell.client.statements == ["SELECT *\nFROM q", "SHOW\nSTREAMS"]


def test_shortcuts_become_statements(shell, tmp_path):
    script = tmp_path / "a.sql"
    script.write_text("SHOW QUERIES; -- done\nDESCRIBE s")
    for line in ("\\d", "\\d flows", f"\\i {script}"):
        assert shell.feed(line)
    assert shell.client.statements[:3] == ["SHOW STREAMS", "SHOW QUERIES", "DESCRIBE flows"]
    assert len(shell.client.statements) == 5


@pytest.mark.parametrize("line", ["\\q", "exit", "quit;"])
def test_the_shell_ends(shell, line):
    assert not shell.feed(line)


def test_an_error_shows_its_place_and_the_shell_goes_on(shell, capsys):
    assert shell.feed("SELEC 1; SHOW STREAMS;")
    shown = capsys.readouterr()
    assert "^^^^^" in shown.err
    assert "hint: SELECT" in shown.err
    assert shown.out == ""
    assert shell.client.statements == ["SELEC 1"]
    assert shell.feed("SHOW STREAMS;")
    assert "flows" in capsys.readouterr().out


def test_expanded_and_timing_are_switched(shell, capsys):
    shell.feed("\\x")
    shell.feed("\\timing")
    shell.feed("SHOW STREAMS;")
    shown = capsys.readouterr()
    assert "row 1" in shown.out
    assert "ms" in shown.err


def test_unknown_shortcuts_show_the_help(shell, capsys):
    assert shell.feed("\\zzz")
    assert "\\timing" in capsys.readouterr().err


def complete(text: str) -> list[str]:
    return [c.text for c in Names(FakeClient()).get_completions(Document(text), None)]


def test_completion_knows_keywords_names_and_shortcuts():
    assert "WINDOWING" in complete("SELECT a FROM s WIND")
    assert "windowing" in complete("select a from s wind")
    assert complete("SELECT * FROM fl")[-1] == "flows"
    assert complete("\\ti") == ["\\timing"]
