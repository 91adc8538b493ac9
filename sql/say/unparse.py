"""A typed expression back to SQL text: exact for Spark, or plain for people."""

from __future__ import annotations

from collections.abc import Mapping

from mars.model.expressions import Call, Column, Constant, Expression, Literal
from mars.model.identifiers import quoted
from mars.model.types import decimal_parts

INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "modulo": "%", "div": "div"}
INFIX |= {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "null_safe_eq": "<=>"}
INFIX |= {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
INFIX |= {"and": "AND", "or": "OR", "like": "LIKE", "rlike": "RLIKE"}
PREFIX = {"not": "NOT ", "negate": "- ", "bitwise_not": "~"}
POSTFIX = {"is_null": " IS NULL", "is_not_null": " IS NOT NULL"}
STRENGTH = {
    "or": 1,
    "and": 2,
    "not": 3,
    "add": 6,
    "time_add": 6,
    "subtract": 6,
    "multiply": 7,
    "divide": 7,
    "modulo": 7,
    "div": 7,
}
STRENGTH |= dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "null_safe_eq", "like", "rlike", "in"), 4)
STRENGTH |= {"is_null": 4, "is_not_null": 4, "negate": 8, "bitwise_not": 8}
STRENGTH |= dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), 5)
SPARK_NAMES = {"starts_with": "startswith", "ends_with": "endswith", "is_nan": "isnan"}


def unparse(expression: Expression, names: Mapping[str, str] | None = None, plain: bool = False) -> str:
    """The text of an expression; `names` gives a column another text. With `plain`, constants and names are written as
    people write them; otherwise the text has the same value and type in Spark SQL."""
    match expression:
        case Column(name, _):
            return (names or {}).get(name) or (name if plain else quoted(name))
        case Literal(value, type_):
            return plain_literal(value, type_) if plain else spark_literal(value, type_)
        case Call(function, arguments, type_):
            texts = [unparse(a, names, plain) for a in arguments]
            return call_text(function, texts, arguments, type_)


def call_text(function: str, texts: list[str], arguments: tuple[Expression, ...], type_: str) -> str:
    """A call whose arguments are texts already; operators inside operators get parentheses."""
    mine = STRENGTH.get(function, 9)
    chains = [mine in (4, 5) or (place > 0 and function not in ("and", "or")) for place in range(len(texts))]
    inner = [f"({text})" if strength(argument) < mine + chained else text
             for text, argument, chained in zip(texts, arguments, chains, strict=True)]
    if function in INFIX:
        return f"{inner[0]} {INFIX[function]} {inner[1]}"
    if function in PREFIX:
        return PREFIX[function] + inner[0]
    if function in POSTFIX:
        return inner[0] + POSTFIX[function]
    if function == "time_add" and isinstance(arguments[1], Literal):
        return f"{inner[0]} + {interval(int(arguments[1].value or 0))}"
    if function == "yearofweek":
        return f"extract(yearofweek FROM {texts[0]})"
    if function == "in":
        return f"{inner[0]} IN ({', '.join(texts[1:])})"
    if function == "cast":
        return f"cast({texts[0]} AS {type_})"
    if function == "case":
        branches = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(texts[:-1:2], texts[1::2], strict=True))
        return f"CASE {branches} ELSE {texts[-1]} END"
    return f"{SPARK_NAMES.get(function, function)}({', '.join(texts)})"


def interval(micros: int) -> str:
    """A constant interval of days and smaller units."""
    days, rest = divmod(abs(micros), 86_400_000_000)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}" + (f".{fraction:06}" if fraction else "")
    return f"INTERVAL '{'-' if micros < 0 else ''}{days} {clock}' DAY TO SECOND"


def strength(expression: Expression) -> int:
    """How strongly the outermost operator of an expression binds; 9 if it never needs parentheses."""
    return STRENGTH.get(expression.function, 9) if isinstance(expression, Call) else 9


def spark_literal(value: Constant, type_: str) -> str:
    """A constant that Spark types as `type_`."""
    if value is None:
        return "NULL" if type_ == "VOID" else f"cast(NULL AS {type_})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if type_ in ("STRING", "DATE", "TIMESTAMP"):
        return ("" if type_ == "STRING" else type_) + text_literal(str(value))
    suffix = {"BIGINT": "L", "DOUBLE": "D"}.get(type_, "BD" if decimal_parts(type_) else "")
    if decimal_parts(type_):
        return f"cast({value}{suffix} AS {type_})"
    return f"({value}{suffix})" if str(value).startswith("-") else f"{value}{suffix}"


def plain_literal(value: Constant, type_: str) -> str:
    """A constant as people write it."""
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "true", False: "false"}[value]
    if type_ == "STRING":
        return "'" + str(value).replace("'", "''") + "'"
    return f"{type_} '{value}'" if type_ in ("DATE", "TIMESTAMP") else str(value)


def text_literal(value: str) -> str:
    """A text in single quotes with Spark's escapes; control characters by their code."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return (
        "'" + "".join(c if c.isprintable() or ord(c) > 0xFFFF else f"\\u{ord(c):04x}" for c in escaped) + "'"
    )
