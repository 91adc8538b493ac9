"""EMIT FINAL TIMEOUT d: which statements can have it, and the column that it adds."""

from __future__ import annotations

from mars.model.durations import format_duration
from mars.model.expressions import Column
from mars.model.partials import AggregateCall
from mars.model.plan import Output
from sql.refusals import refusal
from sql.statements import SelectStatement

TIMED_OUT = AggregateCall("timed_out", None, None, "BOOLEAN")


def check(select: SelectStatement, outputs: tuple[Output, ...], continuous: bool) -> None:
    """SqlError if windows of this statement cannot be closed by the clock, or their rows could not say so."""
    clauses, sql = select.clauses, select.sql
    if clauses.timeout_ms is None:
        return
    place, words = clauses.places["EMIT"], f"EMIT FINAL TIMEOUT {format_duration(clauses.timeout_ms)}"
    if not continuous:
        raise refusal(sql, *place, "EMIT FINAL TIMEOUT is only for CREATE QUERY", "a SELECT given alone reads once, to the "
                      "end, and then gives all its windows", "remove it")
    if clauses.late_for_ms:
        raise refusal(sql, *clauses.places["LATE"], "LATE UPDATE does not go with EMIT FINAL TIMEOUT",
                      "a revision could not say how its window was closed",
                      f"remove one of the two, or write GRACE {format_duration(clauses.late_for_ms)} {words}")
    if any(output.name.lower() == TIMED_OUT.function for output in outputs):
        raise refusal(sql, *place, f"the column {TIMED_OUT.function} is there twice",
                      "EMIT FINAL TIMEOUT adds a last column of this name", "give yours another name with AS")


def added(select: SelectStatement, calls: tuple[AggregateCall, ...], outputs: tuple[Output, ...]
          ) -> tuple[tuple[AggregateCall, ...], tuple[Output, ...]]:
    """Aggregates and outputs with those that the clause adds."""
    if select.clauses.timeout_ms is None:
        return calls, outputs
    shown = Output(TIMED_OUT.function, Column(f"a{len(calls)}", TIMED_OUT.type), TIMED_OUT.type)
    return (*calls, TIMED_OUT), (*outputs, shown)
