"""The command line from outside: exit codes, what goes to stdout, what to stderr, how fast it is there."""

import json
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from api.cli.program import main
from sql.read.parse import STATEMENT_MAX, parse

ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Done:
    """A command that has ended."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def mars(capsys, monkeypatch):
    """Runs a command in this process, in an environment of its own."""
    def run(*arguments: str, **environment: str) -> Done:
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            try:
                main(list(arguments))
                code = 0
            except SystemExit as end:
                code = end.code or 0
        said = capsys.readouterr()
        return Done(code, said.out, said.err)
    return run


def test_help_is_there_at_once_and_imports_nothing_heavy():
    done = subprocess.run([sys.executable, "-X", "importtime", "-m", "api.cli", "--help"], cwd=ROOT, text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0
    assert "Start Kafka" in done.stdout
    loaded = {line.rsplit("|")[-1].strip() for line in done.stderr.splitlines()}
    assert not loaded & {"pyspark", "fastapi", "pyarrow", "numpy", "httpx", "pydantic", "sqlglot", "rich", "kazoo"}


@pytest.mark.parametrize("command", ["up", "down", "status", "doctor", "sql", "load", "demo", "bench"])
def test_every_command_explains_itself(mars, command):
    done = mars(command, "--help")
    assert done.returncode == 0
    assert "Usage: mars" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("arguments", [
    ["nothing"], ["up", "--port", "x"], ["sql", "--format", "xml"], ["load"], ["sql", "-c", "SELECT 1", "-f", "x"],
    ["bench", "nothing"],
])
def test_wrong_usage_is_2_and_goes_to_stderr(mars, arguments):
    done = mars(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Error" in done.stderr


def test_nothing_running_is_3(mars, tmp_path):
    done = mars("status", "--json", "--data", str(tmp_path))
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (3, {"state": "stopped"}, "")
    done = mars("status", MARS_DATA=str(tmp_path))
    assert done.returncode == 3
    assert str(tmp_path) in done.stdout
    for command in (["sql", "-c", "SHOW STREAMS"], ["load", __file__, "--topic", "t"]):
        done = mars(*command, "--data", str(tmp_path))
        assert done.returncode == 3
        assert done.stdout == ""
        assert "mars up" in done.stderr


def test_down_without_an_instance_says_so_and_is_no_error(mars, tmp_path):
    done = mars("down", "--data", str(tmp_path))
    assert done.returncode == 0
    assert "was not running" in done.stderr


def test_purge_deletes_only_what_looks_like_a_data_folder(mars, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    done = mars("down", "--purge", "--data", str(tmp_path))
    assert done.returncode == 1
    assert "not purged" in done.stderr
    assert (tmp_path / "thesis.txt").exists()
    (tmp_path / "run.lock").touch()
    done = mars("down", "--purge", "--data", str(tmp_path))
    assert done.returncode == 0
    assert "thesis.txt" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_that_is_not_there_is_1_without_a_trace(mars, tmp_path):
    for arguments in (["load", str(tmp_path / "x"), "--topic", "t"], ["sql", "-f", str(tmp_path / "x")],
                      ["up", "--config", str(tmp_path / "x")]):
        done = mars(*arguments, "--data", str(tmp_path))
        assert done.returncode == 1
        assert "cannot be read" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("detach", [[], ["--detach"]])
def test_a_data_folder_that_cannot_be_made_is_1_and_named(mars, tmp_path, detach):
    (tmp_path / "file").touch()
    for data in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/mars")):
        done = mars("up", "--data", str(data), *detach)
        assert done.returncode == 1
        assert f"{data} cannot be the data folder" in done.stderr
        assert "--data" in done.stderr


def test_a_repeated_command_runs_all_its_statements(mars, monkeypatch):
    class Api:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def sql(self, statement, _id):
            seen.append(statement.strip())
            return {"kind": "created", "name": "x", "notes": []}

    seen = []
    monkeypatch.setattr("api.cli.commands.sql.connect", lambda *_: Api())
    done = mars("sql", "-c", "PAUSE QUERY a -- first", "-c", "RESUME QUERY a; DROP QUERY a;", "-c", "SHOW STREAMS")
    assert done.returncode == 0, done.stderr
    assert seen == ["PAUSE QUERY a -- first", "RESUME QUERY a", "DROP QUERY a", "SHOW STREAMS"]


def test_an_api_that_does_not_answer_is_named(mars):
    done = mars("sql", "--api", "http://127.0.0.1:9", "-c", "SHOW STREAMS")
    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr
    assert done.stdout == ""


def test_a_setting_out_of_range_is_1_and_named(mars, tmp_path):
    done = mars("status", "--data", str(tmp_path), MARS_MAPPERS="0")
    assert done.returncode == 1
    assert "MARS_MAPPERS" in done.stderr


class ParsingApi:
    """Reads statements as the API does, and answers each that reads."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def sql(self, statement, _id):
        parse(statement)
        return {"kind": "rows", "columns": [], "rows": []}


@pytest.mark.parametrize(("script", "place", "line", "caret"), [
    ("SHOW STREAMS;\nSELECT\n  k FROM; SHOW QUERIES", 3, "  k FROM; SHOW QUERIES", "FROM"),
    ("SHOW STREAMS;\n SHOW QUERIES; SHOW  THINGS", 2, " SHOW QUERIES; SHOW  THINGS", "THINGS"),
    ("SHOW STREAMS; SHOW\n THINGS", 2, " THINGS", "THINGS"),
])
def test_a_refusal_names_its_place_in_the_script(mars, monkeypatch, script, place, line, caret):
    monkeypatch.setattr("api.cli.commands.sql.connect", lambda *_: ParsingApi())
    done = mars("sql", "-c", script)
    assert done.returncode == 1
    shown, marks = done.stderr.splitlines()[1:3]
    assert shown == f"  {place} | {line}"
    assert marks.index("^") == shown.index(caret)


def test_what_stands_before_a_statement_does_not_count_as_a_part_of_it(mars, monkeypatch):
    monkeypatch.setattr("api.cli.commands.sql.connect", lambda *_: ParsingApi())
    done = mars("sql", "-c", "SHOW STREAMS; " * (STATEMENT_MAX // 10) + "SHOW QUERIES")
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_leaves_a_statement_that_is_not_answered(ctrl_c):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        api = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-m", "api.cli", "sql", "--api", api, "-c", "SHOW STREAMS"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as mars:
            try:
                asked, _ = silent.accept()
                with asked:
                    asked.settimeout(60)
                    assert asked.recv(1)
                    mars.send_signal(signal.SIGINT)
                    said = mars.communicate(timeout=30)
            finally:
                mars.kill()
    assert (mars.returncode, "Traceback" in said[1]) == (130, False), said
