"""The table of a sink in Postgres: made when it is missing, checked when it is there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mars.adapters.postgres import Session, literal, name
from mars.adapters.target_errors import ProgressLostError, TargetRefusesError
from mars.publisher.target import WINDOW, Shape

VERSION_MIN = 150_000  # UNIQUE NULLS NOT DISTINCT
NAME_BYTES_MAX = 63  # Postgres cuts longer ones without a word
TYPES = {"BOOLEAN": "boolean", "INT": "integer", "BIGINT": "bigint", "FLOAT": "double precision",
         "DOUBLE": "double precision", "STRING": "text", "DATE": "date", "TIMESTAMP": "timestamp with time zone"}
# Types of a table that somebody else made which hold every value.
WIDER = {"integer": ("integer", "bigint", "numeric"), "bigint": ("bigint", "numeric"),
         "timestamp with time zone": ("timestamp with time zone", "timestamp without time zone"),
         "text": ("text", "character varying")}
SIZE = re.compile(r"\((\d+)(?:,(-?\d+))?\)")


@dataclass(frozen=True)
class Table:
    """A table by schema and name; `shape` is what it shall hold. `key` are its unique columns."""

    schema: str
    name: str
    shape: Shape

    @staticmethod
    def of(text: str, shape: Shape) -> Table:
        """The table that is written as 'schema.table', or 'table' in the schema public."""
        schema, dot, rest = text.partition(".")
        schema, table = (schema, rest) if dot else ("public", text)
        if not schema or not table:
            raise TargetRefusesError("this is no table", repr(text), "write TABLE 'public.results'")
        return Table(schema, table, shape)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that tell rows apart."""
        return (*WINDOW, *self.shape.keys)

    @property
    def quoted(self) -> str:
        """As a statement names it."""
        return name(self.schema, self.name)


def prepare(session: Session, table: Table, may_make: bool) -> bool:
    """As Target.prepare; commits."""
    version = int(session.rows("SELECT current_setting('server_version_num')")[0][0])
    if version < VERSION_MIN:
        raise TargetRefusesError("Postgres is too old", f"{session.where} is of version {version // 10_000}",
                                 f"give a server of version {VERSION_MIN // 10_000} or newer")
    for column, _ in table.shape.columns:
        if len(column.encode()) > NAME_BYTES_MAX:
            raise TargetRefusesError(f"column {column} has too long a name", f"Postgres takes {NAME_BYTES_MAX} bytes",
                                     "give it a shorter name with AS")
    found = session.rows("SELECT c.oid::bigint, c.relkind::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
                         f"ON n.oid = c.relnamespace WHERE n.nspname = {literal(table.schema)} "
                         f"AND c.relname = {literal(table.name)}")
    if found:
        _check(session, table, *found[0])
    elif not may_make:
        raise ProgressLostError("the table is gone", f"{table.quoted} at {session.where} is not there, though rows were "
                                "delivered into it")
    else:
        _make(session, table)
    session.commit()
    return not found


def types_of(shape: Shape) -> dict[str, str]:
    """Postgres's type of each column."""
    return {column: TYPES.get(type_) or type_.lower().replace("decimal", "numeric") for column, type_ in shape.columns}


def definition(shape: Shape) -> str:
    """The columns as CREATE TABLE takes them."""
    return ", ".join(f"{name(column)} {type_}" for column, type_ in types_of(shape).items())


def _make(session: Session, table: Table) -> None:
    if not session.rows(f"SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = {literal(table.schema)}"):
        raise TargetRefusesError(f"there is no schema {table.schema}", f"at {session.where}",
                                 f"CREATE SCHEMA {name(table.schema)} there, or name another one")
    key = ", ".join(map(name, table.key))
    session.run(f"CREATE TABLE {table.quoted} ({definition(table.shape)}, UNIQUE NULLS NOT DISTINCT ({key}))")


def _check(session: Session, table: Table, oid: int, kind: str) -> None:
    if kind not in ("r", "p"):
        raise TargetRefusesError(f"{table.quoted} is no table", f"rows are inserted into tables (its kind is {kind})",
                                 "name a table, or another name for one to be made")
    there = session.rows(
        "SELECT attname::text, format_type(atttypid, atttypmod)::text, attnotnull, atthasdef OR attidentity <> '', "
        "attgenerated <> '' OR attidentity = 'a' FROM pg_catalog.pg_attribute "
        f"WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped")
    known = {column: type_ for column, type_, *_ in there}
    computed = {column for column, *_, is_computed in there if is_computed}
    for column, wanted in types_of(table.shape).items():
        where = f"column {column} of {table.quoted}"
        if column not in known:
            raise TargetRefusesError(f"{where} is missing", f"the table has {', '.join(known)}",
                                     f"ALTER TABLE {table.quoted} ADD {name(column)} {wanted}, or name another table")
        if not _holds(known[column], wanted) or column in computed:
            detail = "the table computes it" if column in computed else f"it is {known[column]}, and results are {wanted}"
            raise TargetRefusesError(f"{where} does not take the result", detail,
                                     f"make it {wanted}, CAST in the query, or name another table")
    for column, _, is_required, has_default, _ in there:
        if is_required and not has_default and column not in types_of(table.shape):
            raise TargetRefusesError(f"column {column} of {table.quoted} is required",
                                     "the result has no such column, and the table no default",
                                     f"ALTER TABLE {table.quoted} ALTER {name(column)} DROP NOT NULL")
    _check_key(session, table, oid)


def _check_key(session: Session, table: Table, oid: int) -> None:
    """A unique index over exactly the key, whatever its order."""
    indexes = session.rows(
        "SELECT array_to_string(ARRAY(SELECT quote_ident(a.attname) FROM pg_catalog.pg_attribute a "
        "WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) "
        "ORDER BY a.attname COLLATE \"C\"), ',') FROM pg_catalog.pg_index i "
        f"WHERE i.indrelid = {oid} AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL "
        "AND i.indnkeyatts = i.indnatts")
    wanted = session.rows("SELECT array_to_string(ARRAY(SELECT quote_ident(k) FROM unnest(ARRAY["
                          f"{', '.join(map(literal, table.key))}]) AS k ORDER BY k COLLATE \"C\"), ',')")[0]
    if wanted not in indexes:
        key = ", ".join(map(name, table.key))
        raise TargetRefusesError(f"{table.quoted} has no unique key over {key}", "rows are written in place of earlier ones "
                                 "of the same key", f"ALTER TABLE {table.quoted} ADD UNIQUE NULLS NOT DISTINCT ({key})")


def _holds(there: str, wanted: str) -> bool:
    """Does a column of the table's type hold every value of the result's?"""
    base, size, wanted_size = SIZE.sub("", there), SIZE.search(there), SIZE.search(wanted)
    if wanted_size is None:
        return base in WIDER.get(wanted, (wanted,)) and (base != "numeric" or size is None)
    if base != "numeric" or size is None:
        return base == "numeric"
    (digits, scale), (wanted_digits, wanted_scale) = (map(int, (one[1], one[2] or 0)) for one in (size, wanted_size))
    return scale >= wanted_scale and digits - scale >= wanted_digits - wanted_scale
