"""A plan in words, line by line: what is read, what is kept, and when results are given out."""

from __future__ import annotations

from mars.algebra import windows
from mars.algebra.functions import AGGREGATES
from mars.model.durations import format_duration
from mars.model.plan import AggregateCall, QueryPlan, Stream
from sql.say.unparse import unparse

WIDTH = 11


def explain(plan: QueryPlan, stream: Stream) -> list[str]:
    """The lines of EXPLAIN. The text is stable: it changes only with the plan."""
    lines = [*source_lines(plan, stream), *group_lines(plan, stream), *result_lines(plan), *time_lines(plan, stream)]
    return [f"{label:<{WIDTH}} {text}".rstrip() for label, text in lines]


def source_lines(plan: QueryPlan, stream: Stream) -> list[tuple[str, str]]:
    """The source of the tuples, and the columns that are read."""
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
        ("reads", f"{len(plan.columns)} of {len(stream.columns)} columns: {', '.join(plan.columns)}"),
    ]
    return lines + ([("filter", unparse(plan.where, plain=True))] if plan.where else [])


def group_lines(plan: QueryPlan, stream: Stream) -> list[tuple[str, str]]:
    """Keys, window and what is kept for each of them."""
    if not plan.grouped:
        return [("rows", "one for each tuple")]
    keys = ", ".join(f"{unparse(k.expression, plain=True)} {k.type}" for k in plan.keys)
    lines = [("keys", keys or "none: one row" + (" per window" if plan.window else " over all"))]
    lines.append(("window", windows.of(plan, stream).words))
    for index, call in enumerate(plan.aggregates):
        label = "aggregates" if index == 0 else ""
        lines.append(
            (label, f"{aggregate_text(call)} {call.type}, keeps {AGGREGATES[call.function].partial}")
        )
    return lines


def result_lines(plan: QueryPlan) -> list[tuple[str, str]]:
    """The rows of the result: their columns and their order."""
    names = names_of(plan)
    columns = ["window_start", "window_end"] if plan.window else []
    columns += [f"{o.name} {o.type}" for o in plan.outputs]
    lines = [("having", unparse(plan.having, names, plain=True))] if plan.having else []
    lines.append(("columns", ", ".join(columns)))
    if plan.order_by:
        ordered = [
            ("window_start", "window_end")[i] if i < 0 else plan.outputs[i].name for i, _ in plan.order_by
        ]
        lines.append(
            ("order", ", ".join(n + " DESC" * d for n, (_, d) in zip(ordered, plan.order_by, strict=True)))
        )
    if plan.limit is not None:
        lines.append(("limit", str(plan.limit)))
    return lines


def time_lines(plan: QueryPlan, stream: Stream) -> list[tuple[str, str]]:
    """The policies about time that are in force."""
    if not plan.window:
        return [("emits", "once, when all has been read")]
    grace = f" + {format_duration(plan.grace_ms)}" if plan.grace_ms else ""
    closing = "past" if windows.of(plan, stream).holds_its_end else "at or past"
    idle = "a silent partition holds the windows open" if plan.idle_ms is None else \
        f"a partition that is silent for {format_duration(plan.idle_ms)} is left out of the watermark"
    return [
        (
            "watermark",
            f"{format_duration(plan.watermark_ms)} behind the greatest event time of each partition",
        ),
        ("idle", idle),
        ("grace", f"a window closes when the watermark is {closing} its end{grace}"),
        ("late", "a tuple whose window is closed: dropped and counted"),
        ("emits", f"{plan.emission}: each window once, when it is closed"),
    ]


def names_of(plan: QueryPlan) -> dict[str, str]:
    """The meaning of a result row's columns, in words."""
    names = {f"k{i}": unparse(k.expression, plain=True) for i, k in enumerate(plan.keys)}
    return names | {f"a{i}": aggregate_text(call) for i, call in enumerate(plan.aggregates)}


def aggregate_text(call: AggregateCall) -> str:
    """An aggregate as a user would write it."""
    argument = unparse(call.argument, plain=True) if call.argument else "*"
    text = (
        f"count(DISTINCT {argument})" if call.function == "count_distinct" else f"{call.function}({argument})"
    )
    return f"{text} FILTER (WHERE {unparse(call.filter, plain=True)})" if call.filter else text
