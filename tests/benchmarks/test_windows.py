"""The count of windows that are not tumbling, against a naive one; and what each contender is told of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import late_tuples, window_exactness
from benchmarks.contenders import flink
from benchmarks.contenders.protocol import CUMULATE, HOP, SESSION, WINDOWS, Job
from benchmarks.side_by_side_windows import SIZES_MS, of_windows
from benchmarks.window_costs import PAIRS
from mars.model.plan import Stream
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse

JOB = Job(0, "localhost:1", "t", 4, 12, 1000, 60_000, 5_000, 0, "/out", "/work")
FIRST_S = 1_700_000_000


@pytest.fixture
def tuples() -> list[tuple[int, str, str]]:
    draw = np.random.default_rng(3)
    times = FIRST_S + np.cumsum(draw.integers(0, 4, 400))
    return [(int(t), f"10.0.0.{draw.integers(3)}", ("dns", "tls")[draw.integers(2)]) for t in times]


def counted(tuples: list[tuple[int, str, str]]) -> window_exactness.Seconds:
    lines = "\n".join(f"{t},{type_},{sip}{',x' * 17}" for t, sip, type_ in tuples)
    return window_exactness._seconds(window_exactness._counted(lines.encode()), tuples[-1][0] + 1)


def naive(windows: str, tuples: list[tuple[int, str, str]], size: int, step: int) -> Counter:
    """Rows as (start, end, sip, type): count, in seconds."""
    rows: Counter = Counter()
    if windows == SESSION:
        for key in {tuple_[1:] for tuple_ in tuples}:
            times = sorted(t for t, *own in tuples if tuple(own) == key)
            start, last, n = times[0], times[0], 0
            for t in [*times, times[-1] + size + 1]:
                if t - last > size:
                    rows[start, last + size, *key] = n
                    start, n = t, 0
                last, n = t, n + 1
        return rows
    for t, *key in tuples:
        if windows == HOP:
            edges = [(start, start + size) for start in range((t - size) // step * step, t + 1, step)
                     if start <= t < start + size]
        else:
            edges = [(t // size * size, end) for end in range(t // size * size + step, t // size * size + size + 1, step)
                     if t < end]
        for edge in edges:
            rows[(*edge, *key)] += 1
    return rows


@pytest.mark.parametrize(("windows", "size", "step"), [(HOP, 10, 3), (HOP, 7, 7), (SESSION, 5, 0), (CUMULATE, 60, 4)])
def test_windows_are_counted_as_by_hand(tuples, windows, size, step):
    found = counted(tuples).expected(windows, size, step)
    rows = {(row["timestamp"] // 1000, row["end"] // 1000, row["sip"], row["type"]): row["count"]
            for row in found.to_pylist()}
    assert len(rows) == len(found)
    assert rows == naive(windows, tuples, size, step)


def test_each_way_of_being_wrong_is_told(tuples):
    expected = counted(tuples).expected(HOP, 10, 3)
    assert window_exactness.judge(expected, expected)[0].exact
    exactness, first = window_exactness.judge(expected, expected.slice(1))
    assert (exactness.wrong, exactness.lost, exactness.doubled) == (1, expected["count"][0].as_py(), 0)
    assert first
    assert window_exactness.judge(expected, pa.concat_tables([expected, expected.slice(4, 1)]))[0].doubled > 0
    moved = expected.set_column(1, "end", pa.array(np.asarray(expected["end"]) + 1))
    assert window_exactness.judge(expected, moved)[0].wrong == 2 * len(expected)


@pytest.mark.parametrize("windows", WINDOWS)
def test_a_job_of_each_kind_is_read_and_spelled(windows, tmp_path):
    job = of_windows(JOB, windows) if windows in SIZES_MS else replace(JOB, windows=windows)
    job.write(tmp_path)
    assert Job.read(tmp_path / "job-0.properties") == job
    text = flink.query(job)
    assert f"{windows.upper()}(TABLE tuples" in text
    assert "{" not in text


def stream() -> Stream:
    from benchmarks.generator import SCHEMA
    return compile_stream(parse(f"CREATE STREAM own ({SCHEMA}) FROM KAFKA 'own' FORMAT CSV TIMESTAMP timestamp UNIT s"))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_queries_of_a_pair_are_statements(pair):
    for is_one in (True, False):
        compile_select(parse(pair.select("own", is_one)), stream(), continuous=True)


def test_what_late_tuples_are_compared_with():
    ids, times, keys = late_tuples.tuples_of(0, 1_000)
    sent = pa.table({"id": ids, "t": times, "k": keys, "p": np.zeros(1_000, np.int64), "o": ids})
    held = [row for row in sent.to_pylist() if row["id"] != 50]
    sums: dict[tuple, list[int]] = {}
    for row in held:
        found = sums.setdefault((row["t"] // 60 * 60, row["k"]), [0, 0, 0])
        for place, more in enumerate((1, row["id"], row["id"] ** 2 % 1_000_003)):
            found[place] += more
    names = ("n", "ids", "squares")
    rows = pa.table({"window_start": pa.array([w for w, _ in sums], pa.timestamp("s", "UTC")),
                     "k": [str(k) for _, k in sums],
                     **{name: [found[place] for found in sums.values()] for place, name in enumerate(names)}})
    late = [(0, 50, int(times[50]), 50, str(keys[50]))]
    assert late_tuples.difference(sent, rows, late) == ""
    assert "twice" in late_tuples.difference(sent, rows, late * 2)
    assert "sent, and not in" in late_tuples.difference(sent, rows.slice(1), late)
    assert "behind" in late_tuples.difference(sent, rows, [*late, (0, 51, int(times[51]), 51, str(keys[51]))])
