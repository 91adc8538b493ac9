"""The import rule, and measures of style that keep the code readable."""

from __future__ import annotations

import ast
import fnmatch
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("mars", "mapper", "reducer", "sql", "api", "benchmarks")
FOLDERS = (*PACKAGES, "tests", "docs", ".ci")
FILE_LINES_MAX = 300
FUNCTION_LINES_MAX = 45
BINARIES = "tests/formats/*.zip"  # what earlier versions wrote
SHORT_SHARE_MIN = 0.95

# Put together here, so that this file does not hold what it looks for.
REGISTRIES = [".".join(parts) for parts in (
    ("pypi", "org"), ("files", "pythonhosted", "org"), ("repo1", "maven", "org"), ("repo", "maven", "apache", "org"),
    ("central", "sonatype", "com"), ("oss", "sonatype", "org"), ("registry", "npmjs", "org"), ("archive", "apache", "org"),
    ("downloads", "apache", "org"), ("dlcdn", "apache", "org"), ("crates", "io"), ("proxy", "golang", "org"))]
MACHINE_PATHS = ["/".join(("", *parts, "")) for parts in (("root",), ("home",), ("Users",), ("work",), ("tmp", "bash_jobs"))]


def modules() -> list[Path]:
    """Every module of the packages."""
    return [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]


def texts() -> Iterator[tuple[Path, str]]:
    """Every text file of the project with its content."""
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*")]
    files += [file for file in ROOT.iterdir() if file.name != ".git"]
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts:
            try:
                yield file, file.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def is_binary(content: bytes) -> bool:
    """True unless it is text: UTF-8 without zeros."""
    try:
        return "\0" in content.decode()
    except UnicodeDecodeError:
        return True


def test_import_contracts_hold() -> None:
    command = "from importlinter.cli import lint_imports_command as check; check()"
    run = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_files_are_short() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in modules()}
    assert {name: length for name, length in lengths.items() if length > FILE_LINES_MAX} == {}


def test_functions_are_short() -> None:
    lengths = {}
    for file in modules():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lengths[f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"] = node.end_lineno - node.lineno + 1
    long = {name: length for name, length in lengths.items() if length >= FUNCTION_LINES_MAX}
    assert 1 - len(long) / len(lengths) >= SHORT_SHARE_MIN, long


def test_modules_say_what_they_are_for() -> None:
    assert [str(file.relative_to(ROOT)) for file in modules()
            if file.read_text().strip() and not ast.get_docstring(ast.parse(file.read_text()))] == []


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="asks git for the files of the project")
def test_no_tracked_file_is_binary() -> None:
    run = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [ROOT / name for name in run.stdout.split("\0")[:-1] if not fnmatch.fnmatch(name, BINARIES)]
    assert [str(file.relative_to(ROOT)) for file in files if file.is_file() and is_binary(file.read_bytes())] == []


@pytest.mark.parametrize("patterns", [REGISTRIES, MACHINE_PATHS], ids=["registries", "machine paths"])
def test_no_file_names_a(patterns: list[str]) -> None:
    found = [f"{file.relative_to(ROOT)}: {pattern}" for file, text in texts() for pattern in patterns if pattern in text]
    assert found == []
