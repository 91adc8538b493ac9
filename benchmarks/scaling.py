"""Throughput and cost as one thing grows: `python -m benchmarks.scaling NAME [--tuples N] [--out FOLDER]`.

Each name is a curve; its points share an instance where they can, a first topic warms it, and every group of every
point is compared with the producer's count. A table is printed; FOLDER gets NAME.json and NAME.svg.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path

from benchmarks import plot
from benchmarks.generator import KEYS as DRAWN
from benchmarks.generator import LINE_BYTES, POOLS, SCHEMA, TYPES, UNIFORM
from benchmarks.machine import command, machine
from benchmarks.scaling_run import Result, instance
from benchmarks.scaling_topic import Point, filled
from mars.config import Config

WARM = 1_000_000
PAPER_MB_PER_S = 3.5 * 2**30 / 1e6
COLUMNS = [part.split()[0] for part in SCHEMA.split(", ")]


@dataclass(frozen=True)
class Curve:
    """What grows, and the points of it for about so many tuples each."""

    title: str
    axis: str
    points: Callable[[int], list[Point]]
    log: bool = True
    names: bool = False  # points have names, not places: bars
    shared: bool = False  # points share a topic, each on an instance of its own


def message(tuples: int) -> list[Point]:
    """The paper's figure 3: tuples per message."""
    sizes = (1, 10, 100, 1_000, 5_000, 10_000, 50_000)
    return [Point(size, max(tuples // 50_000, 1) * 50_000, packed=size) for size in sizes]


def batch(tuples: int) -> list[Point]:
    """Tuples in a claim: one size for single batches and for runs of them."""
    sizes = (500, 2_000, 5_000, 20_000, 50_000, 100_000)
    return [Point(size, min(tuples, 400 * size), settings={"batch_tuples": size, "run_tuples_max": size}) for size in sizes]


def workers(tuples: int) -> list[Point]:
    """The paper's figure 4, as far as one machine can show it: mappers."""
    return [Point(count, tuples, partitions=8, settings={"mappers": count}) for count in (1, 2, 4, 8)]


def partitions(tuples: int) -> list[Point]:
    """Partitions of the topic."""
    return [Point(count, tuples, partitions=count) for count in (1, 2, 4, 8, 16, 32, 64)]


def tuples_(tuples: int) -> list[Point]:
    """Tuples in the topic, up to `tuples`; 10^8 of them take 16 GB."""
    return [Point(size, size) for size in (1_000_000, 3_000_000, 10_000_000, 20_000_000, 50_000_000, 100_000_000)
            if size <= tuples]


def long(tuples: int) -> list[Point]:
    """One run of many tuples, produced while the query runs, into a topic that keeps 2 GB of each partition."""
    return [Point(tuples, tuples, rate=1_000_000, retention_bytes=2 << 30)]


def groups(tuples: int) -> list[Point]:
    """Groups that tuples may have, all in one window. Of the last count 10^6 groups come, and more, with skewed keys too."""
    counts = (100, 1_000, 10_000, 100_000, 1_600_000)
    return [Point(count, max(tuples, 5 * count), sips=max(count // len(TYPES), 1), pool=max(100_000, 5 * count // 2),
                  event_rate=max(tuples, 5 * count) // 30) for count in counts]


def columns(tuples: int) -> list[Point]:
    """Columns that the query wants: the window's alone, the paper's three, then counts of others."""
    points = [Point(1, tuples, query="SELECT timestamp, count(*) FROM {stream} GROUP BY timestamp WINDOWING 60 s",
                    keys=("timestamp",))]
    for wanted in (3, 5, 10, 20):
        others = "".join(f", count({name}) AS c_{name}" for name in [c for c in COLUMNS if c not in KEYS][:wanted - 3])
        points.append(Point(wanted, tuples, query=f"SELECT sip, type, timestamp, count(*){others} FROM {{stream}} "
                                                  "GROUP BY sip, type, timestamp WINDOWING 60 s"))
    return points


KEYS = ("timestamp", "type", "sip")


def width(tuples: int) -> list[Point]:
    """Bytes of a tuple; about as many bytes in each topic."""
    sizes = (50, 100, LINE_BYTES, 300, 1_000, 2_000)
    return [Point(size, min(tuples, tuples * LINE_BYTES // size), line_bytes=size) for size in sizes]


def codec(tuples: int) -> list[Point]:
    """The producers' compression."""
    return [Point(place, tuples, label=name, codec=name) for place, name in enumerate(("none", "lz4", "zstd"))]


def tls(tuples: int) -> list[Point]:
    """How Kafka is spoken to."""
    return [Point(place, tuples, label=name) for place, name in enumerate(("PLAINTEXT", "SSL"))]


def forms(tuples: int) -> list[Point]:
    """How tuples are written: CSV or JSON, one a message, or 100."""
    of = {"CSV": "csv", "JSON": "json"}
    shapes = [(name, packed) for name in of for packed in (1, 100)]
    return [Point(place, tuples, label=name if packed == 1 else f"{name}, {packed} a message", packed=packed,
                  format=of[name], line_bytes=POOLS[of[name]].line_bytes) for place, (name, packed) in enumerate(shapes)]


CURVES = {
    "message": Curve("Tuples per message (figure 3 of the paper)", "tuples per message", message),
    "batch": Curve("Tuples per claim", "batch_tuples = run_tuples_max", batch),
    "workers": Curve("Mappers on this machine's cores (figure 4 of the paper)", "mappers", workers, log=False),
    "partitions": Curve("Partitions", "partitions", partitions),
    "tuples": Curve("Tuples in the topic", "tuples", tuples_),
    "long": Curve("A long run", "tuples", long),
    "groups": Curve("Groups of a window", "groups", groups),
    "columns": Curve("Columns wanted, of 20", "columns", columns, log=False),
    "width": Curve("Bytes of a tuple", "bytes", width),
    "codec": Curve("Compression of the topic", "codec", codec, names=True),
    "tls": Curve("Kafka without TLS and with it", "protocol", tls, names=True, shared=True),
    "forms": Curve("Form of the tuples", "form", forms, names=True),
}


def run(points: list[Point], warm: int, repeat: int = 1) -> Iterator[Result]:
    """Each point as it is done; those of the same settings on one instance."""
    for settings, same in groupby(points, key=lambda point: point.settings):
        with instance(settings, warm) as mars:
            for point in same:
                yield mars.measure(point, repeat)


def run_shared(points: list[Point], warm: int, repeat: int = 1) -> Iterator[Result]:
    """Each point as it is done, on an instance that speaks to the one broker in the way that is the point's name."""
    from benchmarks.secure_kafka import secure_kafka  # what it stands on is there where tests are

    with tempfile.TemporaryDirectory(prefix="mars-bench-") as name:
        folder = Path(name)
        with secure_kafka(Config(data=folder), folder) as broker, \
                filled(broker.addresses["PLAINTEXT"], folder, points[0]) as topic:
            for point in points:
                with instance(broker.settings(point.label), warm, broker) as mars:
                    yield mars.read(topic, point, repeat)


def row(result: Result) -> str:
    """A line of the table."""
    cpu, peak = result.cpu_s_per_million, result.peak_megabytes
    verdict = f"EXACT, {result.groups:,} groups" if result.exact else f"NOT EXACT: {result.difference}"
    return (f"{result.name:>20} {result.tuples:>12,} {result.tuples_per_s / 1e6:>7.2f} {result.megabytes_per_s:>7.0f} "
            f"{result.cpu:>7.3f} {cpu['mappers']:>8.3f} {cpu['reducers']:>8.3f} {cpu['redis'] + cpu['zookeeper']:>8.3f} "
            f"{cpu['driver']:>7.3f} {cpu['kafka']:>7.3f} {peak['mappers']:>8.0f} {peak['reducers']:>8.0f}   {verdict}")


HEAD = (f"{'':>20} {'tuples':>12} {'M/s':>7} {'MB/s':>7} {'CPU s/M':>7} {'mappers':>8} {'reducers':>8} {'R + ZK':>8} "
        f"{'driver':>7} {'broker':>7} {'MB map':>8} {'MB red':>8}")


def model(result: Result) -> str:
    """What the measured CPU per tuple says of more cores. A model: it knows no network, no disk and no skew."""
    cpu = result.cpu_s_per_million
    wanted = PAPER_MB_PER_S / (result.megabytes_per_s / result.tuples_per_s) / 1e6
    split = ", ".join(f"{part} {wanted * cpu[part]:.1f}" for part in ("mappers", "reducers", "redis", "kafka"))
    whole = result.cpu + cpu["kafka"]
    return (f"Model, not measured: a core with its broker does {1 / whole:.2f} M tuples/s; the paper's 3.5 GB/s "
            f"({wanted:.1f} M tuples/s) would need {wanted * whole:.1f} cores: {split}")


def picture(curve: Curve, results: list[Result]) -> str:
    """M tuples/s, and CPU seconds per million tuples."""
    if curve.names:
        return plot.bars(curve.title, "", [result.name for result in results],
                         {"M tuples/s": [r.tuples_per_s / 1e6 for r in results], "CPU s per M": [r.cpu for r in results]})
    return plot.lines(curve.title, curve.axis, "M tuples/s; CPU s per M tuples", {
        "M tuples/s": [(r.x, r.tuples_per_s / 1e6) for r in results],
        "CPU s per M": [(r.x, r.cpu) for r in results]}, curve.log)


def chosen(points: list[Point], places: str, parser: argparse.ArgumentParser) -> list[Point]:
    """The points at these places of the axis, by number or by a label without a comma. Ends with a word if there is none at
    one of them."""
    there = {name: point for point in points for name in (f"{point.x:g}", point.label) if name}
    wanted = [there.get(_plain(place.strip())) for place in places.split(",")]
    if None in wanted:
        names = ", ".join(f"{point.x} ({point.label})" if point.label else str(point.x) for point in points)
        parser.error(f"--only {places}: not all of these are here. There are {names}")
    return [point for point in points if point in wanted]


def _plain(place: str) -> str:
    """A number in one way of writing it; what is none stays."""
    try:
        return f"{float(place):g}"
    except ValueError:
        return place


def main() -> None:
    """The benchmark; exit code 1 if any point is not exact."""
    parser = argparse.ArgumentParser(prog="benchmarks.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(CURVES))
    parser.add_argument("--tuples", type=int, default=3_000_000, help="tuples of a point, about")
    parser.add_argument("--only", help="these places of the axis alone, like 1,5000 or CSV")
    parser.add_argument("--repeat", type=int, default=3, help="times that each topic is read; the median is told")
    parser.add_argument("--keys", choices=DRAWN, default=UNIFORM, help="are all groups as frequent?")
    parser.add_argument("--out", type=Path, help="folder for NAME.json and NAME.svg")
    given = parser.parse_args()
    curve, results = CURVES[given.name], []
    points = [replace(point, keys_drawn=given.keys) for point in curve.points(given.tuples)]
    if given.only:
        points = chosen(points, given.only, parser)
    print(curve.title, HEAD, sep="\n", flush=True)
    for result in (run_shared if curve.shared else run)(points, WARM, given.repeat):
        results.append(result)
        print(row(result), flush=True)
        for s, mappers, reducers in result.memory:
            print(f"{s:>20.0f} s: mappers {mappers:.0f} MB, reducers {reducers:.0f} MB")
    said = model(max(results, key=lambda result: result.tuples_per_s))
    print(said)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        found = {"machine": machine(), "command": command(), "title": curve.title, "axis": curve.axis, "keys": given.keys,
                 "model": said if given.name == "workers" else "", "points": [asdict(result) for result in results]}
        (given.out / f"{given.name}.json").write_text(json.dumps(found, indent=1))
        (given.out / f"{given.name}.svg").write_text(picture(curve, results))
    sys.exit(0 if all(result.exact for result in results) else 1)


if __name__ == "__main__":
    main()
