"""Aggregates as Spark SQL that gives the same: where Spark leaves open which value it takes, by event time and place."""

from __future__ import annotations

from collections.abc import Callable

from mars.model.partials import AggregateCall
from mars.model.types import decimal_parts
from sql.say.unparse import text_literal, unparse

PLACE = "_partition, _offset, _line"
ORDER = f"struct(_time, {PLACE})"
STAMPS = {"final": "true", "revision": "0L", "timed_out": "false"}  # of a batch, which closes each window once, at its end


def aggregate(call: AggregateCall) -> str:
    """An aggregate call with its filter."""
    if call.function in STAMPS:
        return STAMPS[call.function]
    of = unparse(call.argument) if call.argument else "*"
    conditions = [unparse(call.filter)] if call.filter else []
    match call.function:
        case "first" | "last":
            return filtered(f"{'min' if call.function == 'first' else 'max'}_by({of}, {ORDER})", conditions)
        case "min_by" | "max_by":
            assert call.second is not None, call
            by = unparse(call.second)
            return filtered(f"{call.function}({of}, struct({by}, _time, {PLACE}))", [f"{by} IS NOT NULL", *conditions])
        case "count_distinct" | "sum_distinct" | "avg_distinct":
            return filtered(f"{call.function.removesuffix('_distinct')}(DISTINCT {of})", conditions)
        case "array_agg" | "string_agg" | "top_k" | "histogram":
            return LISTS[call.function](call, of, conditions)
        case "hll_sketch_agg":
            return f"base64({filtered(f'hll_sketch_agg({of}, {call.options[0]})', conditions)})"
    arguments = [of, *([unparse(call.second)] if call.second else []), *map(str, call.options)]
    return filtered(f"{call.function}({', '.join(arguments)})", conditions)


def filtered(text: str, conditions: list[str]) -> str:
    """The call over the tuples for which all conditions hold."""
    joined = " AND ".join(f"({condition})" if len(conditions) > 1 else condition for condition in conditions)
    return f"{text} FILTER (WHERE {joined})" if conditions else text


def earliest(call: AggregateCall, of: str, conditions: list[str]) -> str:
    """The n earliest values as an array."""
    all_ = filtered(f"collect_list(struct(_time, {PLACE}, {of} AS value))", [f"{of} IS NOT NULL", *conditions])
    return f"transform(slice(array_sort({all_}), 1, {call.options[-1]}), e -> e.value)"


def array_agg(call: AggregateCall, of: str, conditions: list[str]) -> str:
    """The earliest values as JSON."""
    return json_array(f"transform({earliest(call, of, conditions)}, v -> {json_value('v', call.argument_type)})")


def string_agg(call: AggregateCall, of: str, conditions: list[str]) -> str:
    """The earliest texts, joined."""
    any_ = filtered(f"count({of})", conditions)
    return f"if({any_} = 0, NULL, array_join({earliest(call, of, conditions)}, {text_literal(str(call.options[0]))}))"


def top_k(call: AggregateCall, of: str, conditions: list[str]) -> str:
    """The most frequent values, of equally frequent ones the least."""
    value = f"{of} + 0" if call.argument_type in ("FLOAT", "DOUBLE") else of
    all_ = filtered(f"collect_list({value})", conditions)
    counts = f"transform(array_distinct({all_}), v -> struct(-size(filter({all_}, e -> e = v)) AS n, v))"
    item = f"concat('{{\"item\":', {json_value('e.v', call.argument_type)}, ',\"count\":', -e.n, '}}')"
    return json_array(f"transform(slice(array_sort({counts}), 1, {call.options[0]}), e -> {item})")


def histogram(call: AggregateCall, of: str, conditions: list[str]) -> str:
    """Counts of the bars that have values."""
    low, high, n = (f"{option!r}D" if isinstance(option, float) else str(option) for option in call.options)
    bar = f"if(isnan({of}), {n} + 1, width_bucket({of}, {low}, {high}, {n}))"
    all_ = filtered(f"collect_list(if({of} IS NULL, NULL, {bar}))", conditions)
    edge = f"cast(if({{}} = {n}, {high}, {low} + ({high} - {low}) / {n} * ({{}})) AS STRING)"
    start = f"if(b = 0, 'null', {edge.format('b - 1', 'b - 1')})"
    end = f"if(b > {n}, 'null', {edge.format('b', 'b')})"
    item = f"concat('{{\"from\":', {start}, ',\"to\":', {end}, ',\"count\":', size(filter({all_}, e -> e = b)), '}}')"
    return json_array(f"transform(array_sort(array_distinct({all_})), b -> {item})")


def json_array(texts: str) -> str:
    """An array of JSON texts as one; NULL for an empty one."""
    return f"nullif(concat('[', array_join({texts}, ','), ']'), '[]')"


def json_value(value: str, type_: str) -> str:
    """The JSON text of a value, as results have it."""
    text = f"cast({value} AS STRING)"
    if type_ == "STRING":
        return f"regexp_replace(to_json(array({value})), '^.|.$', '')"
    if type_ in ("FLOAT", "DOUBLE"):
        return f"if(isnan({value}) OR abs({value}) = double('Infinity'), concat('\"', {text}, '\"'), {text})"
    if type_ == "TIMESTAMP":
        return f"concat('\"', replace({text}, ' ', 'T'), 'Z\"')"
    return f"concat('\"', {text}, '\"')" if type_ == "DATE" or decimal_parts(type_) else text


LISTS: dict[str, Callable[[AggregateCall, str, list[str]], str]] = {
    "array_agg": array_agg, "string_agg": string_agg, "top_k": top_k, "histogram": histogram}
