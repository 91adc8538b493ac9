"""Which types meet in which common type: Spark SQL's rules with ANSI off, stricter where a cast is a likely
mistake.

Stricter than Spark: text cannot be calculated with (`'1' + 2`), and truth values cannot be compared with numbers.
"""

from __future__ import annotations

from mars.model.expressions import Expression, Literal
from mars.model.types import decimal_parts, decimal_size, is_numeric

LADDER = ("INT", "BIGINT", "FLOAT", "DOUBLE")
TIMES = ("DATE", "TIMESTAMP")


class CastLiteral(Literal):
    """A whole constant that was written with a cast. Beside a DECIMAL it is as wide as its type, while a bare constant is
    only as wide as its digits. Elsewhere, and in a plan, it is the plain literal, which it equals."""


class TypeMismatch(Exception):
    """Why types do not fit, and what to write instead."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


def bounded(precision: int, scale: int) -> str:
    """DECIMAL(p, s) cut at 38 digits."""
    return f"DECIMAL({min(precision, 38)},{min(scale, 38)})"


def adjusted(precision: int, scale: int) -> str:
    """DECIMAL(p, s); above 38 digits the fraction is shortened, down to 6 digits."""
    if precision <= 38:
        return f"DECIMAL({precision},{scale})"
    return f"DECIMAL(38,{max(38 - (precision - scale), min(scale, 6))})"


def as_decimal(type_: str) -> str:
    """The DECIMAL that holds every INT or BIGINT; a DECIMAL itself."""
    return {"INT": "DECIMAL(10,0)", "BIGINT": "DECIMAL(20,0)"}.get(type_, type_)


def decimal_result(name: str, left: str, right: str) -> str:
    """The type of add, subtract, multiply, divide, modulo of two DECIMALs."""
    (p1, s1), (p2, s2) = decimal_size(left), decimal_size(right)
    scale = max(s1, s2)
    if name in ("add", "subtract"):
        return adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if name == "multiply":
        return adjusted(p1 + p2 + 1, s1 + s2)
    if name == "divide":
        scale = max(6, s1 + p2 + 1)
        return adjusted(p1 - s1 + s2 + scale, scale)
    return adjusted(min(p1 - s1, p2 - s2) + scale, scale)


def wider_decimal(left: str, right: str) -> str:
    """The DECIMAL that holds the values of both; above 38 digits the fraction is shortened, so that whole parts fit."""
    (p1, s1), (p2, s2) = decimal_size(left), decimal_size(right)
    scale = max(s1, s2)
    precision = max(p1 - s1, p2 - s2) + scale
    return bounded(precision, max(0, scale - max(0, precision - 38)))


def tightest(left: str, right: str) -> str | None:
    """The type that two numbers (or two equal types, or NULL and any) meet in, or None."""
    if left == right or right == "VOID":
        return left
    if left == "VOID":
        return right
    if left in LADDER and right in LADDER:
        return max(left, right, key=LADDER.index)
    if is_numeric(left) and is_numeric(right):
        if "FLOAT" in (left, right) or "DOUBLE" in (left, right):
            return "DOUBLE"
        return wider_decimal(as_decimal(left), as_decimal(right))
    return "TIMESTAMP" if left in TIMES and right in TIMES else None


def operand_types(left: Expression, right: Expression) -> tuple[str, str]:
    """The types of two operands: NULL takes the other's type (DOUBLE for two NULLs), and an integer constant
    beside a DECIMAL is only as wide as its digits."""
    types = [left.type, right.type]
    for here, there in ((0, 1), (1, 0)):
        constant = (left, right)[here]
        if types[here] == "VOID":
            types[here] = "DOUBLE" if types[there] == "VOID" else types[there]
        elif decimal_parts(types[there]) and isinstance(constant, Literal) and is_whole_constant(constant):
            types[here] = f"DECIMAL({len(str(constant.value).lstrip('-'))},0)"
    return types[0], types[1]


def is_whole_constant(value: Expression) -> bool:
    """True for a constant integer that is not NULL and was not cast."""
    if not isinstance(value, Literal) or isinstance(value, CastLiteral):
        return False
    return value.type in ("INT", "BIGINT") and value.value is not None


def check_calculable(type_: str) -> None:
    """Refuses a value that is not a number."""
    if is_numeric(type_):
        return
    hints = {"STRING": "write cast(... AS DOUBLE)", "TIMESTAMP": "write unix_timestamp(...)",
             "DATE": "write date_add(d, days) or datediff(end, start)",
             "BOOLEAN": "write if(..., 1, 0)"}
    raise TypeMismatch(f"a number is needed, but this is {type_}", hints.get(type_, ""))


def comparable(left: str, right: str) -> str:
    """The type in which two values are compared: numbers in the wider one, text with anything else in the
    other's."""
    common = tightest(left, right)
    if common:
        return common
    other = right if left == "STRING" else left
    if "STRING" in (left, right):
        return "DOUBLE" if decimal_parts(other) else other
    raise TypeMismatch(f"{left} cannot be compared with {right}", "cast one of them")


def widest(types: list[str], text_wins: bool = True) -> str:
    """The common type of several values. `text_wins`: text with anything but BOOLEAN is text, as in CASE, IN
    and coalesce; greatest and least refuse the mixture."""
    common = "VOID"
    for type_ in sorted(types, key=lambda name: name != "STRING"):
        wider = tightest(common, type_)
        if wider is None and text_wins and common == "STRING" and type_ != "BOOLEAN":
            wider = "STRING"
        if wider is None:
            raise TypeMismatch(f"{common} and {type_} have no common type", "cast one of them")
        common = wider
    return common


def check_implicit(source: str, target: str) -> None:
    """Refuses an argument that Spark would not cast to what a function takes."""
    if source in (target, "VOID"):
        return
    if target == "STRING" or (is_numeric(target) and (is_numeric(source) or source == "STRING")):
        return
    if target in TIMES and source in (*TIMES, "STRING"):
        return
    if target in TIMES and source in ("INT", "BIGINT"):
        raise TypeMismatch(f"a time is needed, but this is {source}", "write cast(seconds AS TIMESTAMP)")
    raise TypeMismatch(f"{target} is needed, but this is {source}", f"write cast(... AS {target})")


def castable(source: str, target: str) -> bool:
    """True if `cast` of a value from one type to the other means something."""
    if source == target or "STRING" in (source, target) or source == "VOID":
        return True
    if "DATE" in (source, target):
        return {source, target} == {"DATE", "TIMESTAMP"}
    return True
