"""Ports are free when picked, and the same after a restart."""

from __future__ import annotations

import socket
from pathlib import Path

from api.services import ports


def test_a_port_is_remembered(tmp_path: Path) -> None:
    assert ports.pick(tmp_path, "kafka") == ports.pick(tmp_path, "kafka")


def test_two_names_have_two_ports(tmp_path: Path) -> None:
    preferred = ports.pick(tmp_path / "other", "x")
    assert ports.pick(tmp_path, "a", preferred) == preferred
    assert ports.pick(tmp_path, "b", preferred) != preferred


def test_a_taken_port_is_given_up(tmp_path: Path) -> None:
    port = ports.pick(tmp_path, "kafka")
    with socket.create_server(("127.0.0.1", port)):
        assert not ports.is_free(port)
        moved = ports.pick(tmp_path, "kafka")
    assert moved != port
    assert ports.pick(tmp_path, "kafka") == moved


def test_a_damaged_memory_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "ports.json").write_text('{"kafka": "x')
    assert ports.is_free(ports.pick(tmp_path, "kafka"))
