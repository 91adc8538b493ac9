"""get_json_object: the part of a JSON text that a constant path names, read once for each distinct text."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import pyarrow as pa

from mars.algebra.evaluation.arrays import STRING
from mars.algebra.evaluation.function import Function, Value
from mars.algebra.evaluation.to_text import by_distinct, from_float
from mars.algebra.json_steps import steps

BLANKS = " \t\r\n"
CLOSED = '{["'  # what begins with these has an end of its own
DIGITS_MAX = 1_000


class _Number(str):
    """A number with a fraction or an exponent, as it is written."""

    __slots__ = ()


class _Object(list):
    """The members of an object, in their order and with repeated names."""


def _refused(constant: str) -> NoReturn:
    raise ValueError(constant)


def _whole(digits: str) -> int:
    if len(digits) > DIGITS_MAX:
        raise ValueError(digits)
    return int(digits)


DECODER = json.JSONDecoder(object_pairs_hook=_Object, parse_float=_Number, parse_int=_whole, parse_constant=_refused)


def _get(text: str, path: list[str | int]) -> str | None:
    try:
        text = text.lstrip(BLANKS)
        value, end = DECODER.raw_decode(text)
        if text[0] not in CLOSED and text[end:end + 1].strip(BLANKS):
            return None  # a number or a word that goes on, like 12a
        for step in path:
            value = _inside(value, step)
        if value is None and path:
            return None
        return str(value) if _is_text(value) else _written(value)
    except (ValueError, LookupError, RecursionError):
        return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, _Number)


def _inside(value: Any, step: str | int) -> Any:
    """The member or element; LookupError if there is none. Of members with one name, the first counts."""
    if isinstance(value, _Object):
        return next((member for name, member in value if name == step), None)
    if isinstance(value, list) and isinstance(step, int):
        return value[step]
    raise LookupError(step)


def _written(value: Any) -> str:
    if isinstance(value, _Number):
        text = str(from_float(pa.array([float(value)]))[0])
        return f'"{text}"' if text.endswith("Infinity") else text
    if isinstance(value, _Object):
        return "{" + ",".join(f"{_written(name)}:{_written(member)}" for name, member in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _get_json_object(arguments: list[Value], type_: str) -> pa.Array:
    path = steps(arguments[1].as_py()) or []
    return by_distinct(arguments[0], lambda text: _get(text, path), STRING)


FUNCTIONS = {"get_json_object": Function(_get_json_object, setting=1)}
