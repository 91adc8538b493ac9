"""What statements consist of, as parsed: names with their places, our own clauses, where a sink delivers to."""

from __future__ import annotations

from dataclasses import dataclass, field

from mars.model.plan import Window


@dataclass(frozen=True)
class Name:
    """A name and its place in the statement: sql[start:end]."""

    text: str
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True)
class ColumnDefinition:
    """`name TYPE [PATH 'a.b']`; `type_place` is the place of the type, `type` its text as written."""

    name: Name
    type: Name
    path: Name | None = None


@dataclass(frozen=True)
class Clauses:
    """What our own clauses of a SELECT say; None where one was not written. `idle_ms` 0 is IDLE OFF; `late_for_ms` is that
    of LATE UPDATE, `late_to` the name behind LATE TO, `emission` the word behind EMIT, and `timeout_ms` that of EMIT FINAL
    TIMEOUT; `time` is the column that a window function names as the event time, and `partition` what it names as keys.
    `places` has (start, end) of each clause by its keyword."""

    window: Window | None = None
    watermark_ms: int | None = None
    idle_ms: int | None = None
    grace_ms: int | None = None
    max_ahead_ms: int | None = None
    emit_every_ms: int | None = None
    late_for_ms: int | None = None
    late_to: Name | None = None
    emission: str | None = None
    timeout_ms: int | None = None
    start: str | None = None
    rate: int | None = None
    time: Name | None = None
    partition: tuple[Name, ...] | None = None
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def is_of_a_query(self) -> bool:
        """Is there a clause that only CREATE QUERY takes?"""
        parts = (self.late_for_ms, self.late_to, self.timeout_ms)
        return self.emission in ("CHANGES", "EVERY") or any(part is not None for part in parts)


@dataclass(frozen=True)
class IntoClause:
    """Where a sink delivers to: `kind` POSTGRES, KAFKA, ICEBERG, PARQUET or WEBHOOK; `target` the table, topic, folder
    or, of a webhook, the connection. A file or snapshot is written after `every_ms` or with `bytes_max`. `sql` is the clause
    as written."""

    kind: str
    target: Name
    connection: Name | None = None
    key: tuple[Name, ...] | None = None
    every_ms: int = 0
    bytes_max: int = 0
    sql: str = field(default="", compare=False)
