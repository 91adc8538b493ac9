"""Open windows: the rows that the committed state would give if its windows closed now."""

from __future__ import annotations

import pyarrow as pa

from mars import computing
from mars.errors import ConflictError, GoneError
from mars.results import emitted, ranked
from mars.results.schema import schema_of
from mars.results.snapshot import Snapshot
from mars.results.tables import ResultTables, closed_within
from mars.runtime.byte_lru import ByteLru
from mars.runtime.system import SYSTEM, Runtime

KEPT_S = 60.0  # for whoever asks for the next page
NEVER_US = 2**62  # no window closes later
KEPT_BYTES = 256 * 1024 * 1024  # of the server's memory, as of each of its caches


class PartialPages:
    """The open rows that later pages of a first page need: kept for KEPT_S, or for less when memory runs out."""

    def __init__(self, runtime: Runtime = SYSTEM) -> None:
        self._runtime, self._lock = runtime, runtime.lock()
        self._tables: ByteLru[str, tuple[float, pa.Table]] = ByteLru(KEPT_BYTES, lambda held: held[1].nbytes)

    def keep(self, table: pa.Table) -> str:
        """Keep the rows; the id brings them back."""
        id_ = self._runtime.new_id()
        with self._lock:
            self._forget()
            self._tables.put(id_, (self._runtime.clock.monotonic_s() + KEPT_S, table))
        return id_

    def renew(self, id_: str) -> bool:
        """Keep the rows of an id for another KEPT_S; False once they are no longer kept."""
        with self._lock:
            self._forget()
            held = self._tables.pop(id_)
            if held is not None:
                self._tables.put(id_, (self._runtime.clock.monotonic_s() + KEPT_S, held[1]))
        return held is not None

    def find(self, id_: str) -> pa.Table:
        """The rows of an id; GoneError once they are no longer kept."""
        with self._lock:
            self._forget()
            held = self._tables.get(id_)
        if held is None:
            raise GoneError("the page is no longer kept", f"pages of partial results are kept for {KEPT_S:.0f} s",
                            "begin again without cursor")
        return held[1]

    def _forget(self) -> None:
        now_s = self._runtime.clock.monotonic_s()
        for id_ in [id_ for id_ in self._tables if (held := self._tables.peek(id_)) and held[0] < now_s]:
            self._tables.pop(id_)


def open_rows(tables: ResultTables, snapshot: Snapshot) -> pa.Table:
    """The rows of all windows that are not visible yet: windows in the state of a key part, and windows that one key part
    has closed while another has not."""
    if reason := computing.refusal(snapshot.query.plan, snapshot.stream):
        raise ConflictError("this Mars must not compute the query's open windows", reason)
    schema, bound = schema_of(snapshot.query.plan), snapshot.watermark_us
    found = [schema.empty_table()]
    for number, part in enumerate(snapshot.parts):
        if part is None:
            continue
        found.append(tables.open.rows(snapshot, number, part))
        if snapshot.query.plan.aggregation.late == "UPDATE":
            continue
        found += [closed_within(tables.rows(result, snapshot.query.plan, snapshot.stream), bound, None, snapshot.delay_us)
                  for result in tables.segments(part)
                  if bound is None or result.last_end_us + snapshot.delay_us > bound]
    if snapshot.query.plan.aggregation.late == "UPDATE":
        found += [piece.load() for piece in tables.closed(snapshot, NEVER_US, bound)]
    table, plan = pa.concat_tables(found), snapshot.query.plan
    return emitted.still_open(table.filter(table[emitted.FINAL])) if emitted.is_emitted(plan) else ranked.shown(plan, table)
