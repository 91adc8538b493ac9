"""bytewax, as what a Python user may take.

| setting | value | why |
| --- | --- | --- |
| operators | Kafka source, map, count_window with an event clock, file sink | as its documentation shows them |
| batch_size of the source | 1,000, its default | larger ones gain nothing, and read the partitions less evenly |
| wait_for_system_duration | the watermark's delay and 60 s | its clock is the greatest time of a key in any partition; |
| | | without the 60 s, a quarter of the tuples of a backlog is late and lost |
| workers | 1 | its threads share one Python interpreter lock: two are slower |
| recovery | off | a snapshot store costs more; so a crash begins again |

It takes fewer tuples, as it is slow. A bounded topic ends the flow, and with it every window closes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.contenders.program import BEGINS_AGAIN, Program, Setup
from benchmarks.contenders.protocol import Job, serve

TUPLES_MAX = 500_000
UNEVEN = timedelta(seconds=60)


def command(setup: Setup) -> list[str]:
    """The program, in bytewax's own environment."""
    return [str(setup.python), "-m", "benchmarks.contenders.bytewax", str(setup.folder)]


BYTEWAX = Program("bytewax", "bytewax 0.21", BEGINS_AGAIN, command, packages="bytewax_packages", tuples_max=TUPLES_MAX)


def run(job: Job) -> None:
    """Until the topic's end; for ever over one that goes on."""
    from bytewax.testing import run_main

    run_main(flow(job))


def flow(job: Job) -> object:
    """The dataflow."""
    import bytewax.operators as op
    import bytewax.operators.windowing as w
    from bytewax.connectors.files import FileSink
    from bytewax.connectors.kafka import KafkaSource
    from bytewax.dataflow import Dataflow

    window, epoch = timedelta(milliseconds=job.window_ms), datetime(1970, 1, 1, tzinfo=UTC)
    unit_s = job.unit_ms / 1000

    def parsed(message: Any) -> tuple[str, datetime]:
        time, type_, sip, _ = message.value.decode().split(",", 3)
        return f"{sip},{type_}", datetime.fromtimestamp(int(time) * unit_s, UTC)

    def line(row: tuple[str, tuple[int, int]]) -> tuple[str, str]:
        key, (number, count) = row
        return key, f"{number * job.window_ms},{key},{count}"

    out = Path(job.out) / "part.csv"
    out.touch()
    whole = Dataflow("side_by_side")
    source = KafkaSource([job.kafka], [job.topic], tail=not job.messages)
    tuples = op.map("parse", op.input("tuples", whole, source), parsed)
    clock = w.EventClock(lambda row: row[1], timedelta(milliseconds=job.watermark_ms) + UNEVEN)
    counts = w.count_window("count", tuples, clock, w.TumblingWindower(window, epoch), lambda row: row[0])
    op.output("write", op.map("lines", counts.down, line), FileSink(out))
    return whole


if __name__ == "__main__":
    serve(run)
