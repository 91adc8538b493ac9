"""A sink's way into Parquet files in a folder, of this machine or of a store that speaks S3: exactly once, for whoever reads
the visible files.

The mark lies in the manifest that makes a file count (mars/adapters/published_folder.py).
"""

from __future__ import annotations

import pyarrow as pa

from mars import faults
from mars.adapters.published_folder import MANIFESTS, Manifest, PublishedFolder
from mars.adapters.published_prefix import PublishedPrefix
from mars.adapters.target_errors import FencedError, ProgressLostError, TargetAwayError, TargetRefusesError
from mars.model.connections import Connection
from mars.model.sinks import Mark, Sink
from mars.publisher.target import WINDOW, Pace, Way, lost, under
from mars.results.formats import timestamp_text
from mars.results.rows import times

ROWS_MAX = 1 << 30  # time and bytes decide


class ParquetTarget:
    """One folder, which a sink has for itself."""

    keeps_mark = True

    def __init__(self, way: Way, sink: Sink, connection: Connection | None = None) -> None:
        self.folder: PublishedFolder | PublishedPrefix = PublishedFolder(sink.into.name) if connection is None else (
            PublishedPrefix(sink.into.name, connection, way.secret))
        self.pace = Pace(sink.into.every_ms / 1000, ROWS_MAX, sink.into.bytes_max)
        self.id = f"{way.instance}/{sink.id}" if sink.id else ""  # none yet while the sink is being made
        self.number = 0

    def prepare(self, may_make: bool) -> bool:
        """As Target.prepare."""
        if self.folder.is_there():
            self._require_ours(self.folder.newest())
            return False
        if not may_make:
            raise ProgressLostError("the folder is gone", f"{self.folder.where} has no {MANIFESTS} any "
                                    "more, though rows were delivered into it")
        self.folder.make()
        return True

    def claim(self, fresh: Mark, is_known: bool) -> Mark:
        """As Target.claim."""
        found = self.folder.newest()
        if found is None and is_known:
            raise lost(f"{self.folder.where}/{MANIFESTS} has no manifest")
        self._require_ours(found)
        try:
            mark = fresh if found is None else Mark.of(found.document["mark"])
        except (KeyError, TypeError, ValueError) as error:
            raise lost(repr(error)) from None
        mark = under(mark, fresh)
        self.number = 0 if found is None else found.number
        try:
            self._commit(mark, None)
        except FencedError as error:  # the owner before has just ended a file
            raise TargetAwayError(error.title, error.detail) from None
        self.folder.sweep()
        return mark

    def deliver(self, rows: pa.Table, mark: Mark) -> None:
        """As Target.deliver."""
        file = None
        if len(rows):
            first = (timestamp_text(int(times(rows, WINDOW[0])[0])) or "").replace(":", "-")
            file = self.folder.write(f"{first}-{self.number + 1:08}.parquet", rows)
            faults.point("publisher.staged")
        faults.point("publisher.committing")
        self._commit(mark, file)

    def close(self) -> None:
        """As Target.close."""

    def _commit(self, mark: Mark, file: tuple[str, str] | None) -> None:
        self.folder.commit(Manifest(self.number + 1, {"sink": self.id, "mark": mark.to_json()}, file))
        self.number += 1

    def _require_ours(self, found: Manifest | None) -> None:
        if found is not None and found.document.get("sink") != self.id:
            raise TargetRefusesError(f"{self.folder.where} has the files of another sink", "a sink has a folder of its own",
                                     "name another folder")
