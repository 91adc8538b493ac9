"""The figures of docs/benchmarks.md: which command makes each, and the tables that are written from what it left.

`python -m benchmarks.document` writes the tables between the marks `<!-- NAME -->` and `<!-- /NAME -->` anew, from the
files in docs/benchmarks. With --measure the commands run first, all of them (half an hour) or those of --only.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import accuracy_table, overload_table, side_by_side_latency, side_by_side_table
from benchmarks.document_goals import goals
from benchmarks.document_joined import like_for_like, measured, paper
from benchmarks.generator import SKEWED, UNIFORM
from benchmarks.latency_limit import Limit
from benchmarks.scaling_run import Result
from benchmarks.steps import BATCH, Step

DOCS = Path(__file__).resolve().parents[1] / "docs"
FOLDER = "docs/benchmarks"
PARTS = ("mappers", "reducers", "redis", "zookeeper", "driver", "kafka")


@dataclass(frozen=True)
class Figure:
    """One block of the document: the command's words after `python -m`, and how its JSON reads as Markdown."""

    command: str
    render: Callable[[dict], list[str]]
    picture: bool = False


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table; all columns but the first stand right."""
    return ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1),
            *("| " + " | ".join(row) + " |" for row in rows)]


def changes(memory: Sequence[Sequence[float]]) -> list[Sequence[float]]:
    """The first point, the last, and each that differs from the one told before it by more than 1 % in either part."""
    told = list(memory[:1])
    for point in memory[1:]:
        if any(abs(now - before) > 0.01 * before for now, before in zip(point[1:], told[-1][1:], strict=True)):
            told.append(point)
    return told if told[-1] is memory[-1] else [*told, memory[-1]]


def curve(document: dict) -> list[str]:
    """A curve's table."""
    results = [Result(**point) for point in document["points"]]
    rows = [[r.name, f"{r.tuples:,}", f"{r.tuples_per_s / 1e6:.2f}", f"{r.megabytes_per_s:.0f}", f"{r.cpu:.3f}",
             *(f"{r.cpu_s_per_million[part]:.3f}" for part in PARTS), f"{r.peak_megabytes['mappers']:.0f}",
             f"{r.peak_megabytes['reducers']:.0f}", f"{r.groups:,}" if r.exact else "NOT EXACT"] for r in results]
    axis = "run" if document["axis"] == "tuples" else document["axis"]
    found = table([axis, "tuples", "M tuples/s", "MB/s", "CPU s per M, broker apart", *PARTS, "MB mappers",
                   "MB reducers", "groups, all exact"], rows)
    for r in results:
        if r.memory:
            said = "; ".join(f"{s:.0f} s: {mappers:.0f} and {reducers:.0f}" for s, mappers, reducers in changes(r.memory))
            found += ["", f"Memory of mappers and reducers in MB over {r.name}, where it changes: {said}."]
    return [*found, "", document["model"]] if document.get("model") else found


def roofline(document: dict) -> list[str]:
    """The roofline's table."""
    steps = [Step(**step) for step in document["steps"]]
    rows = [[s.name, f"{s.floor_ms:.2f}", f"{s.cost_ms:.2f}", s.ratio, f"{s.gap_ms:.2f}", s.what]
            for s in steps]
    floor, cost = sum(s.floor_ms for s in steps), sum(s.cost_ms for s in steps)
    rows.append(["all", f"{floor:.2f}", f"{cost:.2f}", f"{cost / floor:.1f}", f"{cost - floor:.2f}",
                 f"{floor / BATCH * 1e3:.3f} and {cost / BATCH * 1e3:.3f} CPU s per M tuples"])
    worst = max(steps, key=lambda step: step.gap_ms)
    return [*table([f"CPU ms per {BATCH:,} tuples", "floor", "cost", "ratio", "gap", "the floor is"], rows), "",
            f"The largest gap: {worst.name}."]


def limit(found: Limit, burst: float | None) -> list[str]:
    """How the limit was found, if it was."""
    if not found.tries:
        return [f"Shares are of {found.rate:,.0f} tuples/s.", ""]
    rows = [[f"{each.rate:,.0f}", *(f"{ms:.0f}" for ms in (each.earlier_ms, each.later_ms, each.producer_ms)),
             f"{100 * each.growth:.0f}", "yes" if each.is_held else "no"]
            for each in sorted(found.tries, key=lambda each: each.rate)]
    head = ["tuples/s offered", "freshness ms, earlier half", "later half", "producer late by ms", "left lying, %", "held"]
    return [f"The limit: {found.text()}. Without readers a burst of {burst:,.0f} tuples/s is committed.", "",
            *table(head, rows), ""]


def latency(document: dict) -> list[str]:
    """The loads' table, ms."""
    rows = []
    for load in document["loads"]:
        for name, key in (("freshness", "freshness"), ("window closed", "window_closed"), ("tuple closed", "tuple_closed")):
            spread = load[key]
            rows.append([f"{load['name'].replace('_', ' ')}: {load['rate']:,.0f}/s", name,
                         *(f"{spread[of]:.0f}" for of in ("p50", "p95", "p99", "mean", "max")), f"{spread['samples']:,}",
                         f"{sum(load['cores'].values()):.2f}"])
    return [*limit(Limit.load(document["limit"]), document["burst"]),
            *table(["load", "ms", "p50", "p95", "p99", "mean", "max", "samples", "cores in use"], rows)]


def scaling(name: str, options: str = "") -> Figure:
    """A curve of benchmarks.scaling."""
    return Figure(f"benchmarks.scaling {name}{options} --out {FOLDER}", curve, picture=True)


FIGURES = {
    "roofline": Figure(f"benchmarks.roofline --json {FOLDER}/roofline.json", roofline),
    "latency": Figure(f"benchmarks.latency --warm 30 --seconds 30 --json {FOLDER}/latency.json", latency, picture=True),
    "message": scaling("message"), "batch": scaling("batch"), "workers": scaling("workers"),
    "partitions": scaling("partitions"), "tuples": scaling("tuples", " --tuples 100000000"), "groups": scaling("groups"),
    "columns": scaling("columns"), "width": scaling("width"), "codec": scaling("codec"), "tls": scaling("tls"),
    "forms": scaling("forms", " --tuples 20000000"),
    "long": scaling("long", " --tuples 200000000"),
    "side_by_side": Figure(f"benchmarks.side_by_side --json {FOLDER}/side_by_side.json", side_by_side_table.figure,
                           picture=True),
    "side_by_side_latency": Figure("benchmarks.side_by_side_latency --shares 0.1,0.5,0.8 --only mars,spark,flink,storm "
                                   f"--warm 15 --seconds 30 --json {FOLDER}/side_by_side_latency.json",
                                   side_by_side_latency.figure),
    "accuracy": Figure(f"benchmarks.accuracy --json {FOLDER}/accuracy.json", accuracy_table.figure),
    "overload": Figure(f"benchmarks.overload --json {FOLDER}/overload.json", overload_table.figure),
}
JOINED = {"paper": paper, "like_for_like": like_for_like, "goals": goals}  # from the files of several figures
OTHERS = "A figure whose own table below says `skewed keys` was not measured with the paper's uniform keys."
BY_NAME_ONLY = {"long", "side_by_side", "side_by_side_latency", "accuracy", "overload"}


def block(name: str, figure: Figure, folder: Path) -> str:
    """What stands between the marks."""
    file = folder / f"{name}.json"
    if not file.exists():
        return f"Not measured yet: `python -m {figure.command}`."
    document = json.loads(file.read_text())
    on = document["machine"]
    ran = document.get("command", figure.command)
    lines = [f"`python -m {ran}`, on {on['cores']} cores of {on['processor']}, {drawn(document)} keys:", "",
             *figure.render(document)]
    if figure.picture:
        lines += ["", f"![{document['title']}](benchmarks/{name}.svg)"]
    return "\n".join(lines)


def drawn(document: dict) -> str:
    """How keys were drawn; files that do not say it are of a time when all were skewed."""
    return document.get("keys", SKEWED)


def joined(name: str, folder: Path) -> str:
    """A block from several files, and a word if not all that there are were measured with uniform keys."""
    others = any(found and drawn(found) != UNIFORM for found in (measured(folder, file) for file in FIGURES))
    return f"{JOINED[name](folder)}\n\n{OTHERS}" if others else JOINED[name](folder)


def written(text: str, folder: Path) -> str:
    """The document with every block as its file says. A mark without a figure is an error."""
    for name in re.findall(r"<!-- (\w+) -->", text):
        content = joined(name, folder) if name in JOINED else block(name, FIGURES[name], folder)
        text = between(text, name, content)
    return text


def between(text: str, name: str, content: str) -> str:
    """The text with this content between the marks of that name."""
    mark = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    return mark.sub(lambda match: f"{match[1]}{content}\n{match[2]}", text)


def main() -> None:
    """The command; ends with the exit code of the first measurement that fails."""
    parser = argparse.ArgumentParser(prog="benchmarks.document", description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true", help="measure before writing")
    parser.add_argument("--only", help="names of figures, like roofline,codec")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else [name for name in FIGURES if name not in BY_NAME_ONLY]
    (DOCS / "benchmarks").mkdir(exist_ok=True)
    for name in names if given.measure else ():
        print(f"python -m {FIGURES[name].command}", flush=True)
        subprocess.run([sys.executable, "-m", *FIGURES[name].command.split()], check=True, cwd=DOCS.parent)
    file = DOCS / "benchmarks.md"
    file.write_text(written(file.read_text(), DOCS / "benchmarks"))


if __name__ == "__main__":
    main()
