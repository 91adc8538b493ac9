"""A sink's way into a table of Postgres: effectively once.

One transaction writes the mark into the row of the sink in mars_sinks, and locks it, which it may only if the epoch there
is its own; stages the rows in a temporary table; and puts them into the table in place of earlier ones of the same key. So
rows and mark are there or not together, and of an owner that was fenced nothing is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from mars import faults
from mars.adapters.postgres import Session, literal, name
from mars.adapters.target_errors import FencedError, ProgressLostError, RowsRefusedError, TargetRefusesError
from mars.algebra.evaluation.arrays import single
from mars.algebra.grouping import group
from mars.model.connections import Connection
from mars.model.sinks import Mark, Sink
from mars.publisher.postgres_table import Table, definition, prepare
from mars.publisher.target import Pace, Shape, Way, lost
from mars.results.formats import rows as json_rows

MARKS = "mars_sinks"
STAGE = "mars_stage"


class PostgresTarget:
    """One session and the table. The table of the marks lies in the same schema."""

    pace, keeps_mark = Pace(), True

    def __init__(self, way: Way, sink: Sink, shape: Shape, connection: Connection) -> None:
        self.table = Table.of(sink.into.name, shape)
        self.id = f"{way.instance}/{sink.id}"
        self.sink = sink
        self.marks = name(self.table.schema, MARKS)
        self.session = Session(connection, way.secret, f"mars sink {sink.name}")
        self.stage = f"{STAGE}_{sink.id}"

    def prepare(self, may_make: bool) -> bool:
        """As Target.prepare."""
        return prepare(self.session, self.table, may_make)

    def claim(self, fresh: Mark, is_known: bool) -> Mark:
        """As Target.claim."""
        there = self.session.rows(f"SELECT to_regclass({literal(self.marks)}) IS NOT NULL")[0][0]
        if not there:
            if is_known:
                raise self._lost(f"there is no table {self.marks}")
            self.session.run(f"CREATE TABLE {self.marks} (sink text PRIMARY KEY, name text NOT NULL, epoch bigint NOT NULL, "
                             "mark text NOT NULL, updated timestamptz NOT NULL DEFAULT now())")
        found = self.session.rows(f"SELECT epoch, mark FROM {self.marks} WHERE sink = {literal(self.id)} FOR UPDATE")
        if found and found[0][0] > fresh.epoch:
            raise self._fenced()
        if not found and is_known:
            raise self._lost(f"{self.marks} has no row {self.id}")
        mark = self._read(found[0][1], fresh.epoch) if found else fresh
        text = literal(mark.dump())
        self.session.run(
            f"INSERT INTO {self.marks} (sink, name, epoch, mark) VALUES ({literal(self.id)}, {literal(self.sink.name)}, "
            f"{mark.epoch}, {text}) ON CONFLICT (sink) DO UPDATE SET epoch = excluded.epoch, mark = excluded.mark, "
            "updated = now()")
        self.session.commit()
        return mark

    def deliver(self, rows: pa.Table, mark: Mark) -> None:
        """As Target.deliver."""
        try:
            self._write(rows, mark)
        except RowsRefusedError as error:
            self.session.rollback()
            raise self._named(rows, error) from None
        faults.point("publisher.committing")
        self.session.commit()

    def close(self) -> None:
        """As Target.close."""
        self.session.close()

    def _write(self, rows: pa.Table, mark: Mark) -> None:
        changed = self.session.run(f"UPDATE {self.marks} SET mark = {literal(mark.dump())}, updated = now() "
                                   f"WHERE sink = {literal(self.id)} AND epoch = {mark.epoch}")
        if changed != 1:
            raise self._not_ours()
        if len(rows):
            self._put(newest(rows, self.table.key) if self.table.shape.is_changelog else rows)

    def _put(self, rows: pa.Table) -> None:
        columns = [column for column, _ in self.table.shape.columns]
        listed, key = ", ".join(map(name, columns)), ", ".join(map(name, self.table.key))
        self.session.run(f"CREATE TEMPORARY TABLE IF NOT EXISTS {name(self.stage)} ({definition(self.table.shape)}) "
                         "ON COMMIT DELETE ROWS")
        self.session.copy(self.stage, as_postgres(rows))
        faults.point("publisher.staged")
        values = [f"{name(column)} = excluded.{name(column)}" for column in columns if column not in self.table.key]
        then = f"UPDATE SET {', '.join(values)}" if values else "NOTHING"
        self.session.run(f"INSERT INTO {self.table.quoted} ({listed}) SELECT {listed} FROM {name('pg_temp', self.stage)} "
                         f"ON CONFLICT ({key}) DO {then}")

    def _named(self, rows: pa.Table, error: RowsRefusedError) -> TargetRefusesError:
        """The refusal with the first row that is refused, which is looked for by halves; each try is undone."""
        while len(rows) > 1:
            half = rows.slice(0, len(rows) // 2)
            try:
                self._put(half)
                rows = rows.slice(len(half))
            except RowsRefusedError as again:
                rows, error = half, again
            self.session.rollback()
        key = rows.select(list(self.table.key))
        named = ", ".join(f"{column} = {value!r}" for column, value in zip(key.column_names, json_rows(key)[0], strict=True))
        return RowsRefusedError(f"{self.table.quoted} refuses a row", f"{named}: {error.detail}",
                                "change the table; or DROP the sink and CREATE it with a WHERE that leaves the row out")

    def _not_ours(self) -> FencedError | ProgressLostError:
        found = self.session.rows(f"SELECT epoch FROM {self.marks} WHERE sink = {literal(self.id)}")
        return self._fenced() if found else self._lost(f"{self.marks} has no row {self.id} any more")

    def _read(self, text: str, epoch: int) -> Mark:
        try:
            mark = Mark.load(text)
        except ValueError as error:
            raise self._lost(str(error)) from None
        return replace(mark, epoch=epoch)

    def _fenced(self) -> FencedError:
        return FencedError("another publisher has the sink", f"{self.marks} has a later epoch for {self.sink.name}")

    def _lost(self, detail: str) -> ProgressLostError:
        return lost(f"at {self.session.where} {detail}")


def newest(rows: pa.Table, key: tuple[str, ...]) -> pa.Table:
    """The last row of each key: one statement writes no row twice."""
    last = rows.take(pa.array(np.arange(len(rows))[::-1]))
    found = group([single(last[name]) for name in key], np.zeros(len(rows), np.int64))
    return last.take(pa.array(found.first_row[::-1]))


def as_postgres(rows: pa.Table) -> pa.Table:
    """The rows in the types of the staging table: a FLOAT becomes the double with the same shortest text."""
    columns = [column.cast(pa.string()).cast(pa.float64()) if pa.types.is_float32(column.type) else column
               for column in rows.columns]
    return pa.Table.from_arrays(columns, names=rows.column_names)
