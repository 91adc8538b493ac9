"""The doctor finds a healthy set-up healthy, and names what is wrong with the command that mends it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from api.cli import doctor
from api.cli.doctor import Check, check
from mars.config import load


def by_name(checks: list[Check]) -> dict[str, Check]:
    return {each.name: each for each in checks}


def test_this_set_up_is_healthy(tmp_path: Path) -> None:
    checks = by_name(check(load({"data": tmp_path}, environment={})))
    assert {"python", "packages", "java", "kafka", "zookeeper", "redis"} < set(checks)
    assert [each for each in checks.values() if not each.ok] == []


def test_missing_jars_are_mended_by_the_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kafka = by_name(check(load({"data": tmp_path}, environment={})))["kafka"]
    assert (kafka.ok, kafka.command) == (False, "make setup")
    assert "46 jars are missing" in kafka.detail


def test_another_version_than_the_locked_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("pytest==0.1 \\\n    --hash=sha256:0\nnowhere==1\nelsewhere==1 ; python_version < '3'\n")
    monkeypatch.setattr(doctor, "LOCK", lock)
    packages = doctor._packages()
    assert not packages.ok
    assert "nowhere is missing, not 1; pytest is " in packages.detail
    assert "elsewhere" not in packages.detail


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = by_name(check(load({"data": tmp_path, "api_port": port}, environment={})))["port"]
    assert not found.ok
    assert f"{port} is taken" in found.detail


def test_a_silent_foreign_service_is_named(tmp_path: Path) -> None:
    checks = by_name(check(load({"data": tmp_path, "redis_address": "127.0.0.1:9"}, environment={})))
    assert not checks["redis"].ok
    assert "redis_address = 127.0.0.1:9" in checks["redis"].detail
