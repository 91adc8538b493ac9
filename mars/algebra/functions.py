"""The one table of scalar functions and operators of the dialect, and the names of all functions.

A scalar function has a rule: given its arguments it says which types it wants them in (sql/ inserts the
casts) and of which type the result is, or raises `TypeMismatch` with the reason. The rules are Spark SQL's
with ANSI off: divide of integers is DOUBLE, x / 0 is NULL, integer overflow wraps, a failed cast is NULL,
times are UTC. mars/algebra/evaluate.py computes the same names over Arrow arrays.
"""

from __future__ import annotations

from mars.algebra import signatures as rules
from mars.algebra.aggregate_functions import AGGREGATE_ALIASES, AGGREGATES, UNCALLABLE
from mars.algebra.scalars import numbers, texts, times
from mars.algebra.scalars.function import Function
from mars.algebra.signatures import Signature, fixed
from mars.model.expressions import Expression


def resolve(name: str, arguments: tuple[Expression, ...]) -> Signature:
    """(types the arguments must be cast to, type of the result) of a scalar function; raises TypeMismatch."""
    return SCALARS[name].rule(arguments)


TEXT, NUMBER = ("STRING",), ("DOUBLE",)
SCALARS = {f.name: f for f in (
    Function("add", 2, 2, rules.arithmetic("add"), "a + b", "sum of two numbers; integers wrap"),
    Function("subtract", 2, 2, rules.arithmetic("subtract"), "a - b",
             "difference of two numbers; integers wrap"),
    Function("multiply", 2, 2, rules.arithmetic("multiply"), "a * b",
             "product of two numbers; integers wrap"),
    Function("divide", 2, 2, rules.arithmetic("divide"), "a / b",
             "quotient as DOUBLE or DECIMAL; NULL for b = 0"),
    Function("modulo", 2, 2, rules.arithmetic("modulo"), "a % b",
             "remainder with the sign of a; NULL for b = 0"),
    Function("div", 2, 2, rules.arithmetic("div"), "a div b",
             "whole part of the quotient as BIGINT; NULL for b = 0"),
    Function("negate", 1, 1, rules.numeric_as_is, "-a", "the number with the other sign"),
    Function("eq", 2, 2, rules.comparison, "a = b", "equal; NaN equals NaN, -0 equals 0"),
    Function("ne", 2, 2, rules.comparison, "a <> b", "not equal"),
    Function("lt", 2, 2, rules.comparison, "a < b", "less; NaN is greater than every number"),
    Function("le", 2, 2, rules.comparison, "a <= b", "less or equal"),
    Function("gt", 2, 2, rules.comparison, "a > b", "greater"),
    Function("ge", 2, 2, rules.comparison, "a >= b", "greater or equal"),
    Function("null_safe_eq", 2, 2, rules.comparison, "a <=> b", "equal, where NULL equals NULL; never NULL"),
    Function("and", 2, 2, fixed(("BOOLEAN", "BOOLEAN"), "BOOLEAN"), "a AND b", "both true; three-valued"),
    Function("or", 2, 2, fixed(("BOOLEAN", "BOOLEAN"), "BOOLEAN"), "a OR b", "one true; three-valued"),
    Function("not", 1, 1, fixed(("BOOLEAN",), "BOOLEAN"), "NOT a", "the opposite; NULL stays NULL"),
    Function("is_null", 1, 1, rules.anything("BOOLEAN"), "a IS NULL", "true for NULL"),
    Function("is_not_null", 1, 1, rules.anything("BOOLEAN"), "a IS NOT NULL", "false for NULL"),
    Function("is_nan", 1, 1, fixed(NUMBER, "BOOLEAN"), "isnan(a)", "true for NaN, false for NULL"),
    Function("in", 2, None, rules.membership, "a IN (b, ...)", "equal to one of the constants; three-valued"),
    Function("like", 2, 2, rules.pattern, "a LIKE 'p%'",
             "% any text, _ one character, \\ takes the next as it is"),
    Function("rlike", 2, 2, rules.pattern, "a RLIKE 'regex'",
             "a part of the text matches the regular expression (RE2)"),
    Function("case", 3, None, rules.case, "CASE WHEN c THEN v ... ELSE e END",
             "the first value whose condition is true"),
    Function("coalesce", 1, None, rules.widest, "coalesce(a, ...)", "the first value that is not NULL"),
    Function("nullif", 2, 2, rules.nullif, "nullif(a, b)", "NULL if a = b, else a"),
    Function("if", 3, 3, rules.if_, "if(c, a, b)", "a if c is true, else b"),
    Function("cast", 1, 1, rules.cast, "cast(a AS type)",
             "the value in another type; NULL if it does not fit"),
    Function("concat", 1, None, rules.concat, "concat(a, ...)",
             "the texts one after another; NULL if one is NULL"),
    Function("upper", 1, 1, fixed(TEXT, "STRING"), "upper(s)", "in capitals"),
    Function("lower", 1, 1, fixed(TEXT, "STRING"), "lower(s)", "in small letters"),
    Function("length", 1, 1, fixed(TEXT, "INT"), "length(s)", "number of characters"),
    Function("substring", 2, 3, fixed(("STRING", "INT", "INT"), "STRING"), "substring(s, from[, length])",
             "part of a text, counted from 1; a negative from counts from the end"),
    Function("trim", 1, 2, rules.trim, "trim([characters,] s)", "without spaces at both ends"),
    Function("ltrim", 1, 2, rules.trim, "ltrim([characters,] s)", "without spaces at the start"),
    Function("rtrim", 1, 2, rules.trim, "rtrim([characters,] s)", "without spaces at the end"),
    Function("replace", 2, 3, fixed(("STRING",) * 3, "STRING"), "replace(s, search[, by])",
             "each occurrence replaced"),
    Function("starts_with", 2, 2, fixed(("STRING",) * 2, "BOOLEAN"), "starts_with(s, t)", "s begins with t"),
    Function("ends_with", 2, 2, fixed(("STRING",) * 2, "BOOLEAN"), "ends_with(s, t)", "s ends with t"),
    Function("contains", 2, 2, fixed(("STRING",) * 2, "BOOLEAN"), "contains(s, t)", "t is a part of s"),
    Function("left", 2, 2, fixed(("STRING", "INT"), "STRING"), "left(s, n)", "the first n characters"),
    Function("right", 2, 2, fixed(("STRING", "INT"), "STRING"), "right(s, n)", "the last n characters"),
    Function("abs", 1, 1, rules.numeric_as_is, "abs(a)", "the number without its sign"),
    Function("sign", 1, 1, fixed(NUMBER, "DOUBLE"), "sign(a)", "-1.0, 0.0 or 1.0"),
    Function("round", 1, 2, rules.round_, "round(a[, digits])", "rounded, halves away from 0"),
    Function("floor", 1, 2, rules.floor_ceil, "floor(a[, digits])", "the greatest whole number not above a"),
    Function("ceil", 1, 2, rules.floor_ceil, "ceil(a[, digits])", "the least whole number not below a"),
    Function("sqrt", 1, 1, fixed(NUMBER, "DOUBLE"), "sqrt(a)", "square root; NaN for a negative number"),
    Function("power", 2, 2, fixed(("DOUBLE",) * 2, "DOUBLE"), "power(a, b)", "a to the power of b"),
    Function("exp", 1, 1, fixed(NUMBER, "DOUBLE"), "exp(a)", "e to the power of a"),
    Function("ln", 1, 1, fixed(NUMBER, "DOUBLE"), "ln(a)", "natural logarithm; NULL unless a > 0"),
    Function("log10", 1, 1, fixed(NUMBER, "DOUBLE"), "log10(a)", "decimal logarithm; NULL unless a > 0"),
    Function("greatest", 2, None, rules.greatest, "greatest(a, b, ...)",
             "the greatest value that is not NULL"),
    Function("least", 2, None, rules.greatest, "least(a, b, ...)", "the least value that is not NULL"),
    *times.FUNCTIONS, *texts.FUNCTIONS, *numbers.FUNCTIONS,
)}

SCALAR_ALIASES = {
    "substr": "substring",
    "len": "length",
    "char_length": "length",
    "character_length": "length",
    "ucase": "upper",
    "lcase": "lower",
    "ceiling": "ceil",
    "pow": "power",
    "signum": "sign",
    "isnull": "is_null",
    "isnotnull": "is_not_null",
    "isnan": "is_nan",
    "nvl": "coalesce",
    "ifnull": "coalesce",
    "mod": "modulo",
    "dayofmonth": "day",
    "startswith": "starts_with",
    "endswith": "ends_with",
    "negative": "negate",
    "dateadd": "date_add",
    "sha": "sha1",
    "position": "locate",
    "date_diff": "datediff",
}
OPERATORS = frozenset({"add", "subtract", "multiply", "divide", "div", "eq", "ne", "lt", "le", "gt", "ge",
                       "null_safe_eq", "and", "or", "not", "in", "like", "rlike", "case", "cast", "time_add",
                       "yearofweek", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"})


def scalar_name(name: str) -> str | None:
    """The canonical name of a scalar function as a user calls it, or None: `scalar_name('SUBSTR')`."""
    lower = name.lower()
    lower = SCALAR_ALIASES.get(lower, lower)
    return lower if lower in SCALARS and lower not in OPERATORS else None


def aggregate_name(name: str) -> str | None:
    """The canonical name of an aggregate as a user calls it, or None: `aggregate_name('STD')`."""
    lower = name.lower()
    lower = AGGREGATE_ALIASES.get(lower, lower)
    return lower if lower in AGGREGATES and lower not in UNCALLABLE else None


def callable_names() -> list[str]:
    """Every name that can be called with parentheses, for did-you-mean and completion."""
    names = [n for n in (*SCALARS, *SCALAR_ALIASES, *AGGREGATES, *AGGREGATE_ALIASES) if n not in OPERATORS]
    return sorted({*names, "count_if"} - {*UNCALLABLE, "is_nan", "negate"})
