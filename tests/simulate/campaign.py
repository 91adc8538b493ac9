"""Campaigns: seeds for hours, from where the last one stopped, with totals by version of the code in a file of JSON lines.

A campaign can be ended at any moment: each chunk of seeds is one line, written when it is done.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import queue
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from tests.document import write_part
from tests.simulate.run import ROUNDS, run

ROOT = Path(__file__).resolve().parents[2]
TOTALS, DOCUMENT = Path(__file__).with_name("campaign.jsonl"), ROOT / "docs" / "reliability.md"
CODE = ("mars", "mapper", "reducer")
SIMULATOR = ("tests/simulate",)
# Fields, most values, and Kafka as the API alone speaks to it: no simulated run calls a function of theirs, so a change
# there leaves what it showed standing.
UNCALLED = ("mapper/kernels/*", "mapper/parse*.py", "mapper/*_fields.py", "mars/algebra/evaluation/[!act]*",
            "mars/algebra/cells_[jr]*.py", "mars/algebra/functions.py", "mars/algebra/coercion.py",
            "mars/adapters/kafka/admin.py")
MARK = "simulated seeds"
CHUNK = 200


@dataclass
class Totals:
    """What some seeds came to: those of one version of the code under one version of the simulator."""

    version: str
    simulator: str
    next_seed: int = 0
    seeds: int = 0
    calls: int = 0
    commits: int = 0
    simulated_s: float = 0.0
    seconds: float = 0.0
    faults: Counter = field(default_factory=Counter)
    broken: list[int] = field(default_factory=list)

    def add(self, other: Totals) -> None:
        """Take the other's seeds too."""
        self.next_seed = max(self.next_seed, other.next_seed)
        for name in ("seeds", "calls", "commits", "simulated_s", "seconds", "broken"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.faults.update(other.faults)

    def line(self) -> str:
        """As the file has it."""
        return json.dumps({**self.__dict__, "faults": dict(self.faults)}) + "\n"


def version(places: Iterable[str]) -> str:
    """A short hash over these sources, or those in these folders, but for what is UNCALLED."""
    found = hashlib.sha256()
    there = [path for place in places for path in ROOT.glob(place)]
    files = [file for path in there for file in (path.rglob("*") if path.is_dir() else [path])]
    for file in sorted(file for file in files if file.suffix in (".py", ".lua")):
        if not is_uncalled(name := str(file.relative_to(ROOT))):
            found.update(f"{name}\0".encode() + file.read_bytes())
    return found.hexdigest()[:10]


def is_uncalled(name: str) -> bool:
    """Whether the file of this name, from the root on, is one of UNCALLED."""
    return any(fnmatch(name, pattern) for pattern in UNCALLED)


def load(file: Path) -> list[Totals]:
    """The file's totals, one for each version of code and simulator, in the order in which they came."""
    found: dict[tuple[str, str], Totals] = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        one = Totals(**json.loads(line))
        found.setdefault((one.version, one.simulator), Totals(one.version, one.simulator)).add(one)
    return list(found.values())


def save(file: Path, totals: list[Totals]) -> None:
    """Write the file anew, a line for each."""
    fresh = file.with_suffix(".new")
    fresh.write_text("".join(one.line() for one in totals))
    fresh.replace(file)


def chunk(first: int, blank: Totals, say: Callable[[str], None]) -> Totals:
    """The totals of CHUNK seeds from `first` on; says the story of each that is broken."""
    totals = Totals(blank.version, blank.simulator, first + CHUNK)
    for seed in range(first, first + CHUNK):
        result = run(seed, ROUNDS)
        totals.add(Totals("", "", 0, 1, result.steps, result.commits, result.virtual_s, result.seconds, result.faults,
                          [seed] if result.broken else []))
        if result.broken:
            say(str(result))
    return totals


def campaign(hours: float, jobs: int, file: Path = TOTALS, say: Callable[[str], None] = print) -> Totals:
    """Run seeds that no campaign in the file has had, for so long or until interrupted; the totals of this campaign."""
    known = load(file)
    save(file, known)
    made = Totals(version(CODE), version(SIMULATOR))
    following = multiprocessing.Value("q", max((one.next_seed for one in known), default=0))
    done: multiprocessing.Queue = multiprocessing.Queue()
    until = time.monotonic() + hours * 3600
    workers = [multiprocessing.Process(target=_work, args=(made, following, done, until, os.getpid()), daemon=True)
               for _ in range(jobs)]
    for worker in workers:
        worker.start()
    try:
        while any(worker.is_alive() for worker in workers) or not done.empty():
            try:
                one = done.get(timeout=1.0)
            except queue.Empty:
                continue
            if isinstance(one, str):
                say(one)
                continue
            with open(file, "a") as lines:
                lines.write(one.line())
            made.add(one)
            say(f"seeds up to {one.next_seed - 1}: {made.seeds} done, {made.calls} calls, broken: {made.broken or 'none'}")
    finally:
        for worker in workers:
            worker.kill()  # no gentler signal: what it raised would end a simulated process, and be caught there
        save(file, load(file))
    return made


def _work(blank: Totals, following: multiprocessing.Value, done: multiprocessing.Queue, until: float, parent: int) -> None:
    while time.monotonic() < until and os.getppid() == parent:
        with following.get_lock():
            first = following.value
            following.value += CHUNK
        done.put(chunk(first, blank, done.put))


def report(file: Path = TOTALS, document: Path = DOCUMENT) -> str:
    """The totals as a table, which is also written between the marks in the document."""
    known = load(file)
    rows = [f"| `{one.version}` | {one.seeds:,} | {one.calls:,} | {one.commits:,} | {one.simulated_s / 3600:,.1f} h | "
            f"{sum(one.faults.values()):,} | {len(one.broken)} |" for one in _by_code(known)]
    kinds: Counter = Counter()
    for one in known:
        for kind, count in one.faults.items():
            kinds[re.sub(r"(.+) at (mapper|reducer|leader)\..*", r"\1 at a crash point", kind)] += count
    text = "\n".join([
        "| code | seeds | calls | commits | simulated | faults | broken |", "| --- | --- | --- | --- | --- | --- | --- |",
        *rows, "", "Faults by kind: " + ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common()) + "."])
    write_part(document, MARK, text)
    return text


def _by_code(known: list[Totals]) -> list[Totals]:
    """One row for each version of the code, whatever simulator it ran in."""
    rows: dict[str, Totals] = {}
    for one in known:
        rows.setdefault(one.version, Totals(one.version, "")).add(one)
    return list(rows.values())
