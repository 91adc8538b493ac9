"""Open windows: the rows that the committed state would give if its windows closed now."""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict

import pyarrow as pa

from mars import computing
from mars.errors import ConflictError, GoneError
from mars.results.schema import schema_of
from mars.results.snapshot import Snapshot
from mars.results.tables import ResultTables, closed_within

KEPT_S = 60.0
KEPT_BYTES = 256 * 1024 * 1024


class PartialPages:
    """The open rows that first pages promised to later ones: kept for KEPT_S, and less when memory runs out."""

    def __init__(self) -> None:
        self._tables: OrderedDict[str, tuple[float, pa.Table]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, table: pa.Table) -> str:
        """Keep the rows; the id brings them back."""
        id_ = uuid.uuid4().hex
        with self._lock:
            self._tables[id_] = (time.monotonic() + KEPT_S, table)
            self._forget()
        return id_

    def find(self, id_: str) -> pa.Table:
        """The rows of an id; GoneError once they are no longer kept."""
        with self._lock:
            self._forget()
            if id_ not in self._tables:
                raise GoneError("the page is no longer kept", f"pages of partial results are kept for {KEPT_S:.0f} s",
                                "begin again without cursor")
            return self._tables[id_][1]

    def _forget(self) -> None:
        now, held = time.monotonic(), sum(table.nbytes for _, table in self._tables.values())
        for id_, (deadline, table) in list(self._tables.items()):
            if deadline < now or held > KEPT_BYTES:
                del self._tables[id_]
                held -= table.nbytes


def open_rows(tables: ResultTables, snapshot: Snapshot) -> pa.Table:
    """The rows of all windows that are not visible yet: those in the state of a key part, and those that one key part
    has closed while another has not."""
    if reason := computing.refusal(snapshot.query.plan, snapshot.stream):
        raise ConflictError("this Mars must not compute the query's open windows", reason)
    schema, bound = schema_of(snapshot.query.plan), snapshot.watermark_us
    found = [schema.empty_table()]
    for number, part in enumerate(snapshot.parts):
        if part is None:
            continue
        found.append(tables.open.rows(snapshot, number, part))
        found += [closed_within(tables.table(result.segment, schema), bound, None, snapshot.delay_us)
                  for result in tables.segments(part)
                  if bound is None or result.last_end_us + snapshot.delay_us > bound]
    return pa.concat_tables(found)
