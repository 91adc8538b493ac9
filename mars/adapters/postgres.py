"""Postgres through ADBC: connections in which every statement belongs to a transaction, and its errors in our words.

Statements hold their values as literals: bound ones are run only when somebody reads from them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pyarrow as pa
from adbc_driver_manager import Error
from adbc_driver_postgresql import dbapi

from mars.adapters.target_errors import RowsRefusedError, TargetAwayError, TargetRefusesError
from mars.errors import MarsError
from mars.model.connections import Connection
from mars.settings_checks import is_loopback

CONNECT_S = 5
# A transaction of a process that stands still ends by itself, and its locks with it.
SESSION = {"lock_timeout": "5s", "idle_in_transaction_session_timeout": "10s", "statement_timeout": "120s",
           "TimeZone": "UTC", "standard_conforming_strings": "on", "client_min_messages": "warning"}
# Without an SQLSTATE a connection was not made. What a server says there for good, in words that do not pass by waiting:
REFUSED = re.compile(r"password authentication failed|no password supplied|no pg_hba\.conf entry|role .* does not exist|"
                     r"database .* does not exist|certificate|does not support SSL|permission denied|authentication",
                     re.IGNORECASE)
AWAY = ("08", "53", "57", "40")
AWAY_STATES = ("55P03", "55006", "25006")  # locked by another; in use; a standby
ROWS = ("22", "23", "54", "21")
NOISE = re.compile(r"\s*(Query was:.*|SQLSTATE: \w+.*|CONTEXT: .*)$", re.DOTALL)
HEAD = re.compile(r"^[A-Z_]+: |\[libpq\] |^Failed to [^:]+: |PGRES_FATAL_ERROR |^ERROR: +|could not begin COPY: ")


def name(*parts: str) -> str:
    """A name, quoted as Postgres does it: taken as it is written."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def literal(text: str | int) -> str:
    """A constant in a statement."""
    return str(text) if isinstance(text, int) else "'" + text.replace("'", "''") + "'"


class Session:
    """One connection. TargetAwayError if the server does not answer, TargetRefusesError if it does not let us in; so do all
    other calls, and RowsRefusedError for values that the server does not take. After any error use `rollback` or close."""

    def __init__(self, connection: Connection, secret: Callable[[str], str], application: str) -> None:
        self.where = f"{connection.option('HOST')}:{connection.option('PORT')}"
        with self._translated():
            self._connection = dbapi.connect(uri(connection, secret, application))
        self._cursor = self._connection.cursor()

    def run(self, statement: str) -> int:
        """Run a statement that gives no rows; how many it has changed."""
        with self._translated():
            self._cursor.execute(statement)
            return self._cursor.rowcount

    def rows(self, statement: str) -> list[tuple]:
        """The rows that a statement gives."""
        with self._translated():
            self._cursor.execute(statement)
            return self._cursor.fetchall()

    def copy(self, table: str, rows: pa.Table) -> None:
        """Append rows to a temporary table of this session, by the names of their columns."""
        with self._translated():
            self._cursor.adbc_ingest(table, rows, mode="append", temporary=True)

    def commit(self) -> None:
        """End the transaction. If it raises TargetAwayError, the outcome is unknown."""
        with self._translated():
            self._connection.commit()

    def rollback(self) -> None:
        """Undo the transaction."""
        with self._translated():
            self._connection.rollback()

    def close(self) -> None:
        """End the connection, and undo what is not committed."""
        with contextlib.suppress(Error):
            self._cursor.close()
        with contextlib.suppress(Error):
            self._connection.close()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except Error as error:
            raise translate(error, self.where) from None  # its text would be chained, with the statement in it


def uri(connection: Connection, secret: Callable[[str], str], application: str) -> str:
    """The address for libpq, with the password in it: never show it."""
    def escaped(text: object) -> str:
        return quote(str(text), safe="")

    password = secret(connection.secrets["PASSWORD"]) if "PASSWORD" in connection.secrets else ""
    user = escaped(connection.option("USER")) + (f":{escaped(password)}" if password else "")
    host = str(connection.option("HOST"))
    place = f"[{host}]" if ":" in host else escaped(host)
    options = " ".join(f"-c {key}={value}" for key, value in SESSION.items())
    parameters = {"application_name": application, "connect_timeout": CONNECT_S, "options": options,
                  "keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 20_000,
                  **_tls(connection, host)}
    query = "&".join(f"{key}={escaped(value)}" for key, value in parameters.items())
    return f"postgresql://{user}@{place}:{connection.option('PORT')}/{escaped(connection.option('DATABASE'))}?{query}"


def _tls(connection: Connection, host: str) -> dict[str, str]:
    """libpq's words. Nobody listens on loopback, so that TLS is asked for there only if the connection says so."""
    is_here = host.startswith("/") or is_loopback(host)
    if is_here and "TLS" not in connection.options and "TLS_CA" not in connection.options:
        return {"sslmode": "prefer"}
    ca = str(connection.option("TLS_CA") or "")
    if connection.option("TLS") == "VERIFY":
        return {"sslmode": "verify-full", "sslrootcert": ca or "system"}
    return {"sslmode": {"REQUIRE": "require", "OFF": "disable"}[str(connection.option("TLS"))]}


def translate(error: Error, where: str) -> MarsError:
    """An error of ADBC in our words: what the server says, and whether waiting helps."""
    state, said = error.sqlstate or "", _said(error)
    title = f"Postgres at {where} refuses"
    if not state and not REFUSED.search(said):
        return TargetAwayError(f"Postgres at {where} does not answer", said, "is it running, and are HOST and PORT right?")
    if state[:2] in AWAY or state in AWAY_STATES:
        return TargetAwayError(f"Postgres at {where} is not ready", f"{said} (SQLSTATE {state})", "it is tried again")
    detail = f"{said} (SQLSTATE {state})" if state else said
    if state[:2] in ROWS:
        return RowsRefusedError(title, detail, "see the row and the table's constraints")
    hint = {"": "see USER, PASSWORD, DATABASE and TLS of the connection",
            "42": "see the table and the privileges of the connection's user"}.get(state[:2], "see Postgres's own log")
    return TargetRefusesError(title, detail, hint)


def _said(error: Error) -> str:
    """What the server says first, without the statement."""
    for key, value in error.details or ():
        if key in ("PG_DIAG_MESSAGE_PRIMARY", b"PG_DIAG_MESSAGE_PRIMARY"):
            return value.decode(errors="replace")
    text = NOISE.sub("", str(error))
    while (shorter := HEAD.sub("", text, count=1)) != text:
        text = shorter
    return " ".join(text.split())
