"""EMIT EVERY d: which statements can have it, and what it makes of them."""

from __future__ import annotations

from dataclasses import replace

from mars.model.durations import format_duration
from mars.model.expressions import Column
from mars.model.plan import Key, Output, Window
from sql.check import replaced
from sql.refusals import refusal
from sql.statements import SelectStatement

FINAL = Output("final", Column("window_final", "BOOLEAN"), "BOOLEAN")


def check(select: SelectStatement, keys: tuple[Key, ...], outputs: tuple[Output, ...], continuous: bool) -> None:
    """SqlError if rows of this statement cannot be given out before they are final, or nobody could tell which row another
    one replaces."""
    clauses, window, sql = select.clauses, select.clauses.window, select.sql
    if clauses.emit_every_ms is None or window is None:
        return
    place, words = clauses.places["EMIT"], f"EMIT EVERY {format_duration(clauses.emit_every_ms)}"
    if not continuous:
        raise refusal(sql, *place, "EMIT EVERY is only for CREATE QUERY",
                      "a SELECT given alone reads once, and gives each row once", "remove it")
    if window.kind != "tumbling":
        raise refusal(sql, *place, "EMIT EVERY goes with WINDOWING d alone, so far",
                      "other windows are given out once, when they are closed",
                      f"write WINDOWING 1 h {words}; or LANDMARK EACH d EVERY s, which gives a window so far each s")
    if clauses.late_for_ms:
        raise refusal(sql, *clauses.places["LATE"], "LATE UPDATE does not go with EMIT EVERY",
                      "a row is either final or revised", "remove one of the two, or make a query for each")
    replaced.check(select, keys, outputs, words="EMIT EVERY", place=place, column=FINAL.name)


def window_of(select: SelectStatement) -> Window | None:
    """The window, with what the clause adds to it."""
    every_ms, window = select.clauses.emit_every_ms, select.clauses.window
    return window if every_ms is None or window is None else replace(window, kind="emitted", every_ms=every_ms)


def shown(select: SelectStatement, outputs: tuple[Output, ...]) -> tuple[Output, ...]:
    """The outputs, with the one that the clause adds."""
    return outputs if select.clauses.emit_every_ms is None else (*outputs, FINAL)
