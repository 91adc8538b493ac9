"""The journal of a campaign: JSON lines that are only added to, so that a campaign that was stopped goes on."""

from __future__ import annotations

import json
import subprocess
import time
from importlib import metadata
from pathlib import Path

DEFAULT = Path("~/.local/share/mars-campaigns").expanduser()
ROOT = Path(__file__).resolve().parents[2]
CODE = ("mars", "mapper", "reducer", "sql", "api")


class Journal:
    """One campaign's file, by its seed, in a folder."""

    def __init__(self, folder: Path, seed: int, bug: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"campaign-{seed}{f'-{bug}' if bug else ''}.jsonl"
        self.code = version()

    def add(self, event: str, **details: object) -> None:
        """Note what has happened."""
        line = {"event": event, "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "code": self.code, **details}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def count(self, event: str) -> int:
        """How many lines tell of such an event."""
        return sum(line["event"] == event for line in read(self.path))

    def next_index(self) -> int:
        """How many faults the campaign has seen: there it goes on."""
        return self.count("fault")


def read(path: Path) -> list[dict]:
    """The lines of a journal; one that was broken off is left out."""
    lines = []
    for text in path.read_text().splitlines() if path.exists() else []:
        try:
            lines.append(json.loads(text))
        except ValueError:
            continue
    return lines


def version() -> str:
    """The code under test: its commit, marked if it has been changed since, else the package's version."""
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("log", "-1", "--format=%h", "--", *CODE) + ("+" if git("status", "--porcelain", "--", *CODE) else "")
    except (OSError, subprocess.CalledProcessError):
        return metadata.version("mars-streams")
