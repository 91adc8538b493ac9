"""Typed expressions on whole Arrow columns, with the semantics of Spark SQL (ANSI off, time zone UTC).

Every function of mars/algebra/functions.py has one implementation in mars/algebra/evaluation/. Arguments come in the
types that the function's rule wants. Constants stay scalars. A function of one dictionary-coded text is computed once per
dictionary value and taken by code.
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from mars.algebra.evaluation import (
    arithmetic,
    bits,
    calendar,
    casts,
    comparison,
    conditional,
    json_path,
    mathematics,
    patterned,
    temporal,
    text,
    text_making,
    text_search,
)
from mars.algebra.evaluation.arrays import coded, is_coded, plain, single
from mars.algebra.evaluation.function import Function, Value
from mars.model import types
from mars.model.expressions import Call, Column, Expression, Literal

FUNCTIONS: dict[str, Function] = {
    **arithmetic.FUNCTIONS, **casts.FUNCTIONS, **comparison.FUNCTIONS, **conditional.FUNCTIONS,
    **mathematics.FUNCTIONS, **temporal.FUNCTIONS, **text.FUNCTIONS, **calendar.FUNCTIONS, **patterned.FUNCTIONS,
    **bits.FUNCTIONS, **json_path.FUNCTIONS, **text_making.FUNCTIONS, **text_search.FUNCTIONS,
}


class Columns(Protocol):
    """Columns by name; KeyError for one that is not there."""

    def __getitem__(self, name: str, /) -> pa.Array: ...


class Known(Protocol):
    """Values of calls that were computed before, over the same columns."""

    def get(self, call: Call, /) -> Value | None:
        """The value, if it is kept."""

    def put(self, call: Call, value: Value, /) -> None:
        """Keeps it, as long as there is room."""


def evaluate(expression: Expression, columns: Columns, length: int, known: Known | None = None) -> pa.Array:
    """The expression's value per row: an array of `length`, of the expression's Arrow type (text may be coded).

    columns: every column that the expression names, each of `length` rows. KeyError for a missing one. What is `known` of
    them is not computed again.
    """
    value = _value(expression, columns, known)
    return pa.repeat(value, length) if isinstance(value, pa.Scalar) else value


def _value(expression: Expression, columns: Columns, known: Known | None) -> Value:
    match expression:
        case Column(name, _):
            return single(columns[name])
        case Literal(value, type_):
            return casts.literal(value, type_)
        case Call(function, arguments, type_):
            found = None if known is None else known.get(expression)
            if found is None:
                found = call(function, [_value(a, columns, known) for a in arguments], type_)
                if known is not None:
                    known.put(expression, found)
            return found


def call(name: str, arguments: list[Value], type_: str) -> Value:
    """The function's result of dialect type `type_`: a scalar if all arguments are, else an array."""
    function = FUNCTIONS[name]
    if all(isinstance(a, pa.Scalar) for a in arguments):
        return _array(function, [a if place == function.setting else pa.repeat(a, 1) for place, a in enumerate(arguments)],
                      type_)[0]
    texts = [i for i, a in enumerate(arguments) if is_coded(a)]
    if function.by_value and len(texts) == 1 and all(isinstance(a, pa.Scalar) for i, a in enumerate(arguments)
                                                     if i != texts[0]):
        return _by_dictionary(function, arguments, texts[0], type_)
    return _array(function, arguments, type_)


def _array(function: Function, arguments: list[Value], type_: str) -> pa.Array:
    result = function.compute([a if isinstance(a, pa.Scalar) else plain(a) for a in arguments], type_)
    wanted = types.to_arrow(type_)
    return result if result.type == wanted else result.cast(wanted)


def _by_dictionary(function: Function, arguments: list[Value], place: int, type_: str) -> pa.Array:
    """The function on the dictionary's values; NULL stays NULL, which `by_value` promises."""
    column = coded(arguments[place])
    arguments = [*arguments[:place], column.dictionary, *arguments[place + 1:]]
    values = _array(function, arguments, type_)
    if type_ == "STRING":
        return pa.DictionaryArray.from_arrays(column.indices, values)
    return values.take(column.indices)
