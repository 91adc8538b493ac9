"""The files of the set-up: locked and hashed, without addresses, each requirement with its reason."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ["requirements.lock", "requirements-test.lock"]


def requirements(file: str) -> list[str]:
    lines = (ROOT / file).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def names(lines: list[str]) -> set[str]:
    """The packages of requirement lines, spelt as in an index."""
    found = (re.match(r"[\w.-]+", line) for line in lines)
    return {match[0].lower().replace("_", "-") for match in found if match}


@pytest.mark.parametrize("file", LOCKS)
def test_every_locked_package_has_hashes_and_no_address(file: str) -> None:
    text = (ROOT / file).read_text()
    assert "://" not in text
    assert "--index-url" not in text
    packages = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert packages
    assert [package for package in packages if "--hash=sha256:" not in package] == []


@pytest.mark.parametrize("name", ["requirements", "requirements-test"])
def test_every_requirement_has_a_reason_and_is_locked(name: str) -> None:
    lines = requirements(f"{name}.in")
    assert [line for line in lines if not re.search(r"\S\s+# \S", line)] == []
    locked = names([line for line in requirements(f"{name}.lock") if not line.startswith(" ")])
    assert names(lines) <= locked


def test_two_locks_agree() -> None:
    runtime, test = (dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / file).read_text(), re.MULTILINE))
                     for file in LOCKS)
    both = runtime.keys() & test.keys()
    assert both
    assert {name: test[name] for name in both} == {name: runtime[name] for name in both}


def test_the_last_step_is_silent_when_all_is_there() -> None:
    run = subprocess.run([sys.executable, "-m", "api.instance.services"], cwd=ROOT, capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
