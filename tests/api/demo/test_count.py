"""The independent count of a user's file, against counting by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from api.demo.count import LineCount

START = 1_700_000_000


def counted(path: Path, format_: str, columns: dict[str, str], time: str, unit: str, header: bool = False) -> LineCount:
    """`columns` has the type of each, and after a blank its path."""
    kinds = [{"name": name, **dict(zip(("type", "path"), kind.split(), strict=False))} for name, kind in columns.items()]
    return LineCount(path, header, {"format": format_, "options": {}, "columns": kinds, "time_column": time,
                                    "time_unit": unit})


def counts(count: LineCount) -> dict:
    return {(int(row["window_start"].timestamp()), row[count.key]): row["count"] for row in count.groups().to_pylist()}


def test_csv_is_counted_by_window_and_key(tmp_path):
    tuples = [(START + i - i % 7, f"u{i % 5}") for i in range(3_000)]
    path = tmp_path / "a.csv"
    path.write_text("at,who\n" + "".join(f"{at},{who}\n" for at, who in tuples) + "oops,u1\n" + f'{START},"a,b"\n'
                    + f"{START},\n" + "99999999999,u1\n")
    count = counted(path, "CSV", {"at": "BIGINT", "who": "STRING"}, "at", "s", header=True)
    size = count.window_s
    expected = Counter((at // size * size, who) for at, who in [*tuples, (START, "a,b"), (START, None)])
    assert count.key == "who"
    assert counts(count) == expected


def test_json_is_read_inside_objects_and_disorder_gives_the_watermark(tmp_path):
    path = tmp_path / "a.json"
    times = [0, 1, 60, 2, 61, 400]
    path.write_text("".join(f'{{"t": "2023-11-14T22:{13 + s // 60:02}:{s % 60:02}Z", "u": {{"id": "x{s % 2}"}}}}\n'
                            for s in times))
    count = counted(path, "JSON", {"t": "TIMESTAMP t", "u_id": "STRING u.id"}, "t", "us")
    assert (count.key, count.disorder_s, count.window_s) == ("u_id", 58, 10)
    assert sum(counts(count).values()) == len(times)


def test_windows_before_1970_are_those_of_the_calendar(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{at},{'ab'[at % 2]}\n" for at in range(-15, 15)))
    count = counted(path, "CSV", {"at": "BIGINT", "who": "STRING"}, "at", "s")
    count.window_s = 10
    assert counts(count) == Counter((at // 10 * 10, "ab"[at % 2]) for at in range(-15, 15))


def test_json_that_does_not_read_and_arrays_are_counted(tmp_path):
    path, columns = tmp_path / "a.json", {"us": "BIGINT", "n": "STRING"}
    path.write_text('{"us": 1, "n": "a"}\n[{"us": 2, "n": "a"}, {"us": 3, "n": "b"}]\n')
    count = counted(path, "JSON", columns, "us", "s")
    assert (count.objects(), sum(counts(count).values())) == (3, 3)
    path.write_text('{"us": 1, "n": "a"}\n{"us": \nno json\n7\n[]\n{"us": 99999999999999999999999999999, "n": "a"}\n')
    count = counted(path, "JSON", columns, "us", "s")
    assert (count.objects(), count.groups()["count"].to_pylist()) == (None, [1])


def test_the_key_is_the_column_with_the_fewest_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{at},{'ab'[at % 2]},c{at % 3},1,{at % 2}\n" for at in range(9)))
    columns = {"at": "BIGINT", "many": "STRING", "more": "STRING", "one": "INT", "number": "INT"}
    assert counted(path, "CSV", columns, "at", "s").key == "many"
    del columns["many"], columns["more"]
    path.write_text("".join(f"{at},1,{at % 2}\n" for at in range(9)))
    assert counted(path, "CSV", columns, "at", "s").key == "number"
