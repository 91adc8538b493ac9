"""The fixed values of tests/mars/answers.py. To change them is to change digests: a part that has one keeps its values."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

NAN, INF = float("nan"), float("inf")
VALUES = {
    "BOOLEAN": [None, True, False],
    "INT": [None, 0, 1, -1, 7, -25, 125, 2**31 - 1, -(2**31)],
    "BIGINT": [None, 0, 1, -7, 15, 86_400, 2**53 + 1, 1_700_000_000, 2**63 - 1, -(2**63)],
    "FLOAT": [None, 0.0, -0.0, 1.0, -1.5, 0.1, 16777217.0, 1e10, 3.4e38, NAN, INF, -INF],
    "DOUBLE": [None, 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 0.1, 1.005, 123456.789, 1e-5, 1e10, 5e-324, 2.0**63, NAN, INF, -INF],
    "DECIMAL(10,2)": [None, *map(Decimal, ("0.00", "1.00", "-1.00", "0.05", "-2.50", "12.35", "-99999999.99"))],
    "STRING": [None, "", "a", "aBc def", "ß", "日本語x", "a%b", "1", " 12 ", "-7.5", "1e3", "0.1", "123456789.123456789",
               "NaN", "inf", "true", "2024-02-29", "2024-01-02 03:04:05.123456", "2024-01-02T03:04:05+01:30", "1e400",
               "x\ny"],
    "DATE": [None, date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)],
    "TIMESTAMP": [None, *(datetime(*parts, tzinfo=UTC) for parts in (
        (1970, 1, 1), (1969, 12, 31, 23, 59, 59, 999999), (2024, 2, 29, 12, 34, 56, 120000), (1900, 1, 1, 0, 0, 0, 1)))],
}
# What cannot be tried on two columns of one type: see typed().
CALLS = {
    "cast": [("STRING", t) for t in VALUES] + [(t, "STRING") for t in VALUES]
            + [(s, t) for s in ("INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)") for t in VALUES if t != "DATE"]
            + [("TIMESTAMP", "DECIMAL(38,6)"), ("TIMESTAMP", "DECIMAL(12,1)")],
    "like": [("STRING", ("like", "a", "'a%")), ("STRING", ("like", "a", "'_"))],
    "rlike": [("STRING", ("rlike", "a", "'^[0-9.]+$"))],
    "in": [("INT", ("in", "a", 1, 7)), ("DOUBLE", ("in", "a", 1, None)), ("STRING", ("in", "a", "'a", "'1"))],
    "case": [("DOUBLE", ("case", ("gt", "a", "b"), "a", ("eq", "a", "b"), 0, "b"))],
    "if": [("INT", ("if", ("lt", "a", "b"), "a", None))],
    "substring": [("STRING", ("substring", "a", *rest)) for rest in ((1,), (2, 2), (-3, 2), (0, 5))],
    "replace": [("STRING", ("replace", "a", "'a", "'_")), ("STRING", ("replace", "a", "b", "'_"))],
    "left": [("STRING", ("left", "a", 2))], "right": [("STRING", ("right", "a", 2))],
    "date_trunc": [("TIMESTAMP", ("date_trunc", "'" + unit, "a")) for unit in (
        "year", "week", "day", "hour", "millisecond")],
    "regexp_extract": [("STRING", ("regexp_extract", "a", "'([a-z]+)([0-9 ]*)", group)) for group in (0, 1, 2)],
    "regexp_replace": [("STRING", ("regexp_replace", "a", "'([a-z])", "'<$1>"))],
    "split_part": [("STRING", ("split_part", "a", "'-", n)) for n in (1, 2, -1)],
    **{name: [("STRING", (name, "a", 5)), ("STRING", (name, "a", 9, "'x日"))] for name in ("lpad", "rpad")},
    "repeat": [("STRING", ("repeat", "a", 2))], "translate": [("STRING", ("translate", "a", "'ab2日", "'xyz"))],
    "sha2": [("STRING", ("sha2", "a", bits)) for bits in (0, 224, 384, 512)],
    "get_json_object": [("STRING", ("get_json_object", "a", "'$")),
                        ("STRING", ("get_json_object", ("concat", '\'{"a":["', "a", '\'"]}'), "'$.a[0]"))],
    "bround": [(type_, ("bround", "a", *digits)) for type_ in ("BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)")
               for digits in ((), (2,), (-1,))],
    "log": [("DOUBLE", ("log", "a", "b"))],
    **{name: [(type_, (name, "a", n)) for type_ in ("INT", "BIGINT") for n in (1, 33)] for name in (
        "shiftleft", "shiftright", "shiftrightunsigned")},
    "trunc": [("DATE", ("trunc", "a", "'" + unit)) for unit in ("year", "quarter", "month", "week")],
    **{name: [("DATE", (name, "a", count)) for count in (1, -13, 400)] for name in ("date_add", "date_sub", "add_months")},
    "time_add": [("TIMESTAMP", ("time_add", "a", micros)) for micros in (1, -86_400_000_000, 5_025_500_000)],
    "date_format": [("TIMESTAMP", ("date_format", "a", "'" + pattern)) for pattern in (
        "yyyy-MM-dd HH:mm:ss.SSSSSS", "y yy yyyyy M MMM MMMM d D DDD E EEEE", "h 'h' a S")],
    "to_timestamp": [("STRING", ("to_timestamp", "a", "'" + pattern)) for pattern in (
        "yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss.SSSSSS", "y", "'1'")],
    "round": [(type_, ("round", "a", *digits)) for type_ in ("BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)")
              for digits in ((), (2,), (-1,))]
             + [("FLOAT", ("round", ("multiply", ("multiply", "a", "a"), 9085), 1))],  # 90.85, which is 90.8499984741211
}
TEXTS = ["0", "1", "-7", "+5", " 12 ", "007", "2147483648", "9223372036854775807", "9223372036854775808", "1.5", "-.5", "5.",
         "1e3", "1E-2", "0.1", "123456789.123456789", "1e23", "9007199254740993", "2.2250738585072011e-308", "5e-324",
         "1.7976931348623159e308", "nan", "-inf", "Infinity", "true", "FALSE", "yes", "", "x", "1_000", "12a", "0.005",
         "2.675", "99999999.995", "2024-02-29", "2023-02-29", "2024-1-2", "2024", "2024-01-02 03:04:05.123456789",
         "2024-01-02T3:4:5Z", "2024-01-02 03:04:05+01:30", "2024-13-01", "日本語", "\u00e9\u0301"]
CSV = [b"1,a,b", b'2,"a,b",c', b'3,"a ""b""",c', b"4,a", b"5,a,b,c", b"6,,\\N", b"7,a\r\n8,b,c\n\n9,c,d", b'10,"a\nb",c',
       b"x,a,b", b'11,a"b,c', b'12,"a"b,c', b" 13 , a , b ", b"", b"14,\xff,b", b'15,"a,b']
JSON = [b'{"t": 1, "a": "x", "b": {"c": "y"}}', b'{"t": 2, "a": 7, "b": null}', b'{"t": 3.0, "a": "\\u00e9\\n"}', b"[1]",
        b"{", b"", b'{"t": "4", "a": true}', b'{"t": 5, "a": "x", "a": "y"}', b'{"t": 6, "a": [1, 2], "b": {"c": {}}}',
        b'{"t": 7, "a": ""}\n{"t": 8}', b'{"t": null}', b'{"t": 9, "a": "\\ud83d\\ude00", "b": {"c": "\xff"}}',
        b'{"t": 1e1, "a": "x"} x', b'{"t":10,"b":{"c":1.50}}']
