"""Python environments of contenders: one each in the user's cache, made of a pinned, hashed list of packages."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from api.instance.services.errors import SetupError
from api.instance.services.paths import cache_dir

TIMEOUT_S = 1200


def fetch(name: str, packages: str) -> Path:
    """The interpreter of an environment that has exactly `packages`; made if it is not there yet, which may take minutes.

    Raises SetupError with the installer's last words if that fails."""
    folder = cache_dir() / f"contender-{name}-{hashlib.sha256(packages.encode()).hexdigest()[:8]}"
    python = folder / "bin" / "python"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            print(f"{name}: installing its packages into {folder}", file=sys.stderr, flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            listed = folder.with_suffix(".txt")
            listed.write_text(packages)
            for command in _commands(folder, python, listed):
                _run(name, command)
            listed.unlink()
            (folder / "whole").touch()
    return python


def _commands(folder: Path, python: Path, listed: Path) -> list[list[str]]:
    """With uv where it is installed, else with Python's own tools."""
    if uv := shutil.which("uv"):
        return [[uv, "venv", "-q", "--python", sys.executable, str(folder)],
                [uv, "pip", "install", "-q", "--python", str(python), "--require-hashes", "-r", str(listed)]]
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    return [[sys.executable, "-m", "venv", str(folder)], [*pip, "--require-hashes", "-r", str(listed)]]


def _run(name: str, command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise SetupError(f"The packages of {name} were not installed in {TIMEOUT_S} s") from None
    if done.returncode:
        raise SetupError(f"The packages of {name} cannot be installed", "\n".join(done.stderr.splitlines()[-5:]))
