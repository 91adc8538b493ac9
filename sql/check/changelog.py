"""Queries whose rows change after they were given out: EMIT CHANGES, and LATE UPDATE FOR d. What they cannot have is
refused, and they get one more column, which tells the versions of a row apart."""

from __future__ import annotations

from mars.model.expressions import Column
from mars.model.partials import AggregateCall
from mars.model.plan import Key, Output
from sql.check import replaced
from sql.refusals import refusal
from sql.statements import SelectStatement

COLUMNS = {"EMIT": AggregateCall("final", None, None, "BOOLEAN"), "LATE": AggregateCall("revision", None, None, "BIGINT")}
CHANGED = AggregateCall("changed", None, None, "BIGINT")
WORDS = {"EMIT": "EMIT CHANGES", "LATE": "LATE UPDATE"}
KINDS = ("session", "sliding")


def clause_of(select: SelectStatement) -> str | None:
    """The keyword of the clause by which rows change; None if there is none."""
    return "EMIT" if select.clauses.emission == "CHANGES" else "LATE" if select.clauses.late_for_ms else None


def check(select: SelectStatement, keys: tuple[Key, ...], outputs: tuple[Output, ...], continuous: bool) -> None:
    """SqlError if rows of this statement cannot change, or nobody could tell which row another one replaces."""
    keyword, clauses, window = clause_of(select), select.clauses, select.clauses.window
    if keyword is None or window is None:
        return
    words, (start, end) = WORDS[keyword], clauses.places[keyword]
    if not continuous:
        raise refusal(select.sql, start, end, f"{words} is only for CREATE QUERY", "a SELECT given alone reads once, and "
                      "gives each row once", f"remove {words}")
    if keyword == "EMIT" and clauses.late_for_ms:
        raise refusal(select.sql, *clauses.places["LATE"], "LATE UPDATE does not go with EMIT CHANGES",
                      "a row is either final or revised", "remove one of the two, or make a query for each")
    if window.kind in KINDS:
        raise refusal(select.sql, start, end, f"{words} does not go with {window.kind.upper()} windows",
                      "such windows themselves change with each tuple, so no row takes the place of another",
                      "write WINDOWING 60 s, EVERY or LANDMARK")
    replaced.check(select, keys, outputs, words=words, place=(start, end), column=COLUMNS[keyword].function)


def added(select: SelectStatement, calls: tuple[AggregateCall, ...], outputs: tuple[Output, ...]
          ) -> tuple[tuple[AggregateCall, ...], tuple[Output, ...], tuple[AggregateCall, ...]]:
    """Aggregates and outputs with those that the clause adds, and what cells keep besides."""
    keyword = clause_of(select)
    if keyword is None:
        return calls, outputs, ()
    call = COLUMNS[keyword]
    shown = Output(call.function, Column(f"a{len(calls)}", call.type), call.type)
    return (*calls, call), (*outputs, shown), (CHANGED,)
