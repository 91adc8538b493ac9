"""Whether memory grows, what many queries must answer, and a short run of all that is measured under load."""

import pyarrow as pa
import pytest

from benchmarks.generator import TYPES
from benchmarks.overload import measure
from benchmarks.overload_figures import Sample, behind_most, growths
from benchmarks.overload_queries import Shape, shapes

COUNTED = pa.table({"sip": ["a", "a", "b"], "type": ["dns", "tls", "dns"], "timestamp": [60, 120, 180], "count": [1, 2, 4]})


def test_growth_is_the_slope_after_the_first_fifth():
    samples = [Sample(float(s), 100 * s, 60 * s, {"mappers": 500.0 if s < 20 else 100.0, "reducers": 50 + s / 60})
               for s in range(0, 201, 10)]
    mappers, reducers = growths(samples, until_s=100.0)
    assert (mappers.part, mappers.first_mb, mappers.greatest_mb, mappers.mb_a_minute) == ("mappers", 100, 100, 0)
    assert (reducers.mb_a_minute, reducers.last_mb) == (1.0, pytest.approx(50 + 100 / 60))
    assert behind_most(samples) == 40 * 200


def test_answers_follow_from_the_count():
    assert Shape((), 120, None).expected(COUNTED).to_pylist() == [
        {"timestamp": 0, "count": 1}, {"timestamp": 120, "count": 6}]
    assert Shape(("sip",), 60, "dns").expected(COUNTED).to_pylist() == [
        {"sip": "a", "timestamp": 60, "count": 1}, {"sip": "b", "timestamp": 180, "count": 4}]
    assert Shape(("sip",), 60, "dns").sql("q", "s") == (
        "CREATE QUERY q AS SELECT sip, timestamp, count(*) FROM s WHERE type = 'dns' GROUP BY sip, timestamp "
        "WINDOWING 60 s WATERMARK 5 s FROM EARLIEST")


def test_many_shapes_differ():
    wanted = shapes(200)
    assert len(wanted) == 200
    assert len(set(wanted)) == 4 * 4 * (1 + len(TYPES))


@pytest.mark.services
@pytest.mark.e2e
@pytest.mark.timeout(240)
def test_a_short_load_is_answered_exactly_through_a_restart(tmp_path):
    found = measure(tmp_path, [4], tuples=60_000, queries=4, seconds=2.0)
    limit, = found["limits"]
    assert [part["wrong"] for part in (limit, found["twice"], found["restart"])] == [[], [], []]
    assert limit["tuples_per_s"] > 1_000
    assert found["twice"]["rate"] == pytest.approx(2 * limit["tuples_per_s"])
    assert {growth["part"] for growth in found["twice"]["growths"]} >= {"mappers", "reducers", "redis", "kafka"}
    assert 0 < found["restart"]["up_s"] <= found["restart"]["resumed_s"] <= found["restart"]["caught_up_s"]
