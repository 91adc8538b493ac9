"""What reading results needs. It knows no SQL and no web framework, so code that feeds a sink can use it, too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from mars.adapters.catalog import CatalogStore
from mars.model.plan import Stream
from mars.results.first_pages import FirstPages
from mars.results.partial_pages import PartialPages
from mars.results.rows import CompileCondition
from mars.results.snapshot import SnapshotReader
from mars.results.tables import ResultTables
from mars.runtime.system import SYSTEM, Clock


class EndOffsets(Protocol):
    """Reports the ends of topics."""

    def read(self, stream: Stream, partitions: Iterable[int]) -> dict[int, int]:
        """The last stable offset of each partition of the stream's topic; MarsError while that is not known."""


@dataclass(frozen=True)
class ResultSource:
    """`retention_days` is how long closed windows are kept."""

    catalog: CatalogStore
    snapshots: SnapshotReader
    tables: ResultTables
    partial_pages: PartialPages
    first_pages: FirstPages
    ends: EndOffsets
    retention_days: int
    compile_condition: CompileCondition
    clock: Clock = SYSTEM.clock
