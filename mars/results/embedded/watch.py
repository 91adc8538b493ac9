"""Ends a running statement of the embedded engine when its time is over, or on request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import duckdb

from mars.errors import SqlError

TIMEOUT_S = 30.0
POLL_S = 0.1


@dataclass(frozen=True)
class Limits:
    """The limits of a statement: rows and bytes of its answer (None: any number), and time since `began_s`. `stopped`
    says whether somebody has asked to stop it."""

    rows_max: int | None = None
    bytes_max: int | None = None
    timeout_s: float = TIMEOUT_S
    stopped: Callable[[], bool] = bool
    began_s: float = field(default_factory=time.monotonic)


class Watch:
    """Interrupts the connection, again and again, from the moment at which the statement is to end until the block is
    left. Once is not enough, because the engine forgets an interrupt between two steps of a statement. `why` is empty
    until then."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, limits: Limits) -> None:
        self._connection, self._limits = connection, limits
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="statement-watch", daemon=True)
        self.why = ""

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()  # otherwise it would interrupt a closed connection

    def check(self) -> None:
        """Raises once the statement is to end. This is needed because a reading from which the engine gets no rows
        notices no interrupt."""
        if self.why:
            raise self.error("")

    def error(self, sql: str) -> SqlError:
        """The answer to a statement that was ended: an error with `why`."""
        if self.why == "stopped":
            return stopped()
        return SqlError("the statement took too long", f"it was stopped after {self._limits.timeout_s:g} s",
                        "narrow it by a condition on window_start", sql=sql)

    def _look(self) -> None:
        while not self._over.wait(POLL_S):
            if not self.why and self._limits.stopped():
                self.why = "stopped"
            elif not self.why and time.monotonic() > self._limits.began_s + self._limits.timeout_s:
                self.why = "too long"
            if self.why:
                self._connection.interrupt()


def stopped() -> SqlError:
    """The answer to a statement that was stopped on request."""
    return SqlError("the statement was stopped", "on request")
