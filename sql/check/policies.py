"""The policies of a plan: window, watermark, grace, idle and start. Applies defaults and refuses what is not valid."""

from __future__ import annotations

from mars.model.plan import Stream
from sql.check import lengths
from sql.refusals import refusal
from sql.statements import SelectStatement

WATERMARK_MS, GRACE_MS, IDLE_MS = 5_000, 0, 30_000


def read(select: SelectStatement, stream: Stream, continuous: bool) -> dict:
    """The policy of time that our clauses decide, as fields of the Aggregation."""
    clauses = select.clauses
    check_window(select, continuous)
    if clauses.late_to is not None and not continuous:
        raise refusal(select.sql, *clauses.places["LATE"], "LATE TO is only for CREATE QUERY",
                      "a SELECT given alone reads once, and no tuple comes too late", "remove it")
    lengths.check(select, stream)
    idle_ms = IDLE_MS if clauses.idle_ms is None else clauses.idle_ms or None
    return {
        "watermark_ms": WATERMARK_MS if clauses.watermark_ms is None else clauses.watermark_ms,
        "grace_ms": GRACE_MS if clauses.grace_ms is None else clauses.grace_ms,
        "idle_ms": idle_ms,
        "max_ahead_ms": clauses.max_ahead_ms,
        "timeout_ms": clauses.timeout_ms,
        **({"late": "UPDATE", "late_for_ms": clauses.late_for_ms} if clauses.late_for_ms else {}),
        **({"late": "TO"} if clauses.late_to else {}),
    }


def late_to_of(select: SelectStatement) -> str | None:
    """The name under which late tuples are kept; None if they are not."""
    return select.clauses.late_to.text if select.clauses.late_to else None


def start_of(select: SelectStatement, continuous: bool) -> str:
    """Where the query starts."""
    return select.clauses.start or ("LATEST" if continuous else "EARLIEST")


def check_window(select: SelectStatement, continuous: bool) -> None:
    """A continuous query needs a window, and the clauses about time need one too."""
    if select.clauses.window is not None:
        return
    if continuous:
        start, end = select.last
        raise refusal(select.sql, start, end, "a continuous query needs a window",
                      "without a window its groups would never be complete", "add WINDOWING 60 s at the end")
    for keyword in ("WATERMARK", "GRACE", "LATE", "EMIT"):
        if keyword in select.clauses.places:
            start, end = select.clauses.places[keyword]
            raise refusal(
                select.sql, start, end, f"{keyword} needs a window", "", "add WINDOWING 60 s, or remove it"
            )
