"""The figures of side_by_side runs: tables in Markdown, and the bars of throughput."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from benchmarks import plot

TITLE = "Throughput side by side"
HEAD = ("contender", "promise", "M tuples/s, median (least to most)", "Mars is faster by", "CPU s per M tuples",
        "Mars needs less CPU by", "peak MB", "broker CPU s per M", "tuples", "answer")


def by_contender(document: dict) -> dict[str, list[dict]]:
    """The turns of each contender, in the order of the first ones."""
    found: dict[str, list[dict]] = {}
    for turn in document["turns"]:
        found.setdefault(turn["contender"], []).append(turn)
    return found


def middle(turns: list[dict], field: str) -> float:
    """The median of a figure."""
    return median(turn[field] for turn in turns)


def describe(document: dict) -> str:
    """The table, with what it ran on, for a terminal."""
    on = document["machine"]
    return "\n".join([*figure(document), f"{on['cores']} cores ({on['processor']}), {on['memory_gb']:.0f} GB, the broker "
                      "on the same cores."])


def figure(document: dict) -> list[str]:
    """The table as lines, and who is missing."""
    turns = by_contender(document)
    mars = turns.get("mars")
    rows = [_row(document["contenders"][name], found, mars) for name, found in turns.items()]
    lines = [markdown([HEAD, *rows]), "", f"{document['repeat']} turns each, one contender after the other, in one run."]
    return lines + [f"{name} is left out: {reason.splitlines()[0]}" for name, reason in document["left_out"].items()]


def picture(document: dict) -> str:
    """The bars, as SVG."""
    speeds = {name: middle(turns, "tuples_per_s") / 1e6 for name, turns in by_contender(document).items()}
    return plot.bars(TITLE, "M tuples/s", list(speeds), {"median": list(speeds.values())})


def markdown(rows: Iterable[tuple[str, ...]]) -> str:
    """A table whose columns stand under each other; the first row is its head."""
    head, *body = rows
    widths = [max(len(row[i]) for row in (head, *body)) for i in range(len(head))]
    lines = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in (head, *body)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(about: dict, turns: list[dict], mars: list[dict] | None) -> tuple[str, ...]:
    speeds = [turn["tuples_per_s"] / 1e6 for turn in turns]
    speed, cpu = median(speeds), middle(turns, "cpu_s_per_million")
    ratios = ("-", "-")
    if mars:
        ratios = (f"{middle(mars, 'tuples_per_s') / 1e6 / speed:.1f}", f"{cpu / middle(mars, 'cpu_s_per_million'):.1f}")
    broker = median(turn["broker_cpu_s"] / turn["tuples"] * 1e6 for turn in turns)
    return (about["title"], about["guarantee"], f"{speed:.3f} ({min(speeds):.3f} to {max(speeds):.3f})", ratios[0],
            f"{cpu:.2f}", ratios[1], f"{max(turn['peak_bytes'] for turn in turns) / 1e6:,.0f}", f"{broker:.2f}",
            f"{turns[0]['tuples']:,}", _answer(turns))


def _answer(turns: list[dict]) -> str:
    wrong = [turn["exactness"] for turn in turns if turn["exactness"]["wrong"]]
    if not wrong:
        return "exact"
    worst = max(wrong, key=lambda found: found["wrong"])
    return f"wrong in {len(wrong)} of {len(turns)} turns: {worst['lost']:,} lost, {worst['doubled']:,} doubled"
