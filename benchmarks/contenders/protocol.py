"""How the harness and a contender's process talk: by small files in one folder, in any language.

`ready` appears when the process is up. Job number n is `job-n.properties`, lines of key=value in the fields of `Job`.
`done-n` appears when the results of every window up to `last_window_ms` are readable. Each file appears whole, by a rename.
Results are lines `window start in ms,sip,type,count` in the files of the job's folder `out`; of windows that are not
tumbling, `window start in ms,window end in ms,sip,type,count`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

POLL_S = 0.01
TUMBLE, HOP, SESSION, CUMULATE = WINDOWS = ("tumble", "hop", "session", "cumulate")


@dataclass(frozen=True)
class Job:
    """One query over one topic: count(*) by sip, type and window of event time.

    `messages` is how many the topic has or, if it is 0, that it goes on for ever. Event times in the topic count units of
    `unit_ms` ms since the epoch. `out` and `work` are empty folders, for results and for what the system keeps itself.
    `windows` is one of WINDOWS: of a hopping one `window_ms` is the size, of a session the gap, of a cumulating one the
    greatest size; `step_ms` is the step of hopping and cumulating ones.
    """

    number: int
    kafka: str
    topic: str
    partitions: int
    messages: int
    unit_ms: int
    window_ms: int
    watermark_ms: int
    last_window_ms: int
    out: str
    work: str
    windows: str = TUMBLE
    step_ms: int = 0

    @property
    def has_ends(self) -> bool:
        """Do results tell the ends of windows?"""
        return self.windows != TUMBLE

    def write(self, folder: Path) -> None:
        """Hand the job over."""
        appear(folder / f"job-{self.number}.properties",
               "".join(f"{name}={value}\n" for name, value in asdict(self).items()))

    @classmethod
    def read(cls, file: Path) -> Job:
        """The job in a file."""
        values = dict(line.split("=", 1) for line in file.read_text().splitlines())
        given: dict[str, Any] = {f.name: int(values[f.name]) if f.type == "int" else values[f.name] for f in fields(cls)}
        return cls(**given)


def appear(file: Path, text: str = "") -> None:
    """Make a file that others see whole or not at all."""
    draft = file.with_name(f".{file.name}")
    draft.write_text(text)
    os.replace(draft, file)


def serve(run: Callable[[Job], None]) -> None:
    """The life of a contender's process: its only argument is the folder. Ends when killed, or with what `run` raises."""
    folder = Path(sys.argv[1])
    appear(folder / "ready")
    number = 0
    while True:
        file = folder / f"job-{number}.properties"
        while not file.exists():
            time.sleep(POLL_S)
        run(Job.read(file))
        appear(folder / f"done-{number}")
        number += 1
