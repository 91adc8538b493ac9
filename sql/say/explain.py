"""A plan in words, line by line: what is read, what is kept, and when results are given out."""

from __future__ import annotations

from mars.algebra import windows
from mars.algebra.aggregate_functions import UNCALLABLE
from mars.model.durations import format_duration
from mars.model.identifiers import identifier
from mars.model.partials import KINDS, STAMPS, AggregateCall, Partial, needed
from mars.model.plan import QueryPlan, Stream
from sql.say.unparse import plain_literal, unparse

WIDTH = 11


def explain(plan: QueryPlan, stream: Stream) -> list[str]:
    """The lines of EXPLAIN. The text is stable: it changes only with the plan."""
    lines = [*source_lines(plan, stream), *group_lines(plan, stream), *result_lines(plan), *time_lines(plan, stream)]
    return [f"{label:<{WIDTH}} {text}".rstrip() for label, text in lines]


def source_lines(plan: QueryPlan, stream: Stream) -> list[tuple[str, str]]:
    """The source of the tuples, and the columns that are read."""
    aggregation = plan.aggregation
    time = stream.column(stream.time_column)
    unit = f" in {stream.time_unit}" if stream.has_unit else ""
    starts = {
        "EARLIEST": "all that the topic holds",
        "LATEST": "what arrives from now on; what lies before is not counted",
    }
    start = starts.get(plan.start, f"the first record stamped {plan.start} or later")
    topic = f"topic {stream.topic}, {stream.format}"
    lines = [
        ("source", f"stream {stream.name}: {topic}, event time {time.name} {time.type}{unit}"),
        ("from", f"{plan.start}: {start}"),
        *([("rate", f"at most {plan.rate:,} tuples a second, read by itself")] if plan.rate else []),
        ("reads", f"{len(aggregation.columns)} of {len(stream.columns)} columns: {', '.join(aggregation.columns)}"),
    ]
    return lines + ([("filter", unparse(aggregation.where, plain=True))] if aggregation.where else [])


def group_lines(plan: QueryPlan, stream: Stream) -> list[tuple[str, str]]:
    """Keys, window and what is kept for each of them."""
    if not plan.grouped:
        return [("rows", "one for each tuple")]
    aggregation = plan.aggregation
    keys = ", ".join(f"{unparse(k.expression, plain=True)} {k.type}" for k in aggregation.keys)
    lines = [("keys", keys or "none: one row" + (" per window" if aggregation.window else " over all"))]
    lines.append(("window", windows.of(aggregation, stream).words))
    left = list(aggregation.partials)
    for index, call in enumerate(call for call in plan.presentation.aggregates if call.function not in STAMPS):
        label = "aggregates" if index == 0 else ""
        lines.append((label, f"{aggregate_text(call)} {call.type}, {kept_text(call, left)}"))
    return lines


def kept_text(call: AggregateCall, left: list[Partial]) -> str:
    """What is kept for an aggregate, and what of that aggregates before it keep already. `left` are the partials that none
    before it keeps; those of this one are taken out."""
    keeps: list[str] = []
    shares: list[str] = []
    for wanted in needed(call):
        own = next((partial for partial in left if partial.is_same(wanted)), None)
        if own is not None:
            left.remove(own)
        (shares if own is None and not wanted.is_tuple_count else keeps).append(KINDS[wanted.kind])
    return "; ".join(f"{verb} {', '.join(words)}" for verb, words in (("keeps", keeps), ("shares", shares)) if words)


def result_lines(plan: QueryPlan) -> list[tuple[str, str]]:
    """The rows of the result: their columns and their order."""
    presentation = plan.presentation
    names = names_of(plan)
    columns = ["window_start", "window_end"] if plan.aggregation.window else []
    columns += [f"{o.name} {o.type}" for o in presentation.outputs]
    lines = [("having", unparse(presentation.having, names, plain=True))] if presentation.having else []
    lines.append(("columns", ", ".join(columns)))
    if presentation.order_by:
        ordered = [
            ("window_start", "window_end")[i] if i < 0 else presentation.outputs[i].name for i, _ in presentation.order_by
        ]
        lines.append(
            ("order", ", ".join(n + " DESC" * d for n, (_, d) in zip(ordered, presentation.order_by, strict=True)))
        )
    if presentation.limit is not None:
        lines.append(("limit", str(presentation.limit)))
    if presentation.window_limit is not None:
        lines.append(("limit", f"{presentation.window_limit} rows of each window, the first in that order, then by keys"))
    return lines


def time_lines(plan: QueryPlan, stream: Stream) -> list[tuple[str, str]]:
    """The policies about time that are in force."""
    aggregation = plan.aggregation
    if not aggregation.window:
        return [("emits", "once, when all has been read")]
    grace = f" + {format_duration(aggregation.grace_ms)}" if aggregation.grace_ms else ""
    kind = windows.of(aggregation, stream)
    closing = "past" if kind.holds_its_end else "at or past"
    idle = "a silent partition holds the windows open" if aggregation.idle_ms is None else \
        f"a partition that is silent for {format_duration(aggregation.idle_ms)} is left out of the watermark"
    return [
        (
            "watermark",
            f"{format_duration(aggregation.watermark_ms)} behind the greatest event time of each partition",
        ),
        ("idle", idle),
        *([] if aggregation.max_ahead_ms is None else [
            ("future", f"a tuple more than {format_duration(aggregation.max_ahead_ms)} ahead of its record's Kafka "
                       "timestamp: counted, moves nothing")]),
        ("grace", f"a window closes when the watermark is {closing} its end{grace}"),
        ("late", late_text(plan, kind)),
        ("emits", emission_text(plan)),
    ]


def late_text(plan: QueryPlan, kind: windows.Windows) -> str:
    """What becomes of late tuples."""
    aggregation = plan.aggregation
    if aggregation.late == "DROP":
        return f"{kind.late}: dropped and counted"
    if plan.late_to is not None:
        return f"{kind.late}: counted, and kept by its place: SELECT ... FROM {identifier(plan.late_to)}"
    return (f"for {format_duration(aggregation.late_for_ms)} after a window has closed, a late tuple makes a new revision "
            "of its row; after that it is dropped and counted")


def emission_text(plan: QueryPlan) -> str:
    """When rows are given out."""
    window = plan.aggregation.window
    if plan.presentation.emission == "EVERY" and window:
        every = format_duration(window.every_ms or 0)
        return (f"EVERY {every}: at each multiple T of {every} of event time, of open windows, the groups with a tuple in "
                f"[T - {every}, T), over all tuples before T (final false); and each window when it is closed (final true)")
    if plan.presentation.emission == "CHANGES":
        return ("CHANGES: with each commit the rows of open windows that have changed (final false), and each window once "
                "more when it is closed (final true)")
    if plan.aggregation.timeout_ms is not None:
        timeout = format_duration(plan.aggregation.timeout_ms)
        return (f"FINAL TIMEOUT {timeout}: each window once, when it is closed (timed_out false); once nothing has come to "
                f"any partition for {timeout} by the clock and all is read, the last windows close too (timed_out true)")
    revisions = "; and each revision of it" if plan.aggregation.late == "UPDATE" else ""
    return f"{plan.presentation.emission}: each window once, when it is closed{revisions}"


def names_of(plan: QueryPlan) -> dict[str, str]:
    """The meaning of a result row's columns, in words."""
    names = {f"k{i}": unparse(k.expression, plain=True) for i, k in enumerate(plan.aggregation.keys)}
    return names | {f"a{i}": aggregate_text(call) for i, call in enumerate(plan.presentation.aggregates)}


def aggregate_text(call: AggregateCall) -> str:
    """An aggregate as a user would write it."""
    arguments = [unparse(part, plain=True) for part in (call.argument, call.second) if part]
    arguments += [plain_literal(option, "STRING" if isinstance(option, str) else "DOUBLE") for option in call.options]
    text = f"{call.function}({', '.join(arguments) or '*'})"
    if call.function in UNCALLABLE:
        text = f"{call.function.removesuffix('_distinct')}(DISTINCT {arguments[0]})"
    return f"{text} FILTER (WHERE {unparse(call.filter, plain=True)})" if call.filter else text
