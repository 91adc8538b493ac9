"""`mars load`: each line of a file into a topic as one message."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TransferSpeedColumn

from api.cli.commands.instance import settings
from api.cli.lines import LineFile, ensure_topic, send
from api.instance import runfile
from mars.adapters.kafka.security import security_of


def load(path: Path, topic: str, rate: int | None, stamp: str | None, header: bool | None, time_column: str | None,
         kafka: str | None, data: Path | None) -> None:
    """Send the file and say what was sent; see `mars load --help`."""
    file = LineFile(path, header)
    stamper = None
    if stamp:
        from api.cli.stamp import Stamper  # the mappers' kernels take a second or two to load

        stamper = Stamper(file.guess, time_column)
    config = settings(data)
    address, security = kafka or runfile.require(config.data).kafka, security_of(config)
    partitions, made = ensure_topic(address, security, topic)
    if made:
        say(f"topic {topic} is new, with {partitions} partitions")
    if file.header:
        say("line 1 names the columns and is not sent (--no-header sends it)")
    if stamper:
        say(f"column {stamper.column} gets the time of sending")
    bar = Progress(BarColumn(), MofNCompleteColumn(), TextColumn("bytes"), TransferSpeedColumn(),
                   console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    with bar:
        task = bar.add_task("", total=file.bytes)
        lines = map(stamper, file.lines()) if stamper else file.lines()
        count = send(lines, address, security, topic, partitions, rate, lambda _, size: bar.update(task, completed=size))
    say(f"{count:,} messages sent to topic {topic}, one per line")


def say(text: str) -> None:
    """A line for people."""
    print(text, file=sys.stderr, flush=True)
