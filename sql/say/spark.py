"""A plan as plain Spark SQL that gives the same answer, for EXPLAIN (FORMAT SPARK) and as the tests' oracle.

Spark runs it with spark.sql.ansi.enabled=false and spark.sql.session.timeZone=UTC.
"""

from __future__ import annotations

from mars.model.identifiers import quoted
from mars.model.plan import UNITS_PER_SECOND, Aggregation, QueryPlan, Stream
from sql.say import spark_windows
from sql.say.spark_aggregates import PLACE, aggregate
from sql.say.unparse import unparse


def spark_sql(plan: QueryPlan, stream: Stream, view: str) -> str:
    """The statement over `view`, which has the good tuples with the stream's columns and `_partition`, `_offset`,
    `_line`. Its columns are window_start and window_end (with a window), then the plan's outputs."""
    aggregation, presentation = plan.aggregation, plan.presentation
    if not plan.grouped:
        return show_tuples(plan, view)
    names = {f"{kind}{i}": f"_{kind}{i}" for kind, calls in (("k", aggregation.keys), ("a", presentation.aggregates))
             for i in range(len(calls))}
    columns = [f"{unparse(o.expression, names)} AS {quoted(o.name)}" for o in presentation.outputs]
    if aggregation.window:
        columns = ["window_start", "window_end", *columns]
    lines = [f"SELECT {', '.join(columns)}", f"FROM ({indent(grouped(plan, stream, view))})"]
    if presentation.having:
        lines.append(f"WHERE {unparse(presentation.having, names)}")
    if presentation.window_limit is not None:
        return first_of_windows(plan, lines, names)
    return "\n".join([*lines, *ordering(plan)])


def first_of_windows(plan: QueryPlan, lines: list[str], names: dict[str, str]) -> str:
    """The first rows of each window, of a statement without ORDER BY; then by window and keys, as results are ordered."""
    outputs, keys = plan.presentation.outputs, [f"_k{i}" for i in range(len(plan.aggregation.keys))]
    by = [(outputs[i].expression, descending) for i, descending in plan.presentation.order_by if i >= 0]
    terms = [term(unparse(expression, names), descending) for expression, descending in by]
    place = f"row_number() OVER (PARTITION BY window_start, window_end ORDER BY {', '.join([*terms, *keys])}) AS _row"
    inner = "\n".join([", ".join([lines[0], *keys, place]), *lines[1:]])
    shown = ["window_start", "window_end", *(quoted(output.name) for output in outputs)]
    return "\n".join([f"SELECT {', '.join(shown)}", f"FROM ({indent(inner)})",
                      f"WHERE _row <= {plan.presentation.window_limit}",
                      f"ORDER BY {', '.join(['window_start', 'window_end', *keys])}"])


def show_tuples(plan: QueryPlan, view: str) -> str:
    """The tuples themselves."""
    aggregation, presentation = plan.aggregation, plan.presentation
    columns = [f"{unparse(key.expression)} AS {quoted(key.name)}" for key in aggregation.keys]
    lines = [f"SELECT {', '.join(columns)}", f"FROM {quoted(view)}"]
    if aggregation.where:
        lines.append(f"WHERE {unparse(aggregation.where)}")
    terms = [term(unparse(aggregation.keys[index].expression), descending) for index, descending in presentation.order_by]
    lines.append("ORDER BY " + ", ".join([*terms, PLACE]))
    return "\n".join(lines + ([f"LIMIT {presentation.limit}"] if presentation.limit is not None else []))


def grouped(plan: QueryPlan, stream: Stream, view: str) -> str:
    """One row per window and key, with the columns that outputs and HAVING refer to."""
    aggregation, presentation = plan.aggregation, plan.presentation
    columns = [f"_k{i}" for i in range(len(aggregation.keys))]
    columns += [f"{aggregate(call)} AS _a{i}" for i, call in enumerate(presentation.aggregates)]
    groups = [f"_k{i}" for i in range(len(aggregation.keys))]
    if aggregation.window:
        window = spark_windows.of(aggregation.window, stream)
        columns = [
            f"{micros(window.start, stream)} AS window_start",
            f"{micros(window.end, stream)} AS window_end",
            f"{window_time(window.start, stream)} AS window_time",
            *columns,
        ]
        groups = [window.group, *groups]
    lines = [f"SELECT {', '.join(columns) or 'count(*)'}", f"FROM ({indent(prepared(aggregation, stream, view))})"]
    return "\n".join(lines + ([f"GROUP BY {', '.join(groups)}"] if groups else []))


def prepared(aggregation: Aggregation, stream: Stream, view: str) -> str:
    """The tuples that pass WHERE, with their keys, their time and the start of their window, once for each window."""
    columns = [*(quoted(name) for name in aggregation.columns), PLACE, f"{event_time(stream)} AS _time"]
    columns += [f"{unparse(key.expression)} AS _k{i}" for i, key in enumerate(aggregation.keys)]
    if aggregation.window:
        columns.append(f"{spark_windows.of(aggregation.window, stream).window(event_time(stream))} AS _window")
    lines = [f"SELECT {', '.join(columns)}", f"FROM {quoted(view)}"]
    return "\n".join(lines + ([f"WHERE {unparse(aggregation.where)}"] if aggregation.where else []))


def event_time(stream: Stream) -> str:
    """The event time as BIGINT in the stream's unit."""
    column = quoted(stream.time_column)
    if stream.has_unit:
        return f"cast({column} AS BIGINT)"
    return f"unix_micros(cast({column} AS TIMESTAMP))"


def micros(time: str, stream: Stream) -> str:
    """A time in the stream's unit as TIMESTAMP."""
    per_second = UNITS_PER_SECOND[stream.time_unit]
    if per_second > 1_000_000:
        return f"timestamp_micros({time} div {per_second // 1_000_000})"
    return f"timestamp_micros({time} * {1_000_000 // per_second}L)"


def window_time(start: str, stream: Stream) -> str:
    """The window's start in the event-time column's own type and unit."""
    type_ = stream.column(stream.time_column).type
    if type_ == "STRING":
        return f"concat(replace(cast({micros(start, stream)} AS STRING), ' ', 'T'), 'Z')"
    return micros(start, stream) if type_ == "TIMESTAMP" else f"cast({start} AS {type_})"


def ordering(plan: QueryPlan) -> list[str]:
    """ORDER BY as asked, then by window and keys, as results are ordered."""
    presentation = plan.presentation
    names = ["window_start", "window_end"]
    terms = [
        term(names[i + 2] if i < 0 else quoted(presentation.outputs[i].name), descending)
        for i, descending in presentation.order_by
    ]
    terms += names if plan.aggregation.window else []
    terms += [f"_k{i}" for i in range(len(plan.aggregation.keys))]
    lines = [f"ORDER BY {', '.join(terms)}"] if terms else []
    return lines + ([f"LIMIT {presentation.limit}"] if presentation.limit is not None else [])


def term(column: str, descending: bool) -> str:
    """One term of ORDER BY; NULL sorts as the least value, as in Spark."""
    return f"{column} DESC" if descending else column


def indent(text: str) -> str:
    """The text two columns further right, from its second line on."""
    return text.replace("\n", "\n  ")
