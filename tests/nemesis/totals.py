"""Totals of campaigns by version of the code: a line of JSON for each journal and version, which belongs to the project.

Journals stay on the machine that made them; what they came to does not get lost with it. A journal that is reported again
takes the place of its own lines, as it only grows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from tests.document import write_part
from tests.nemesis.journal import ROOT, read

TOTALS = Path(__file__).with_name("campaign.jsonl")
PARTS = ("campaigns", "planted bugs")  # of the document, between marks


@dataclass
class Kind:
    """How often a kind of fault came alone and in pairs, the longest recovery from it alone, and how often it found
    nothing to strike, which counts neither way. Lines from before this was noted have three numbers."""

    single: int = 0
    paired: int = 0
    longest_s: float | None = None
    missed: int = 0

    def add(self, other: Kind) -> None:
        """Take in the other's."""
        self.single += other.single
        self.paired += other.paired
        self.missed += other.missed
        self.longest_s = max(filter(None, (self.longest_s, other.longest_s)), default=None)


@dataclass
class Totals:
    """What one journal has of one version of the code; `kinds` is empty where nobody has kept them by version, and
    `code` where they are all that was kept."""

    journal: str
    code: str
    seconds: float = 0.0
    tuples: int = 0
    rows: int = 0
    reads: int = 0
    single: int = 0
    paired: int = 0
    wrong: int = 0
    kinds: dict[str, Kind] = field(default_factory=dict)

    def note(self, line: dict) -> None:
        """Take in a line of the journal."""
        if line["event"] == "fault":
            names = line["kinds"]
            self._fault(names, line.get("inflicted") or [True] * len(names), line["recovery_s"])
        elif line["event"] == "named":
            self._fault([line["kind"]], [True], None)
        if line["event"] == "round":
            self.seconds += line["seconds"]
        for name in ("tuples", "rows", "reads"):
            setattr(self, name, getattr(self, name) + line.get(name, 0))
        self.wrong += len(line.get("wrong", []))

    def add(self, other: Totals) -> None:
        """Take in another's."""
        for name in ("seconds", "tuples", "rows", "reads", "single", "paired", "wrong"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, kind in other.kinds.items():
            self.kinds.setdefault(name, Kind()).add(kind)

    def _fault(self, names: list[str], inflicted: list[bool], recovery_s: float | None) -> None:
        alone = len(names) == 1
        self.single += sum(inflicted) if alone else 0
        self.paired += 0 if alone else sum(inflicted)
        for name, did in zip(names, inflicted, strict=True):
            one = Kind(missed=1) if not did else Kind(1, 0, recovery_s) if alone else Kind(0, 1)
            self.kinds.setdefault(name, Kind()).add(one)


@dataclass
class Hunt:
    """What the last hunt for a planted bug came to, with the bug and without."""

    bug: str
    shown_by: str
    seconds: float
    without: str


def of_journal(path: Path) -> list[Totals]:
    """The totals of one journal, by version of the code. It is named by its seed and the moment in which it was begun."""
    lines, found = read(path), {}
    for line in lines:
        name = f"{path.stem.removeprefix('campaign-')} of {lines[0]['at']}"
        found.setdefault(line["code"], Totals(name, line["code"])).note(line)
    return list(found.values())


def load(file: Path) -> tuple[dict[tuple[str, str], Totals], dict[str, Hunt]]:
    """What the file has: totals by journal and version in the order in which they came, and hunts by bug."""
    totals, hunts = {}, {}
    for line in map(json.loads, file.read_text().splitlines() if file.exists() else []):
        if "bug" in line:
            hunts[line["bug"]] = Hunt(**line)
        else:
            kinds = {name: Kind(*kind) for name, kind in line.pop("kinds").items()}
            totals[line["journal"], line["code"]] = Totals(**line, kinds=kinds)
    return totals, hunts


def save(file: Path, totals: dict[tuple[str, str], Totals], hunts: dict[str, Hunt]) -> None:
    """Write the file anew."""
    lines = [{**one.__dict__, "seconds": round(one.seconds, 1),
              "kinds": {name: [kind.single, kind.paired, kind.longest_s, kind.missed]
                        for name, kind in sorted(one.kinds.items())}}
             for one in totals.values()]
    file.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *(hunt.__dict__ for hunt in hunts.values())]))


def gather(folder: Path, file: Path) -> None:
    """Bring what the folder's journals came to into the file; campaigns with planted bugs are hunts alone."""
    totals, hunts = load(file)
    paths = list(folder.glob("campaign-*.jsonl"))
    made = [one for path in paths if path.stem.count("-") == 1 for one in of_journal(path)]
    totals.update({(one.journal, one.code): one for one in sorted(made, key=lambda one: one.journal.rpartition(" ")[2])})
    lines = [line for path in paths if path.stem.endswith("-bugs") for line in read(path) if line["event"] == "hunt"]
    hunts.update({line["bug"]: Hunt(line["bug"], line["shown_by"], line["seconds"], line["without"])
                  for line in sorted(lines, key=lambda line: line["at"])})
    save(file, totals, hunts)


def table(totals: list[Totals]) -> str:
    """The totals as tables of the document: by version of the code, and by kind of fault."""
    codes: dict[str, Totals] = {}
    for one in totals:
        codes.setdefault(one.code, Totals("", one.code)).add(one)
    whole, newest = Totals("", ""), [code for code in codes if code][-1]
    for one in codes.values():
        whole.add(one)
    lines = ["| code | minutes under load | tuples | rows compared | looks of readers | single faults | in pairs | wrong |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    rows = [*(one for code, one in codes.items() if code), whole]
    lines += [f"| {one.code or 'all'} | {one.seconds / 60:.0f} | {one.tuples:,} | {one.rows:,} | {one.reads:,} | "
              f"{one.single} | {one.paired} | {one.wrong} |" for one in rows]
    lines += ["", f"| fault | single | in a pair | not inflicted | longest recovery of a single one | on {newest} |",
              "| --- | --- | --- | --- | --- | --- |"]
    for name, kind in sorted(whole.kinds.items()):
        longest = " | ".join("-" if known.longest_s is None else f"{known.longest_s:.1f} s"
                             for known in (kind, codes[newest].kinds.get(name, Kind())))
        lines.append(f"| {name} | {kind.single} | {kind.paired} | {kind.missed} | {longest} |")
    return "\n".join(lines)


def hunted(hunts: list[Hunt]) -> str:
    """The hunts as a table of the document."""
    return "\n".join(["| planted bug | shown by | after | without it |", "| --- | --- | --- | --- |",
                      *(f"| {hunt.bug} | {hunt.shown_by or 'nothing'} | {hunt.seconds:.0f} s | {hunt.without or 'exact'} |"
                        for hunt in hunts)])


def report(folder: Path, file: Path = TOTALS, document: Path = ROOT / "docs" / "reliability.md") -> None:
    """Gather the folder's journals into the file, and write the file's totals between the document's marks."""
    gather(folder, file)
    totals, hunts = load(file)
    for part, made in zip(PARTS, (table(list(totals.values())), hunted(list(hunts.values()))), strict=True):
        write_part(document, part, made)
