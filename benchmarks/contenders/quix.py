"""Quix Streams, as what a Python user may take.

| setting | value | why |
| --- | --- | --- |
| steps | apply, group_by, tumbling_window, count, final | as its documentation shows them |
| grace | the watermark's delay and 60 s | its clock is the greatest time seen, however unevenly partitions are read |
| group_by | by "sip,type", sent through a topic of its own | messages have no key, and its state goes by key |
| closing_strategy | partition | by key, a group that is not seen again would never close |
| processing_guarantee | at-least-once, its default | exactly-once goes by transactions and would not cover files |
| changelog topics, commit each 5 s | its defaults | its state survives a crash by them |
| serializers | strings | JSON, its default, costs more |

One process: its loop is Python. It takes fewer tuples, as it is slow.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.contenders.program import AT_LEAST, Program, Setup
from benchmarks.contenders.protocol import Job, serve

TUPLES_MAX = 300_000
UNEVEN_MS = 60_000


def command(setup: Setup) -> list[str]:
    """The program, in Quix Streams' own environment."""
    return [str(setup.python), "-m", "benchmarks.contenders.quix", str(setup.folder)]


QUIX = Program("quix", "Quix Streams 3.28", AT_LEAST, command, packages="quix_packages", tuples_max=TUPLES_MAX)


def run(job: Job) -> None:
    """Until all messages have been counted; for ever over a topic that goes on."""
    from quixstreams import Application

    app = Application(job.kafka, consumer_group=f"quix-{job.number}", auto_offset_reset="earliest",
                      state_dir=job.work, loglevel="WARNING")
    topic = app.topic(job.topic, value_deserializer="bytes", timestamp_extractor=lambda value, *_: time_ms(value, job))
    counted = 0

    def count(value: str) -> None:
        nonlocal counted
        counted += 1
        if counted == job.messages:
            app.stop()

    with (Path(job.out) / "part.csv").open("w") as file:
        def write(value: dict, key: str, timestamp: int, headers: object) -> None:
            file.write(f"{value['start']},{key},{value['value']}\n")

        texts = dict.fromkeys(("value_deserializer", "key_deserializer", "value_serializer", "key_serializer"), "string")
        keyed = app.dataframe(topic).apply(key_of).group_by(lambda key: key, name=f"key-{job.number}", **texts)
        keyed.update(count)
        windows = keyed.tumbling_window(job.window_ms, grace_ms=job.watermark_ms + UNEVEN_MS).count()
        windows.final(closing_strategy="partition").update(write, metadata=True)
        app.run()


def time_ms(value: bytes, job: Job) -> int:
    """The event time of a line."""
    return int(value[:value.index(b",")]) * job.unit_ms


def key_of(value: bytes) -> str:
    """The group of a line: "sip,type"."""
    _, type_, sip, _ = value.decode().split(",", 3)
    return f"{sip},{type_}"


if __name__ == "__main__":
    serve(run)
