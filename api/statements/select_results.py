"""SELECT over the closed windows of queries, by the embedded engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from api.statements import late_tuples
from api.statements.answers import Answer
from api.statements.context import Context
from api.statements.late_tuples import LateTuples
from mars.adapters.storage import CorruptFileError
from mars.errors import NotReadyError
from mars.model.identifiers import identifier
from mars.results import emitted
from mars.results.cursors import LIMIT_DEFAULT, Selection
from mars.results.embedded.engine import PLACES, Engine
from mars.results.embedded.scan import Closed
from mars.results.embedded.watch import POLL_S, Limits, stopped
from mars.results.partial_pages import open_rows
from mars.results.pieces import Piece
from mars.results.reason import why_empty
from mars.results.schema import schema_of
from mars.results.snapshot import Snapshot
from mars.results.waits import later_windows
from sql import statements as kinds
from sql.read.parse import parse
from sql.read.words import read_words

ROWS_MAX = 10_000
ANSWER_BYTES_MAX = 64 * 1024 * 1024
QUEUE_S = 10.0


def over_queries(context: Context, statement: kinds.SelectFromQuery, id_: str) -> Answer:
    """Rows of the embedded engine over all closed windows of the queries named."""
    def is_stopped() -> bool:
        return context.shutdown.is_set() or context.progress.is_cancelled(id_)

    has_limit = _has_limit(statement.sql)
    with _place(context.engine, is_stopped):
        limits = Limits(None if has_limit else ROWS_MAX + 1, ANSWER_BYTES_MAX, stopped=is_stopped)
        try:
            read, rows = _run(context, statement, limits)
        except CorruptFileError:  # files are deleted once a newer commit does not need them
            read, rows = _run(context, statement, limits)
    truncated = not has_limit and len(rows) > ROWS_MAX
    extra = {} if len(rows) else {"reason": _why_no_rows(context, read)}
    return Answer("rows", table=rows.slice(0, ROWS_MAX) if truncated else rows, truncated=truncated, extra=extra,
                  notes=late_tuples.gone_notes(read))


def show_late(context: Context, statement: kinds.ShowLate, id_: str) -> Answer:
    """The first late tuples by their places."""
    context.catalog.late(statement.name.text)  # says what other name it is, if it is one
    text = (f"SELECT * FROM {identifier(statement.name.text)} ORDER BY `partition`, `offset`, `line` "
            f"LIMIT {statement.limit or LIMIT_DEFAULT}")
    select = parse(text, context.definitions.catalog().kind)
    assert isinstance(select, kinds.SelectFromQuery), text
    return over_queries(context, select, id_)


@contextmanager
def _place(engine: Engine, is_stopped: Callable[[], bool]) -> Iterator[None]:
    """One of the engine's places. The memory of each statement is bounded, so the number of places bounds the memory of
    all."""
    deadline = time.monotonic() + QUEUE_S
    while not engine.places.acquire(timeout=POLL_S):
        if is_stopped():
            raise stopped()
        if time.monotonic() > deadline:
            raise NotReadyError("too many SELECTs over results at once",
                                f"{PLACES} are running, and none ended within {QUEUE_S:g} s", "try again in a moment")
    try:
        yield
    finally:
        engine.places.release()


def _run(context: Context, statement: kinds.SelectFromQuery, limits: Limits) -> tuple[list[Snapshot | LateTuples], pa.Table]:
    """The queries, or their late tuples, as they were read, and the rows."""
    def is_over() -> bool:
        return limits.stopped() or time.monotonic() > limits.began_s + limits.timeout_s

    names = context.definitions.catalog()
    read = [LateTuples.of(context, name, is_over) if names.kind(name) == "late" else
            context.snapshots.read_whole(*context.catalog.query(name)) for name in statement.queries]
    late = [one for one in read if isinstance(one, LateTuples)]
    try:
        tables = {name: one.closed() if isinstance(one, LateTuples) else _closed(context, one)
                  for name, one in zip(statement.queries, read, strict=True)}
        return read, context.engine.run(statement.engine_sql, tables, limits)
    finally:
        for one in late:
            one.close()


def _closed(context: Context, snapshot: Snapshot) -> Closed:
    plan, bound = snapshot.query.plan, snapshot.watermark_us
    pieces = [] if bound is None else context.tables.closed(snapshot, bound)
    if plan.presentation.emission == "CHANGES" and len(rows := open_rows(context.tables, snapshot)):
        pieces.append(Piece.of(rows))
    return Closed(schema_of(plan), tuple(emitted.whole(plan, pieces)))


def _has_limit(sql: str) -> bool:
    """Does the statement itself limit its rows? A LIMIT inside parentheses belongs to a part of it."""
    depth, depths, limits = 0, [], []
    for word in read_words(sql):
        depth += word.is_("(") - word.is_(")")
        if word.kind != "end" and not word.is_("(", ")", ";"):
            depths.append(depth)
            limits += [depth] if word.is_("LIMIT") else []
    return min(depths, default=0) in limits


def _why_no_rows(context: Context, read: list[Snapshot | LateTuples]) -> str:
    """The first query without closed rows says why; if all have some, the statement left them out, or they come later."""
    for snapshot in read:
        if isinstance(snapshot, LateTuples):
            return snapshot.why_none()
        if not any(len(piece.load()) for piece in _closed(context, snapshot).pieces):
            return why_empty(context.results, snapshot, Selection())
    later = [later_windows(snapshot) for snapshot in read[:1] if isinstance(snapshot, Snapshot)]
    return " ".join(["The closed windows have rows, but the statement leaves all of them out.", *later])
