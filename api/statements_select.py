"""SELECT over a stream, given alone."""

from __future__ import annotations

from api import adhoc
from api.answers import Answer
from api.context import Context
from api.statements_define import same_topic, source, start_offsets
from sql import statements as kinds
from sql.compile import compile_select


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


def _uncounted(counts: dict[str, int]) -> list[str]:
    """What of the tuples is not in the rows, and why."""
    lost = {name: counts[name] for name in ("bad", "future") if counts.get(name)}
    if not lost:
        return []
    reasons = {name.removeprefix("bad: "): n for name, n in counts.items() if name.startswith("bad: ")}
    most = f" (most often: {max(reasons, key=reasons.get)})" if reasons else ""
    return [f"Of {counts.get('tuples', 0)} tuples, {', '.join(f'{n} {name}' for name, n in lost.items())} "
            f"are left out{most}."]
