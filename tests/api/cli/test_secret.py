"""`mars secret`: where a value may come from, and that nothing shows it."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from api.cli.program import main
from api.instance import runfile
from mars.adapters.secrets import SecretStore
from mars.adapters.sink_catalog import SinkStore
from mars.adapters.zookeeper import ZooKeeper
from mars.config import load
from mars.model.connections import Connection

pytestmark = pytest.mark.services
VALUE = "t0p secret'\\"


@pytest.fixture
def run(stack, tmp_path, monkeypatch, capsys):
    """Runs `mars secret ...` with this on stdin; (exit code, stdout, stderr)."""
    class Running:
        zookeeper = stack.config.zookeeper_address

    monkeypatch.setattr(runfile, "require", lambda _data: Running)

    def command(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main(["secret", *arguments, "--data", str(tmp_path)])
        except SystemExit as end:
            code = end.code or 0
        said = capsys.readouterr()
        assert VALUE not in said.out + said.err
        return code, said.out, said.err

    return command


def kept(stack, data: Path, name: str) -> str:
    zookeeper = ZooKeeper(stack.config.zookeeper_address, 4_000)
    try:
        return SecretStore(zookeeper, load({"data": data}, environment={})).get(name)
    finally:
        zookeeper.stop()


@pytest.mark.parametrize("line_end", [b"", b"\n", b"\r\n"])
def test_a_value_comes_by_stdin_without_its_line_end(run, stack, tmp_path, fresh_name, line_end: bytes) -> None:
    name = fresh_name("pw")
    assert run("set", name, stdin=VALUE.encode() + line_end) == (
        0, "", f"secret {name} is set; write PASSWORD SECRET {name}\n")
    assert kept(stack, tmp_path, name) == VALUE
    assert name in run("list")[1].splitlines()
    assert run("rm", name)[0] == 0
    assert name not in run("list")[1]


def test_a_value_comes_from_a_file(run, stack, tmp_path, fresh_name) -> None:
    name, file = fresh_name("pw"), tmp_path / "value"
    file.write_text(f"{VALUE}\n")
    assert run("set", name, "--file", str(file))[0] == 0
    assert kept(stack, tmp_path, name) == VALUE
    assert run("set", name, "--file", str(tmp_path / "nothing"))[0] == 1


def test_what_cannot_be_a_secret_is_refused(run, fresh_name) -> None:
    assert run("set", fresh_name("pw"), stdin=b"\n")[0] == 1
    assert run("set", "a/b", stdin=VALUE.encode())[0] == 1
    assert run("drop", fresh_name("pw"))[0] == 1


def test_a_secret_that_a_connection_names_stays(run, stack, fresh_name) -> None:
    name, connection = fresh_name("pw"), fresh_name("c")
    run("set", name, stdin=VALUE.encode())
    zookeeper = ZooKeeper(stack.config.zookeeper_address, 4_000)
    try:
        sinks = SinkStore(zookeeper)
        sinks.create_connection(Connection(connection, "POSTGRES", {}, {"PASSWORD": name}))
        code, _, said = run("drop", name)
        assert (code, connection in said) == (1, True)
        sinks.drop_connection(connection)
    finally:
        zookeeper.stop()
    assert run("drop", name)[0] == 0
