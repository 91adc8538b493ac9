"""Ports are free when picked, and the same after a restart."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from api.instance.services import ports


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


def test_what_is_remembered_outlives_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka came back at another address after the disk had been full, and whoever wrote to it did not find it."""
    port = ports.pick(tmp_path, "kafka")
    write = Path.write_text

    def full(path: Path, text: str) -> None:
        write(path, "")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert ports.pick(tmp_path, "kafka") == port
    with pytest.raises(OSError, match="No space"):
        ports.pick(tmp_path, "redis")
    monkeypatch.undo()
    assert ports.pick(tmp_path, "kafka") == port


def test_a_port_that_was_asked_for_is_the_next_one_too(tmp_path: Path) -> None:
    ports.pick(tmp_path, "api")
    ports.remember(tmp_path, "api", 31_999)
    assert ports.pick(tmp_path, "api", usable=lambda _: True) == 31_999
