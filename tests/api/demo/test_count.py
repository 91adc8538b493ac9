"""The independent count of a user's file, against counting by hand."""

import math
from collections import Counter

from api.demo.check import Bounds
from api.demo.count import Shape, TextCount

START = 1_700_000_000


ALL = Bounds(0, 0)  # how many lines there are is the caller's business


def counts(count: TextCount) -> dict:
    return {(int(row["window_start"].timestamp()), row[count.key]): row["count"]
            for row in count.counted(ALL).table.to_pylist()}


def test_csv_is_counted_by_window_and_key(tmp_path):
    tuples = [(START + i - i % 7, f"u{i % 5}") for i in range(3_000)]
    path = tmp_path / "a.csv"
    path.write_text("at,who\n" + "".join(f"{at},{who}\n" for at, who in tuples) + "oops,u1\n" + f'{START},"a,b"\n'
                    + f"{START},\n" + "99999999999,u1\n")
    count = TextCount([path], True, Shape("CSV", ",", {"at": ("BIGINT", "at"), "who": ("STRING", "who")}, "at", "s"))
    size = count.window_s
    expected = Counter((at // size * size, who) for at, who in [*tuples, (START, "a,b"), (START, None)])
    assert count.key == "who"
    assert counts(count) == expected


def test_json_is_read_inside_objects_and_disorder_gives_the_watermark(tmp_path):
    path = tmp_path / "a.json"
    times = [0, 1, 60, 2, 61, 400]
    path.write_text("".join(f'{{"t": "2023-11-14T22:{13 + s // 60:02}:{s % 60:02}Z", "u": {{"id": "x{s % 2}"}}}}\n'
                            for s in times))
    columns = {"t": ("TIMESTAMP", "t"), "u_id": ("STRING", "u.id")}
    count = TextCount([path], False, Shape("JSON", ",", columns, "t", "us"))
    assert (count.key, count.disorder_s, count.window_s) == ("u_id", 58, 10)
    assert sum(counts(count).values()) == len(times)


def test_windows_before_1970_are_those_of_the_calendar(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{at},{'ab'[at % 2]}\n" for at in range(-15, 15)))
    count = TextCount([path], False, Shape("CSV", ",", {"at": ("BIGINT", "at"), "who": ("STRING", "who")}, "at", "s"))
    count.window_s = 10
    assert counts(count) == Counter((at // 10 * 10, "ab"[at % 2]) for at in range(-15, 15))


def test_json_that_does_not_read_and_arrays_are_counted(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"us": 1, "n": "a"}\n[{"us": 2, "n": "a"}, {"us": 3, "n": "b"}]\n')
    shape = Shape("JSON", ",", {"us": ("BIGINT", "us"), "n": ("STRING", "n")}, "us", "s")
    count = TextCount([path], False, shape)
    assert count.counted(ALL).tuples == Bounds(3, 3)
    path.write_text('{"us": 1, "n": "a"}\n{"us": \nno json\n7\n[]\n{"us": 99999999999999999999999999999, "n": "a"}\n')
    further = count.further([path], ALL)
    assert (further.tuples, further.table["count"].to_pylist()) == (Bounds(2, math.inf), [1])
    assert sum(counts(count).values()) == 3, "as before"


def test_disorder_is_that_within_a_partition(tmp_path):
    paths = [tmp_path / "0.lines", tmp_path / "1.lines"]
    paths[0].write_text("".join(f"{at},a\n" for at in range(5_000, 6_000)))
    paths[1].write_text("".join(f"{at},b\n" for at in (*range(500), 430, *range(500, 1_000))))
    count = TextCount(paths, False, Shape("CSV", ",", {"at": ("BIGINT", "at"), "file": ("STRING", "file")}, "at", "s"))
    assert (count.disorder_s, count.key, sum(counts(count).values())) == (69, "file", 2_001)
