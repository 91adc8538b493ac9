"""The generated tuples: their shape, their disorder, and a count that another count agrees with."""

import json
from collections import Counter

import numpy as np
import pytest

from benchmarks.generator import (
    KEYS,
    LATE_MAX_S,
    LINE_BYTES,
    POOL,
    SCHEMA,
    SIPS,
    SKEWED,
    TYPES,
    WINDOW_S,
    Generator,
    JsonPool,
    Pool,
)

START = 1_700_000_000


@pytest.fixture(scope="module")
def pool() -> Pool:
    return Pool(seed=3, size=2_000)


def lines(generator: Generator, chunks: list[int]) -> list[list[str]]:
    return [bytes(row).decode().split(",") for count in chunks for row in generator.lines(count)]


def test_a_line_has_the_schemas_fields_and_the_promised_length(pool):
    rows = Generator(START, 100, pool=pool).lines(50)
    assert rows.shape == (50, LINE_BYTES)
    assert {len(bytes(row).split(b",")) for row in rows} == {len(SCHEMA.split(","))}


def test_the_count_agrees_with_counting_the_lines(pool):
    generator = Generator(START, 50, pool=pool)
    counted = Counter((f[2], f[1], int(f[0]) // WINDOW_S * WINDOW_S) for f in lines(generator, [1, 4_999, 7_000]))
    expected = generator.expected().to_pylist()
    assert {(r["sip"], r["type"], r["timestamp"]): r["count"] for r in expected} == counted


def test_disorder_stays_within_the_watermark(pool):
    times = np.array([int(f[0]) for f in lines(Generator(START, 500, pool=pool), [20_000])])
    behind = np.maximum.accumulate(times) - times
    assert behind.max() <= LATE_MAX_S
    assert 0.01 < (behind > 0).mean() < 0.05


def test_the_same_seed_gives_the_same_lines(pool):
    first, second = (Generator(START, 50, seed=9, pool=pool).lines(100) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("line_bytes", [40, 50, 150, 2_000])
def test_lines_of_another_length_have_the_same_first_fields(line_bytes):
    short, whole = (Generator(START, 50, pool=Pool(seed=3, size=200, line_bytes=size)).lines(20)
                    for size in (line_bytes, LINE_BYTES))
    assert short.shape == (20, line_bytes)
    assert [bytes(row).split(b",")[:3] for row in short] == [bytes(row).split(b",")[:3] for row in whole]


def test_every_group_of_the_papers_stream_is_as_frequent():
    pool = Pool(seed=1)
    assert pool.groups == SIPS * len(TYPES) == 8_000
    assert set(np.bincount(pool.group, minlength=pool.groups)) == {POOL // pool.groups}
    values = [bytes(tail).decode().split(",")[1:-1] for tail in pool.tails]
    for column, known in ((0, 8), (1, 1_000), (2, 1_000), (4, 5), (8, 2), (16, 5)):
        counts = np.unique([value[column] for value in values], return_counts=True)[1]
        assert len(counts) == known, column
        assert np.abs(counts * known / len(values) - 1).max() < 5 * (known / len(values)) ** 0.5, column


def test_a_window_has_all_groups_and_none_often():
    generator = Generator(START, 5_000, pool=Pool(seed=1))
    generator.lines(600_000)
    whole = generator.counts[generator.counts.sum(axis=1) > 200_000]
    assert len(whole)
    assert (whole > 0).all()
    assert (whole.max(axis=1) < 3 * whole.mean(axis=1)).all()


def test_with_skewed_keys_a_few_groups_have_most_tuples():
    pool = Pool(seed=1, keys=SKEWED)
    counts = np.sort(np.bincount(pool.group, minlength=pool.groups))[::-1]
    assert counts.sum() == POOL
    assert counts[:pool.groups // 4].sum() > POOL / 2
    assert counts[0] > 10 * counts.mean()


@pytest.mark.parametrize("keys", KEYS)
def test_more_addresses_give_more_groups(keys):
    pool = Pool(seed=3, size=5_000, sips=10_000, keys=keys)
    assert pool.groups > 79_000
    assert len(pool.tails) == len(pool.group) == 5_000
    assert len(np.unique(pool.group)) > 3_500


def test_times_in_ms_are_those_in_seconds(pool):
    plain, finer = (Generator(START, 50, pool=Pool(seed=3, size=2_000, unit=unit)) for unit in ("s", "ms"))
    assert [[f"{f[0]}000", *f[1:-1]] for f in lines(plain, [200])] == [f[:-1] for f in lines(finer, [200])]
    assert finer.expected().equals(plain.expected())


def test_as_json_the_tuples_are_the_same(pool):
    plain, generator = Generator(START, 50, pool=pool), Generator(START, 50, pool=JsonPool(seed=3, size=2_000))
    rows, names = generator.lines(200), [column.split()[0] for column in SCHEMA.split(", ")]
    assert rows.shape[1] == JsonPool.line_bytes
    for row, line in zip(rows, lines(plain, [200]), strict=True):
        item = json.loads(bytes(row))
        assert list(item) == names
        assert [str(value) for value in item.values()][:-1] == line[:-1]
        assert set(item["payload"]) == {"x"}
    assert generator.expected().equals(plain.expected())
