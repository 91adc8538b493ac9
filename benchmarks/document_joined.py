"""Blocks of docs/benchmarks.md that set several measurements beside each other, or beside the paper's figures."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.scaling_run import Result
from benchmarks.side_by_side_table import by_contender, middle

MEBI = 2**20
LEAST_TUPLES = 10_000_000  # of a run that the paper's throughput is set beside


def measured(folder: Path, name: str) -> dict | None:
    """What a command left, if it did."""
    file = folder / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else None


def paper(folder: Path) -> str:
    """The paper's figures beside ours, as far as they are measured; its MB are binary, and so are ours here."""
    here = dict.fromkeys(("node", "mean", "batch", "against", "sums"), "not measured yet")
    if found := measured(folder, "tuples"):
        best = max((Result(**point) for point in found["points"] if point["tuples"] >= LEAST_TUPLES),
                   key=lambda result: result.megabytes_per_s, default=None)
        if best:
            here["node"] = f"{best.megabytes_per_s * 1e6 / MEBI:.0f} MB/s ({best.tuples_per_s / 1e6:.2f} M tuples/s)"
    if found := measured(folder, "latency"):
        here["mean"] = "freshness " + "; ".join(f"{load['name'].replace('_', ' ')}: {load['freshness']['mean']:.0f} ms"
                                                for load in found["loads"])
    if found := measured(folder, "side_by_side_latency"):
        here["mean"] += "; of closed windows, at one rate: " + ", ".join(
            f"{name} {spreads['tuple closed']['mean']:,.0f} ms" for name, spreads in found["latency"].items())
    if found := measured(folder, "message"):
        here["batch"] = per_message([Result(**point) for point in found["points"]])
    if found := measured(folder, "side_by_side"):
        here["against"] = against(by_contender(found), found)
    if found := measured(folder, "accuracy"):
        here["sums"] = "; ".join(f"{found['contenders'][turn['contender']]['title']}: {turn['exactness']['lost']:,} lost, "
                                 f"{turn['exactness']['doubled']:,} doubled" for turn in found["turns"])
    rows = [["throughput of one node", "179 MB/s (1.25 M tuples/s), the broker elsewhere",
             f"{here['node']} on this machine's cores, the broker on them too"],
            ["best tuples per message", "5,000; one is far worse, more are a little worse", here["batch"]],
            ["mean latency of a tuple", "1372 ms (Storm 653, Spark Streaming 2383)", here["mean"]],
            ["against Spark Streaming, Storm", "1.46 and 2.82 times their throughput", here["against"]],
            ["40 million tuples, three nodes cut off", "Mars: none lost, none doubled; Storm the same", here["sums"]],
            ["scaling", "near-linear to 20 nodes, 3.5 GB/s; then the broker's disks are full",
             "one machine; see the model [below](#workers-and-partitions)"]]
    return "\n".join(["| | the paper | here |", "| --- | --- | --- |", *("| " + " | ".join(row) + " |" for row in rows)])


def per_message(points: list[Result]) -> str:
    """The best number of tuples in a message, and how far the others are from it."""
    best, worst = (choose(points, key=lambda result: result.tuples_per_s) for choose in (max, min))
    return (f"{best.name} ({best.tuples_per_s / 1e6:.2f} M tuples/s); the worst is {worst.name} "
            f"({worst.tuples_per_s / 1e6:.2f}), and runs of one size differ by as much")


def against(turns: dict[str, list[dict]], document: dict) -> str:
    """How many times as fast as each contender that is called Spark or Storm; see the table of side_by_side."""
    mars = middle(turns["mars"], "tuples_per_s")
    return "; ".join(f"{mars / middle(its, 'tuples_per_s'):.1f} times {document['contenders'][name]['title']}"
                     for name, its in turns.items() if name.startswith(("spark", "storm")))


def like_for_like(folder: Path) -> str:
    """What the ratios of contenders that are given fewer tuples come to when Mars has few too: the least of its curve."""
    compared, curve = measured(folder, "side_by_side"), measured(folder, "tuples")
    if not compared or not curve:
        return "Not measured yet: this needs the tables of side_by_side and of tuples."
    least = min((Result(**point) for point in curve["points"]), key=lambda point: point.tuples)
    few = {name: turns for name, turns in by_contender(compared).items() if turns[0]["tuples"] < compared["tuples"]}
    said = [f"{least.tuples_per_s / middle(turns, 'tuples_per_s'):.1f} times the speed of "
            f"{compared['contenders'][name]['title']} over {turns[0]['tuples']:,}" for name, turns in few.items()]
    return "\n".join((
        "The ratios to the contenders for Python compare different sizes, and warm with cold. Mars takes "
        f"{compared['tuples']:,} tuples",
        "and is warm. They take fewer tuples, and the clock includes their imports and the start of their engines.",
        f"The following comes closer to like for like: over {least.tuples:,} tuples Mars, warm too, did "
        f"{least.tuples_per_s / 1e6:.2f} M a second in",
        f"another run ([below](#as-the-work-grows)), which is {'; '.join(said)}."))
