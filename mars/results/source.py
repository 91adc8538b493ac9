"""What reading results works with. It knows no SQL and no web framework, so that whoever feeds a sink can have one, too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from mars.adapters.catalog import CatalogStore
from mars.model.plan import Stream
from mars.results.partial import PartialPages
from mars.results.rows import CompileCondition
from mars.results.snapshot import SnapshotReader
from mars.results.tables import ResultTables
from mars.runtime.system import SYSTEM, Clock


class EndOffsets(Protocol):
    """Tells how far topics go."""

    def read(self, stream: Stream, partitions: Iterable[int]) -> dict[int, int]:
        """The last stable offset of each partition of the stream's topic; MarsError while nobody knows."""


@dataclass(frozen=True)
class ResultSource:
    """`retention_days` is how long closed windows are kept."""

    catalog: CatalogStore
    snapshots: SnapshotReader
    tables: ResultTables
    partial_pages: PartialPages
    ends: EndOffsets
    retention_days: int
    compile_condition: CompileCondition
    clock: Clock = SYSTEM.clock
