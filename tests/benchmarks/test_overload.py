"""Whether memory grows, what many queries must answer, and a short run of all that is measured under load."""

import re
from dataclasses import asdict
from types import SimpleNamespace

import pyarrow as pa
import pytest

from api.cli.client import Client
from benchmarks.contenders.mars import Mars, committed
from benchmarks.generator import TYPES
from benchmarks.overload import Limit, Restart, Twice, limit, twice
from benchmarks.overload_figures import Growth, Sample, behind_most, growths
from benchmarks.overload_queries import Shape, shapes
from benchmarks.overload_run import Loaded
from benchmarks.overload_table import figure

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
        "CREATE QUERY q AS SELECT sip, timestamp, count(*), sum(bytes) AS total, max(packets) AS most, "
        "avg(duration) AS mean, count(DISTINCT dip) AS dips FROM s WHERE type = 'dns' GROUP BY sip, timestamp "
        "WINDOWING 60 s WATERMARK 5 s FROM EARLIEST")


def test_many_shapes_differ():
    wanted = shapes(200)
    assert len(wanted) == 200
    assert len(set(wanted)) == 4 * 4 * (1 + len(TYPES))


@pytest.mark.services
@pytest.mark.e2e
@pytest.mark.timeout(240)
def test_many_queries_answer_a_short_load_exactly(running, tmp_path):
    run, mars = running[0], Mars()
    mars.config = running[1]
    with Client(run.api) as mars.client:
        loaded = Loaded(mars, run.kafka, tmp_path, {})
        most = limit(loaded, queries=4, tuples=60_000)
        found = twice(loaded, queries=4, rate=20_000, seconds=3.0)
    assert (most.wrong, found.wrong, found.tuples) == ([], [], 60_000)
    assert most.tuples_per_s > 1_000
    assert {growth.part for growth in found.growths} >= {"mappers", "reducers", "redis", "kafka"}
    assert found.behind_most > 0


def test_what_one_key_part_lacks_is_not_committed():
    assert committed({"positions": {"0": 40, "1": 2}, "counters": {"tuples": 50}}) == 42


def test_a_wrong_answer_is_told(tmp_path):
    wanted = Shape(("type",), 60, None)
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_file(sink, COUNTED.schema) as writer:
        writer.write_table(COUNTED)
    loaded = Loaded(Mars(), "", tmp_path, {})
    rows = wanted.expected(COUNTED)
    for given, faults in ((rows, 0), (rows.slice(1), 1)):
        loaded.mars.client = SimpleNamespace(pages=lambda query, partial, given=given: [given])
        assert len(loaded.wrong("t", ["q"], [wanted])) == faults


def test_the_table_tells_each_part():
    growth = Growth("mappers", 100.0, 110.0, 120.0, 0.5)
    memory = dict.fromkeys(("mappers", "reducers", "redis"), 90.0)
    answer = {"limits": [asdict(Limit(200, 3.0, 10, 250_000, memory, ["q7: differs"]))],
              "twice": asdict(Twice(50, 400, 600.0, 240_000, [growth], 7_000, 550.0, memory, [], "LIMIT_EXCEEDED at 9")),
              "restart": asdict(Restart(100, 2.0, 9.0, 10.0, 12.0, []))}
    text = "\n".join(figure(answer))
    assert re.search(r"\| 200 +\| 0.25 +\| 50.0 .*\| 1 WRONG", text)
    assert re.search(r"\| mappers \| 100 +\| 110 +\| 120 +\| \+0.5 +\| 90", text)
    assert "At most 7,000 waited in Kafka; everything was read 550 s after the last tuple was sent. Answers: exact." in text
    assert " One more query, which held too much: LIMIT_EXCEEDED at 9." in text
