"""Every scalar function and cast beside Spark SQL itself, on values that are likely to differ."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mars.algebra.coercion import TypeMismatch
from mars.algebra.evaluate import evaluate
from mars.algebra.functions import resolve
from mars.model import types
from mars.model.expressions import Call, Column, Expression, Literal
from sql.say.unparse import interval

pytestmark = pytest.mark.slow

NAN, INF = math.nan, math.inf
DOUBLES = [None, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1.005, 2.675, 0.125, 123456.789, 1e-3, 9.99e-4,
           1e7, 9999999.5, 1e10, 1.5e300, 5e-324, -1e20, 2.0 ** 63, 2147483648.0, 1e15 + 0.5, NAN, INF, -INF]
DIGITS = ["0", "-0", "1", "-1", "0.5", "0.05", "-2.5", "12.345", "99999.99", "-99999999.99", "7", "0.01", "3.33"]
VALUES = {
    "BOOLEAN": [None, True, False],
    "INT": [None, 0, 1, -1, 2, 3, -7, 10, 15, -25, 125, 2_000_000, 2**31 - 1, -(2**31)],
    "BIGINT": [None, 0, 1, -1, 2, -7, 15, 55, 86_400, 2**31, 2**53 + 1, 1_700_000_000, -62_000_000_000, 1_700_000_000_000,
               10**18, 2**63 - 1, -(2**63)],
    "FLOAT": [None, 0.0, -0.0, 1.0, -1.5, 0.1, 2.5, 16777217.0, 1e10, 1e-4, 3.4e38, 123.456, 90.85, 0.145, NAN, INF, -INF],
    "DOUBLE": DOUBLES,
    "DECIMAL(10,2)": [None, *(Decimal(d).quantize(Decimal("0.01")) for d in DIGITS)],
    "DECIMAL(38,19)": [None, *map(Decimal, ("0", "1.5", "-2.5", "0.05", "0.00000000000000005", "1234567890123456789.5",
                                             "-899999999999999.9999999999999999999"))],
    "DECIMAL(38,10)": [None, *map(Decimal, ("0", "1", "-1", "0.0000000001", "3.3333333333", "-2.5", "1e27",
                                             "899999999999999999999999.9999999999", "-123456789.987654321"))],
    "STRING": [None, "", " ", "a", "A", "abc", "aBc def", "ß", "Éa", "ÀÉ", "日本語x", "😀b", "a%b", "a_b", "a\\b", "x\ny",
               "ΑΣ",
               "1", " 12 ", "-7", "+5", "1.5", "-.5", "5.", ".", "+", "1e3", "1E-2", "1d", "2.5f", "0x10", "NaN", "inf",
               "-Infinity", "9223372036854775807", "9223372036854775808", "-2147483649", "00012", "1_000", "12a",
               "true", "T", "no", "0", "yEs", "2024-02-29", "2023-02-29", "2024-1-2", "2024", "2024-13-01",
               "2024-01-02 03:04:05", "2024-01-02T03:04:05.123456789Z", "2024-01-02 03:04", "2024-01-02 25:00:00",
               "2024-01-02 03:04:05+01:30", "1969-12-31 23:59:59.5", "2024-01-02 junk", "  2024-01-02  ", "1e400",
               "99999999999999999999999999999999999999", "0.00000000005", "12345678.125", "\t7\n", "2024-01-02T3:4:5",
               "2024-06-01 12:00:00 Europe/Berlin", "10000000000", "9" * 1200, "00000" + "9" * 38, "9." + "9" * 37 + "e37",
               "1e-1000", "0e39", "0." + "9" * 60, "2024-01-02 03:04:05+18:00", "2024-01-02 03:04:05-18:00:01",
               "2024-01-02 03:04:05 localtime", "2024-01-02 03:04:05 right/UTC", "202\u0664-01-02",
               "02/09/2024 01:04:05 PM", "12/31/1999 12:00:00 am", "9 Feb 2024", "31 DECEMBER 1969", "D2024060",
               "D2023366", "20240209",
               '{"a": {"b": "x\\u00e9\\n\\"", "c": [1.50, 1e3, null, true]}, "b": [1, -2.0]} x',
               '[{"a": 1, "a": 2}, "x"]', '{"a": {"b": 12345678901234567890}, "b": "c', "7 ", "null", "{}",
               "120240209", "at 13:04", "AT 23:59:59.9", "at 24:00", "at 0:60", "24-02-09", "24-2-9",
               "2024-02-09T07:08:09"],
    "DATE": [None, date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31),
             date(1582, 10, 4), date(2023, 12, 31), date(2000, 1, 1)],
    "TIMESTAMP": [None, *(datetime(*parts, tzinfo=UTC) for parts in (
        (1970, 1, 1), (1969, 12, 31, 23, 59, 59, 999999), (2024, 2, 29, 12, 34, 56, 120000), (1900, 1, 1, 0, 0, 0, 1),
        (9999, 12, 31, 23, 59, 59), (2023, 10, 29, 1, 30), (2024, 1, 1, 0, 0, 0, 500000), (1582, 10, 15),
        (3000, 2, 28, 12, 34, 56, 123457)))],
}
INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "modulo": "%", "div": "DIV", "eq": "=", "ne": "<>",
         "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "null_safe_eq": "<=>", "and": "AND", "or": "OR", "like": "LIKE",
         "rlike": "RLIKE", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
NAMES = {"negate": "negative", "is_nan": "isnan", "starts_with": "startswith", "ends_with": "endswith", "bitwise_not": "~"}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "null_safe_eq")
ALL = (*((name, "a", "b") for name in (*COMPARISONS, "nullif", "coalesce", "greatest", "least")),
       ("is_null", "a"), ("is_not_null", "a"))
NUMERIC = (*((name, "a", "b") for name in ("add", "subtract", "multiply", "divide", "modulo", "div")),
           ("negate", "a"), ("abs", "a"), ("sign", "a"), ("floor", "a"), ("ceil", "a"), ("round", "a"),
           *((name, "a", digits) for name in ("round", "bround") for digits in (0, 1, 2, 5, -1, -2)),
           ("sqrt", "a"), ("is_nan", "a"), ("exp", "a"),
           ("ln", "a"), ("log10", "a"), ("power", "a", "b"), ("in", "a", 1, 15, 2), ("in", "a", 1, None),
           ("case", ("gt", "a", "b"), "a", ("eq", "a", "b"), 0, "b"), ("if", ("lt", "a", "b"), "a", None),
           ("pmod", "a", "b"), ("pmod", "a", 3), ("log", "a", "b"), ("log2", "a"),
           *((name, "a", d) for name in ("floor", "ceil") for d in (0, 1, 3, -1)))
BITS = (*((name, "a", "b") for name in ("bitwise_and", "bitwise_or", "bitwise_xor")), ("bitwise_not", "a"),
        *((name, "a", n) for name in ("shiftleft", "shiftright", "shiftrightunsigned") for n in (0, 1, 31, 33, -1)))
DAYS = ("year", "month", "day", "dayofweek", "weekday", "dayofyear", "quarter", "weekofyear", "yearofweek")
WRITTEN = ("yyyy-MM-dd HH:mm:ss.SSSSSS", "y yy yyyyy M MMM MMMM d D DD DDD E EEEE", "yyyyMMdd'T'Hmm",
           "hh a, h:m:s S SSSSSSSSS", "'o''clock' ''", "")
READ = ("yyyy-MM-dd", "yyyyMMdd", "yyyy-MM-dd HH:mm:ss", "MM/dd/yyyy hh:mm:ss a", "d MMM yyyy", "d MMMM yyyy", "'D'yyyyDDD",
        "'at' H:m", "'at' HH:mm:ss.S", "yy-MM-dd", "yy-M-d", "y-M-d", "yyyy", "yyyy-MM-dd'T'HH:mm:ss", "yyyy-M-d H:m:s")
SEARCHED = (("regexp_extract", "a", "'([a-z]+)([0-9]*)", 2), ("regexp_extract", "a", "'(?:a|(b))[)(]?|(1)", 1),
            ("regexp_extract", "a", "'[^(]+", 0), ("regexp_extract", "a", "'([a-z])"), ("regexp_replace", "a", "'^", "'-"),
            ("regexp_replace", "a", "'([a-z])([0-9]|$)", "'<$2$1\\$>"), ("split_part", "a", "'-", 2),
            ("split_part", "a", "b", -1), ("split_part", "a", "'", 1), ("instr", "a", "b"), ("instr", "a", "'"),
            ("locate", "b", "a"), ("locate", "'2", "a", 2), ("locate", "'", "a", 2))
MADE = (("concat_ws", "a", "b", None, "b"), ("concat_ws", "'-", "b"), ("lpad", "a", 5), ("lpad", "a", 7, "'日b"),
        ("rpad", "a", 7, "'日b"), ("rpad", "a", 0), ("lpad", "a", 3, "'"), ("repeat", "a", 2), ("repeat", "a", -1),
        ("reverse", "a"), ("initcap", "a"), ("translate", "a", "'ab日2a", "'xyz"), ("md5", "a"), ("sha1", "a"),
        ("crc32", "a"), *(("sha2", "a", bits) for bits in (0, 224, 256, 384, 512)),
        *((name, "'a2", "a") for name in ("trim", "ltrim", "rtrim")))
TEXTUAL = (("upper", "a"), ("lower", "a"), ("length", "a"), ("trim", "a"), ("ltrim", "a"), ("rtrim", "a"),
           *(("substring", "a", *rest) for rest in ((1,), (2, 2), (0, 2), (-2,), (-3, 2), (-9, 8), (-2, 9), (3, -1),
                                                    (2, 2**31 - 1), (-1, 2**31 - 1), (("length", "b"), 2))),
           *((name, "a", "b") for name in ("contains", "starts_with", "ends_with", "concat")),
           ("replace", "a", "b", "_"), ("replace", "a", "'a"), ("left", "a", 2), ("left", "a", -1), ("right", "a", 2),
           ("right", "a", 0), ("in", "a", "'a", "'abc"), ("concat", "a", "'-", "b"), ("contains", "a", "'"),
           *(("like", "a", "'" + pattern) for pattern in ("a%", "%b", "_", "a\\%b", "a\\_b", "%", "", "x_y", "a\\\\b")),
           *(("rlike", "a", "'" + pattern) for pattern in ("^a", "[0-9]+", "b$", "")), ("to_date", "a"),
           *(("to_timestamp", "a", "'" + pattern) for pattern in READ), ("date_format", "a", "'yyyyMMdd"),
           *SEARCHED, *MADE, ("get_json_object", "a", "'$.a.b"),
           *(("get_json_object", "a", "'$" + path) for path in ("", ".a", ".b[1]", "['a']", "[0]", ".b[9]")))
CASES = {
    "BOOLEAN": (("and", "a", "b"), ("or", "a", "b"), ("not", "a"), ("if", "a", 1, 2), ("case", "a", "b", "a")),
    "STRING": TEXTUAL,
    "DATE": (("hour", "a"), ("to_date", "a"), *((name, "a") for name in DAYS), ("datediff", "a", "b"), ("last_day", "a"),
             *(("trunc", "a", "'" + unit) for unit in ("year", "quarter", "month", "week")),
             *((name, "a", count) for name in ("date_add", "date_sub", "add_months") for count in (0, 1, -1, 13, -1000)),
             *(("time_add", "a", micros) for micros in (1, -86_400_000_000, 5_025_500_000))),
    "TIMESTAMP": (*((name, "a") for name in ("year", "month", "day", "hour", "minute", "second", "to_date",
                                              "unix_timestamp")),
                  *((name, "a") for name in DAYS), ("last_day", "a"), ("datediff", "a", "b"),
                  *(("date_format", "a", "'" + pattern) for pattern in WRITTEN), ("date_add", "a", 40),
                  *(("time_add", "a", micros) for micros in (1, -1, 90_061_000_001, -31_622_400_000_000)),
                  *(("date_trunc", "'" + unit, "a") for unit in (
                      "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond",
                      "microsecond", "HOUR"))),
    "INT": (*NUMERIC, *BITS),
    "BIGINT": (*NUMERIC, *BITS, ("from_unixtime", "a"), ("from_unixtime", "a", "'yyyy/MM/dd HH.mm.ss EEEE")),
}
TARGETS = ("BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)", "DECIMAL(38,10)", "DECIMAL(38,19)",
           "DECIMAL(5,0)", "STRING", "DATE", "TIMESTAMP")
REFUSED = {("DATE", target) for target in TARGETS if target not in ("STRING", "DATE", "TIMESTAMP")} | {
    (source, "DATE") for source in VALUES if source not in ("STRING", "DATE", "TIMESTAMP")}
INEXACT = ("exp", "ln", "log10", "power", "log", "log2")


def typed(part: object, columns: dict[str, str]) -> Expression:
    """The expression of a case: a column's name, a constant (text behind a quote), or (function, argument, ...)."""
    if isinstance(part, tuple):
        return typed_call(part[0], tuple(typed(p, columns) for p in part[1:]))
    if isinstance(part, str) and part.startswith("'"):
        return Literal(part[1:], "STRING")
    if isinstance(part, str):
        return Column(part, columns[part]) if part in columns else Literal(part, "STRING")
    return Literal(part, "VOID" if part is None else "INT" if abs(part) < 2**31 else "BIGINT")


def typed_call(name: str, arguments: tuple[Expression, ...]) -> Expression:
    """The call with the casts that its rule asks for."""
    wanted, type_ = resolve(name, arguments)
    return Call(name, tuple(a if a.type == t else Call("cast", (a,), t) for a, t in zip(arguments, wanted, strict=True)),
                type_)


def spark_sql(part: object) -> str:
    """The case as Spark SQL."""
    if not isinstance(part, tuple):
        return part if part in ("a", "b") else _constant(part)
    name, arguments = part[0], [spark_sql(p) for p in part[1:]]
    if name in INFIX:
        return f"({arguments[0]} {INFIX[name]} {arguments[1]})"
    if name in ("is_null", "is_not_null"):
        return f"({arguments[0]} {name.replace('_', ' ')})"
    if name == "in":
        return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"
    if name == "case":
        pairs = zip(arguments[:-1:2], arguments[1::2], strict=True)
        return "CASE " + " ".join(f"WHEN {c} THEN {v}" for c, v in pairs) + f" ELSE {arguments[-1]} END"
    if name == "time_add":
        return f"({arguments[0]} + {interval(part[2])})"
    if name == "yearofweek":
        return f"extract(yearofweek FROM {arguments[0]})"
    return f"{NAMES.get(name, name)}({', '.join(arguments)})" if name != "not" else f"(NOT {arguments[0]})"


def _constant(value: object) -> str:
    if not isinstance(value, str):
        return "NULL" if value is None else str(value)
    return "'" + value.removeprefix("'").replace("\\", "\\\\").replace("'", "\\'") + "'"


def cases_of(type_: str) -> list[tuple[str, Expression]]:
    """(Spark SQL, our expression) of everything that is tried on columns a and b of the type."""
    columns = {"a": type_, "b": type_}
    special = CASES.get(type_, NUMERIC if types.is_numeric(type_) else ())
    found = []
    for case in (*ALL, *special):
        try:
            found.append((spark_sql(case), typed(case, columns)))
        except TypeMismatch:
            assert not (types.is_numeric(type_) and case[0] not in ("div", "is_nan"))
    for target in TARGETS:
        if (type_, target) not in REFUSED and type_ != target:
            found.append((f"CAST(a AS {target})", Call("cast", (Column("a", type_),), target)))
    return found


def values_of(type_: str) -> pa.Table:
    """Every value as `a` with each of the first ones as `b`, and a row number."""
    arrow = types.to_arrow(type_)
    pairs = list(product(VALUES[type_], VALUES[type_][:20]))
    return pa.table({"i": range(len(pairs)), "a": pa.array([p[0] for p in pairs], arrow),
                     "b": pa.array([p[1] for p in pairs], arrow)})


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession
    session = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
               .config("spark.sql.ansi.enabled", "false").config("spark.sql.session.timeZone", "UTC")
               .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
               .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
               .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
               .getOrCreate())
    yield session
    session.stop()


def same(ours: object, theirs: object, exact: bool) -> bool:
    """Equal, with NaN equal to NaN, and -0.0 other than 0.0; functions of java.lang.Math to their last digits."""
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        if not exact:
            return math.isclose(ours, theirs, rel_tol=1e-13, abs_tol=5e-324)
        return ours == theirs and math.copysign(1, ours) == math.copysign(1, theirs)
    if ours is None and isinstance(theirs, str):
        return theirs.startswith("+")  # a year beyond 9999 has no text in Mars
    return ours == theirs


@pytest.mark.parametrize("type_", VALUES)
def test_every_function_and_cast_gives_what_spark_gives(spark, tmp_path: Path, type_: str) -> None:
    table, cases = values_of(type_), cases_of(type_)
    pq.write_table(table, tmp_path / "values.parquet")
    frame = spark.read.parquet(str(tmp_path / "values.parquet"))  # one small file keeps its order
    expected = frame.selectExpr(*(f"{sql} AS c{i}" for i, (sql, _) in enumerate(cases)))
    expected.write.parquet(str(tmp_path / "expected"))
    theirs = pq.read_table(tmp_path / "expected")
    plain = {name: table[name].combine_chunks() for name in ("a", "b")}
    coded = {name: column.dictionary_encode() for name, column in plain.items()} if type_ == "STRING" else None
    wrong = []
    for i, (sql, expression) in enumerate(cases):
        for columns in filter(None, (plain, coded)):
            ours = evaluate(expression, columns, len(table))
            wrong += differences(sql, expression, table, ours, theirs[f"c{i}"])
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:400])


def differences(sql: str, expression: Expression, table: pa.Table, ours: pa.Array, theirs: pa.ChunkedArray) -> list[str]:
    """One line for each kind of row in which the two answers differ."""
    if pa.types.is_timestamp(theirs.type):
        ours, theirs = ours.cast(pa.int64()), theirs.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    if pa.types.is_date(theirs.type):
        ours, theirs = ours.cast(pa.int32()), theirs.cast(pa.int32())
    if ours.equals(theirs.combine_chunks()):
        return []
    exact = not (isinstance(expression, Call) and expression.function in INEXACT)
    found = {}
    for mine, other, a, b in zip(ours.to_pylist(), theirs.to_pylist(), table["a"].to_pylist(), table["b"].to_pylist(),
                                 strict=True):
        if not same(mine, other, exact):
            found.setdefault((sql, a), f"{sql} with a={a!r}, b={b!r}: Mars {mine!r}, Spark {other!r}")
    return list(found.values())
