"""Pathway, as what a Python user may take.

| setting | value | why |
| --- | --- | --- |
| fields | its own string expressions | they run in its engine; a function in Python runs under the interpreter's lock |
| windows | groupby of the window's start, no temporal behaviour | its clock is the greatest time read from any partition; |
| | | exactly_once_behavior, which goes by it, lost 26 % here, and was six times slower |
| results | rows and their retractions, which count with a minus | nothing is closed; an answer is the sum |
| mode | static for a bounded topic | ends by itself; streaming for one that goes on |
| PATHWAY_THREADS | 2 | a core each |
| persistence | off | a snapshot store costs more; so a crash begins again |

It takes fewer tuples, as it is slow and keeps those of a bounded topic in memory.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.contenders.program import BEGINS_AGAIN, Program, Setup
from benchmarks.contenders.protocol import Job, serve

TUPLES_MAX = 1_000_000


def command(setup: Setup) -> list[str]:
    """The program, in Pathway's own environment."""
    return [str(setup.python), "-m", "benchmarks.contenders.pathway", str(setup.folder)]


def environment(setup: Setup) -> dict[str, str]:
    """Its threads."""
    return {"PATHWAY_THREADS": "2"}


PATHWAY = Program("pathway", "Pathway 0.33", BEGINS_AGAIN, command, environment, packages="pathway_packages",
                  tuples_max=TUPLES_MAX)


def run(job: Job) -> None:
    """Until the topic's end; for ever over one that goes on."""
    import pathway as pw

    pw.internals.parse_graph.G.clear()
    with (Path(job.out) / "part.csv").open("w") as file:
        def write(key: object, row: dict, time: int, is_addition: bool) -> None:
            count = row["count"] if is_addition else -row["count"]
            file.write(f"{row['start'] * job.unit_ms},{row['key']},{count}\n")

        pw.io.subscribe(counts(job), write, on_time_end=lambda time: file.flush())
        pw.run(monitoring_level=pw.MonitoringLevel.NONE)


def counts(job: Job) -> object:
    """The table of counts."""
    import pathway as pw

    settings = {"bootstrap.servers": job.kafka, "group.id": f"pathway-{job.number}", "auto.offset.reset": "earliest",
                "fetch.message.max.bytes": str(8 << 20)}
    lines = pw.io.kafka.read(settings, topic=job.topic, format="plaintext",
                             mode="static" if job.messages else "streaming")
    line = pw.this.data
    window = job.window_ms // job.unit_ms
    lines = lines.select(line, first=line.str.find(","))
    lines = lines.select(line, pw.this.first, second=line.str.find(",", pw.this.first + 1))
    lines = lines.select(line, pw.this.first, pw.this.second, third=line.str.find(",", pw.this.second + 1))
    tuples = lines.select(time=line.str.slice(0, pw.this.first).str.parse_int(),
                          key=line.str.slice(pw.this.second + 1, pw.this.third) + ","
                          + line.str.slice(pw.this.first + 1, pw.this.second))
    windows = tuples.select(pw.this.key, start=pw.this.time // window * window)
    return windows.groupby(pw.this.start, pw.this.key).reduce(pw.this.start, pw.this.key, count=pw.reducers.count())


if __name__ == "__main__":
    serve(run)
