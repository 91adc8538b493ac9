"""Quix Streams, as what a Python user may take.

| setting | value | why |
| --- | --- | --- |
| steps | apply, group_by, tumbling_window, count, current | as its documentation shows them |
| current | the count so far after each tuple; the last one is the answer | final closes by the greatest time seen in any |
| | | partition: of a backlog, whose partitions are read unevenly, it lost more than a third |
| grace | 1 h | for the same reason |
| group_by | by "sip,type", sent through a topic of its own | messages have no key, and its state goes by key |
| processing_guarantee | at-least-once, its default | exactly-once goes by transactions and would not cover files |
| changelog topics, commit each 5 s | its defaults | its state survives a crash by them, the answer does not |
| serializers | strings | JSON, its default, costs more |

One process: its loop is Python. It takes fewer tuples, as it is slow. The answer is gathered in a dictionary, and offsets
are committed before it is written: after a crash groups of which no tuple comes any more are missing, so it may lose.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.contenders.program import MAY_LOSE, Program, Setup
from benchmarks.contenders.protocol import Job, serve

TUPLES_MAX = 300_000
GRACE_MS = 3_600_000


def command(setup: Setup) -> list[str]:
    """The program, in Quix Streams' own environment."""
    return [str(setup.python), "-m", "benchmarks.contenders.quix", str(setup.folder)]


QUIX = Program("quix", "Quix Streams 3.28", MAY_LOSE, command, packages="quix_packages", tuples_max=TUPLES_MAX)


def run(job: Job) -> None:
    """Until all messages have been counted."""
    from quixstreams import Application

    turn = f"{Path(job.work).parent.name}-{job.number}"  # else a second turn would go on where the first one ended
    app = Application(job.kafka, consumer_group=turn, auto_offset_reset="earliest",
                      state_dir=job.work, loglevel="WARNING")
    topic = app.topic(job.topic, value_deserializer="bytes", timestamp_extractor=lambda value, *_: time_ms(value, job))
    counted = 0

    def count(value: object) -> None:
        nonlocal counted
        counted += 1
        if counted == job.messages:
            app.stop()

    counts: dict[tuple[int, str], int] = {}

    def keep(value: dict, key: str, timestamp: int, headers: object) -> None:
        counts[value["start"], key] = value["value"]

    texts = dict.fromkeys(("value_deserializer", "key_deserializer", "value_serializer", "key_serializer"), "string")
    keyed = app.dataframe(topic).apply(key_of).group_by(lambda key: key, name=f"key-{turn}", **texts)
    windows = keyed.tumbling_window(job.window_ms, grace_ms=GRACE_MS).count()
    windows.current().update(keep, metadata=True).update(count)
    app.run()
    (Path(job.out) / "part.csv").write_text("".join(f"{start},{key},{n}\n" for (start, key), n in counts.items()))


def time_ms(value: bytes, job: Job) -> int:
    """The event time of a line."""
    return int(value[:value.index(b",")]) * job.unit_ms


def key_of(value: bytes) -> str:
    """The group of a line: "sip,type"."""
    _, type_, sip, _ = value.decode().split(",", 3)
    return f"{sip},{type_}"


if __name__ == "__main__":
    serve(run)
