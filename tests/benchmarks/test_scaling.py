"""The curves: their points can be made, and a short run of one is exact."""

import argparse

import pytest

from benchmarks import scaling
from benchmarks.scaling import CURVES, KEYS, chosen, model, picture, row
from benchmarks.scaling_run import Instance, Result
from benchmarks.scaling_topic import Point

COUNTS = "SELECT timestamp, count(*) FROM {stream} GROUP BY timestamp WINDOWING 60 s"


def result(x: float, tuples_per_s: float, exact: bool = True) -> Result:
    cpu = {"mappers": 0.4, "reducers": 0.1, "redis": 0.02, "zookeeper": 0.01, "driver": 0.07, "kafka": 0.1}
    return Result(x, f"{x:,.0f}", 1_000_000, 1.0, tuples_per_s, tuples_per_s * 148 / 1e6, cpu, dict.fromkeys(cpu, 100), 5,
                  exact, "" if exact else "one differs", [])


@pytest.mark.parametrize("name", sorted(CURVES))
def test_points_can_be_made(name):
    points = CURVES[name].points(3_000_000)
    assert len({point.x for point in points}) == len(points)
    for point in points:
        assert point.tuples % point.packed == 0
        assert point.line_bytes >= 40
        assert max(5_000, point.packed) % point.packed == 0


def test_the_curve_of_columns_wants_so_many():
    for point in CURVES["columns"].points(1_000):
        named = {column for column in scaling.COLUMNS if f"({column})" in point.query} | {
            key for key in KEYS if f"{key}," in point.query or f"{key} WINDOWING" in point.query}
        assert len(named) == point.x


def test_points_are_chosen_by_place_or_label(capsys):
    parser, forms, sizes = argparse.ArgumentParser(), CURVES["forms"].points(1), CURVES["batch"].points(1)
    assert [point.label for point in chosen(forms, "JSON, 0", parser)] == ["CSV", "JSON"]
    assert [point.x for point in chosen(sizes, "2e4,500.0", parser)] == [500, 20_000]
    with pytest.raises(SystemExit):
        chosen(forms, "CSV,XML", parser)
    assert "0 (CSV), 1 (CSV, 100 a message), 2 (JSON)" in capsys.readouterr().err


def test_the_model_multiplies_the_measured_cost():
    said = model(result(1, 2e6))
    assert "1.43 M tuples/s" in said  # 1 / (0.6 + 0.1)
    assert "(25.4 M tuples/s) would need 17.8 cores" in said


@pytest.mark.parametrize("name", ["message", "codec"])
def test_pictures_show_every_point(name):
    svg = picture(CURVES[name], [result(1, 1e6), result(2, 2e6), result(3, 3e6)])
    assert svg.count("<circle" if name == "message" else "fill=\"#1f5fa8\"/>") >= 3


@pytest.mark.services
@pytest.mark.e2e
@pytest.mark.timeout(240)
@pytest.mark.parametrize("point", [
    Point(1, 20_000, label="other", partitions=2, codec="lz4", packed=100, line_bytes=60, sips=20),
    Point(2, 60_000, label="alongside", partitions=1, rate=30_000, retention_bytes=64 << 20),
    Point(3, 10_000, label="one column", query=COUNTS, keys=("timestamp",), format="json", line_bytes=320)],
    ids=Point.name)
def test_a_toy_point_is_exact(running, point):
    with Instance(*running) as instance:
        found = instance.measure(point, repeat=2)
    assert found.exact, found.difference
    assert found.tuples_per_s > 0
    assert found.cpu > 0
    assert "EXACT" in row(found)
    assert bool(found.memory) == bool(point.rate)
