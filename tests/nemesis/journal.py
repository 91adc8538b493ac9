"""The journal of campaigns: JSON lines that are only added to, so that a campaign that was stopped goes on, and totals."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

DEFAULT = Path("~/.local/share/mars-campaigns").expanduser()
ROOT = Path(__file__).resolve().parents[2]
PARTS = ("campaigns", "planted bugs")  # of the document, between marks
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


@dataclass
class Totals:
    """What all campaigns on one version of the code come to."""

    seconds: float = 0.0
    tuples: int = 0
    rows: int = 0
    reads: int = 0
    wrong: int = 0
    singles: Counter = field(default_factory=Counter)
    pairs: Counter = field(default_factory=Counter)
    longest_s: dict[str, float] = field(default_factory=dict)

    def add(self, line: dict) -> None:
        """Take in a line of a journal."""
        if line["event"] == "fault":
            counts = self.singles if len(line["kinds"]) == 1 else self.pairs
            counts.update(line["kinds"])
            if len(line["kinds"]) == 1 and line["recovery_s"] is not None:
                [kind] = line["kinds"]
                self.longest_s[kind] = max(self.longest_s.get(kind, 0.0), line["recovery_s"])
        elif line["event"] in ("round", "named"):
            self.seconds += line["seconds"] if line["event"] == "round" else 0
            self.tuples += line.get("tuples", 0)
            self.rows += line.get("rows", 0)
            self.reads += line.get("reads", 0)
            if line["event"] == "named":
                self.singles[line["kind"]] += 1
        self.wrong += len(line.get("wrong", []))


def totals(folder: Path) -> dict[str, Totals]:
    """By version of the code, the latest last; runs with planted bugs are left out."""
    found: dict[str, Totals] = {}
    lines = [line for path in folder.glob("campaign-*.jsonl") if path.stem.count("-") == 1 for line in read(path)]
    for line in sorted(lines, key=lambda line: line["at"]):
        found.setdefault(line["code"], Totals()).add(line)
    return found


def table(found: dict[str, Totals]) -> str:
    """The totals as tables of the document."""
    lines = ["| code | minutes under load | tuples | rows compared | looks of readers | single faults | in pairs | wrong |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    kinds: dict[str, list] = {}
    for code, each in found.items():
        lines.append(f"| {code} | {each.seconds / 60:.0f} | {each.tuples:,} | {each.rows:,} | {each.reads:,} | "
                     f"{sum(each.singles.values())} | {sum(each.pairs.values())} | {each.wrong} |")
        for kind in each.singles.keys() | each.pairs.keys():
            row = kinds.setdefault(kind, [0, 0, None])
            row[0] += each.singles[kind]
            row[1] += each.pairs[kind]
            if kind in each.longest_s:
                row[2] = max(row[2] or 0.0, each.longest_s[kind])
    lines += ["", "| fault | single | in a pair | longest recovery of a single one |", "| --- | --- | --- | --- |"]
    for kind, (single, paired, longest_s) in sorted(kinds.items()):
        lines.append(f"| {kind} | {single} | {paired} | {'-' if longest_s is None else f'{longest_s:.1f} s'} |")
    return "\n".join(lines)


def hunts(folder: Path) -> str:
    """What the last hunt for each planted bug came to, as a table of the document."""
    paths = sorted(folder.glob("campaign-*-bugs.jsonl"))
    told = sorted((line for path in paths for line in read(path) if line["event"] == "hunt"), key=lambda line: line["at"])
    lines = ["| planted bug | shown by | after | without it |", "| --- | --- | --- | --- |"]
    for bug, line in {line["bug"]: line for line in told}.items():
        lines.append(f"| {bug} | {line['shown_by'] or 'nothing'} | {line['seconds']:.0f} s | {line['without'] or 'exact'} |")
    return "\n".join(lines)


def report(folder: Path, document: Path = ROOT / "docs" / "reliability.md") -> None:
    """Write the totals of all journals in the folder between the document's marks."""
    text = document.read_text()
    for part, made in zip(PARTS, (table(totals(folder)), hunts(folder)), strict=True):
        before, begin, rest = text.partition(f"<!-- {part} -->\n")
        _, end, after = rest.partition(f"<!-- end of {part} -->")
        text = f"{before}{begin}{made}\n{end}{after}"
    document.write_text(text)
