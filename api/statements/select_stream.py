"""SELECT over a stream, given alone."""

from __future__ import annotations

from functools import partial

from api.statements import adhoc
from api.statements.answers import Answer
from api.statements.context import Context
from api.statements.define import same_topic, source, start_offsets
from mars.model.plan import QueryPlan, Stream
from sql import statements as kinds
from sql.check.compile import compile_select

# What happened to one tuple, and to several, by counter.
FATES = {"bad": ("cannot be read", "cannot be read"), "future": ("is in the future", "are in the future"),
         "filtered": ("is left out by WHERE", "are left out by WHERE")}


def over_stream(context: Context, statement: kinds.SelectStatement, id_: str) -> Answer:
    """The statement's rows over what the topic holds now, from FROM on up to the last stable offsets."""
    stream = source(context, statement)
    plan = compile_select(statement, stream, continuous=False)
    topic = same_topic(context, stream)
    ends = context.kafka.end_offsets(stream.topic, topic.partitions)
    starts = start_offsets(context, stream, statement, plan, topic)
    found = adhoc.run(context, stream, plan, starts, ends, partial(context.progress.report, id_))
    extra = {} if len(found.rows) else {"reason": _why_no_rows(stream, plan, found.counts)}
    return Answer("rows", table=found.rows, notes=_uncounted(found.counts), truncated=found.truncated, extra=extra)


def _why_no_rows(stream: Stream, plan: QueryPlan, counts: dict[str, int]) -> str:
    """One sentence that says what happened to the tuples."""
    tuples, left = counts.get("tuples", 0), counts.get("tuples", 0)
    if plan.presentation.limit == 0:
        return "LIMIT 0 asks for none"
    if not tuples:
        return f"topic '{stream.topic}' holds no tuple from where the SELECT begins"
    parts = []
    for name, fates in FATES.items():
        if count := counts.get(name, 0):
            parts.append(f"{count} {fates[count > 1]}")
            left -= count
    if left:
        clause = "HAVING leaves out every group of" if plan.grouped and plan.presentation.having else "WHERE leaves out"
        parts.append(f"{clause} the other {left}")
    return f"of {tuples} tuples, {', '.join(parts)}"


def _uncounted(counts: dict[str, int]) -> list[str]:
    """A sentence about the tuples that are not in the rows, and why."""
    lost = {name: counts[name] for name in ("bad", "future") if counts.get(name)}
    if not lost:
        return []
    reasons = {name.removeprefix("bad: "): n for name, n in counts.items() if name.startswith("bad: ")}
    most = f" (most often: {max(reasons, key=reasons.__getitem__)})" if reasons else ""
    verb = "is" if sum(lost.values()) == 1 else "are"
    return [f"Of {counts.get('tuples', 0)} tuples, {', '.join(f'{n} {name}' for name, n in lost.items())} "
            f"{verb} left out{most}."]
