"""Who takes part, in the order of the table."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from benchmarks.contenders.bytewax import BYTEWAX
from benchmarks.contenders.flink import FLINK
from benchmarks.contenders.mars import Mars
from benchmarks.contenders.pathway import PATHWAY
from benchmarks.contenders.process import ProcessContender
from benchmarks.contenders.protocol import Job
from benchmarks.contenders.quix import QUIX
from benchmarks.contenders.spark import SPARK, SPARK_LARGE
from benchmarks.contenders.storm import STORM, STORM_UNACKED
from mars.config import Config

PROGRAMS = (SPARK, SPARK_LARGE, FLINK, STORM, STORM_UNACKED, PATHWAY, BYTEWAX, QUIX)
NAMES = (Mars.name, *(program.name for program in PROGRAMS))


class Contender(Protocol):
    """One system. `prepare` once; then `start`, jobs numbered from 0 one after the other, `stop`, as often as wanted."""

    name: str
    title: str
    guarantee: str
    tuples_max: int | None

    def prepare(self, config: Config) -> None: ...

    def start(self, folder: Path, kafka: str) -> None: ...

    def roots(self) -> list[int]: ...

    def run(self, job: Job, limit_s: float) -> None: ...

    def results(self, job: Job) -> pa.Table: ...

    def following(self, job: Job, out: Path) -> AbstractContextManager[None]: ...

    def stop(self) -> None: ...


def chosen(names: list[str]) -> list[Contender]:
    """The contenders of these names, all for none, in the order of the table. Raises ValueError for an unknown name."""
    unknown = set(names) - set(NAMES)
    if unknown:
        raise ValueError(f"no contender is named {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    every: list[Contender] = [Mars(), *(ProcessContender(program) for program in PROGRAMS)]
    return [contender for contender in every if not names or contender.name in names]
