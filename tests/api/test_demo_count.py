"""The independent count of a user's file, against counting by hand."""

from collections import Counter

from api.demo_count import Shape, TextCount

START = 1_700_000_000


def counts(count: TextCount) -> dict:
    return {(int(row["window_start"].timestamp()), row[count.key]): row["count"] for row in count.table().to_pylist()}


def test_csv_is_counted_by_window_and_key(tmp_path):
    tuples = [(START + i - i % 7, f"u{i % 5}") for i in range(3_000)]
    path = tmp_path / "a.csv"
    path.write_text("at,who\n" + "".join(f"{at},{who}\n" for at, who in tuples) + "oops,u1\n" + f'{START},"a,b"\n'
                    + f"{START},\n" + "99999999999,u1\n")
    count = TextCount(path, True, Shape("CSV", ",", {"at": ("BIGINT", "at"), "who": ("STRING", "who")}, "at", "s"))
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
    count = TextCount(path, False, Shape("JSON", ",", columns, "t", "us"))
    assert (count.key, count.disorder_s, count.window_s) == ("u_id", 58, 10)
    assert sum(counts(count).values()) == len(times)
