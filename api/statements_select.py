"""SELECT: over the closed windows of queries, and given alone over a stream."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from api import adhoc, results
from api.answers import Answer
from api.context import Context
from api.embedded import ROWS_MAX
from api.pages import Selection
from api.results_reason import why_empty
from api.statements_define import same_topic, source, start_offsets
from mars.adapters.storage import CorruptFileError
from sql import statements as kinds
from sql.compile import compile_select
from sql.words import read_words


def over_queries(context: Context, statement: kinds.SelectFromQuery) -> Answer:
    """Rows of the embedded engine over all closed windows of the queries named."""
    try:
        tables = _tables(context, statement.queries)
    except CorruptFileError:  # files are deleted once a newer commit does not need them
        tables = _tables(context, statement.queries)
    has_limit = _has_limit(statement.sql)
    rows = context.engine.run(statement.engine_sql, tables, None if has_limit else ROWS_MAX + 1)
    truncated = not has_limit and len(rows) > ROWS_MAX
    extra = {} if len(rows) else {"reason": _why_no_rows(context, statement.queries, tables)}
    return Answer("rows", table=rows.slice(0, ROWS_MAX) if truncated else rows, truncated=truncated, extra=extra)


def _has_limit(sql: str) -> bool:
    """Does the statement itself say how many rows it gives? A LIMIT deeper than its outermost words is of a part of it."""
    depth, depths, limits = 0, [], []
    for word in read_words(sql):
        depth += word.is_("(") - word.is_(")")
        if word.kind != "end" and not word.is_("(", ")", ";"):
            depths.append(depth)
            limits += [depth] if word.is_("LIMIT") else []
    return min(depths, default=0) in limits


def _why_no_rows(context: Context, names: Iterable[str], tables: dict[str, pa.Table]) -> str:
    """A sentence: the first query without closed rows says why; if all have some, the statement left them out."""
    for name in names:
        if not len(tables[name]):
            return why_empty(context, context.snapshots.read_whole(*context.catalog.query(name)), Selection())
    return "The closed windows have rows, but the statement leaves all of them out."


def over_stream(context: Context, statement: kinds.SelectStatement, id_: str) -> Answer:
    """The statement's rows over what the topic holds now, from FROM on up to the last stable offsets."""
    stream = source(context, statement)
    plan = compile_select(statement, stream, continuous=False)
    topic = same_topic(context, stream)
    ends = context.kafka.end_offsets(stream.topic, topic.partitions)
    starts = start_offsets(context, stream, statement, plan, topic)

    def progress(done: int, total: int) -> bool:
        context.progress.report(id_, done, total)
        return not context.progress.is_cancelled(id_)

    found = adhoc.run(context, stream, plan, starts, ends, progress)
    return Answer("rows", table=found.rows, notes=_uncounted(found.counts), truncated=found.truncated)


def _tables(context: Context, names: tuple[str, ...]) -> dict:
    return {name: results.closed_rows(context, context.snapshots.read_whole(*context.catalog.query(name))) for name in names}


def _uncounted(counts: dict[str, int]) -> list[str]:
    """What of the tuples is not in the rows, and why."""
    lost = {name: counts[name] for name in ("bad", "future") if counts.get(name)}
    if not lost:
        return []
    reasons = {name.removeprefix("bad: "): n for name, n in counts.items() if name.startswith("bad: ")}
    most = f" (most often: {max(reasons, key=reasons.get)})" if reasons else ""
    return [f"Of {counts.get('tuples', 0)} tuples, {', '.join(f'{n} {name}' for name, n in lost.items())} "
            f"are left out{most}."]
