"""A file of the user's own as the demo's source, alone in its topic and among what others send."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from api.demo.check import OTHERS
from api.demo.own import FileSource

pytestmark = pytest.mark.services
OPTIONS = {"schema": None, "time_column": None, "unit": None, "select": None}
DOCUMENT = {"columns": [{"name": "c1", "type": "BIGINT"}, {"name": "c2", "type": "STRING"}], "format": "CSV", "options": {},
            "time_column": "c1", "time_unit": "s"}
COUNTERS = {"bad": 0, "late": 0, "future": 0}


@pytest.fixture
def sent(kafka, stack, fresh_name, tmp_path):
    """The source of a file of a hundred lines that are sent, and the results that they should give."""
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{1_700_000_000 + at},{'ab'[at % 2]}\n" for at in range(100)))
    topic = kafka.create(fresh_name("t"), 2).name
    stack.produce(topic, [b"before"])
    source = FileSource(stack.config.kafka_address, {}, path, {**OPTIONS, "topic": topic})
    source.prepare()
    assert "FROM LATEST" in source.query_sql(DOCUMENT)
    source.start()
    deadline = time.monotonic() + 60
    while not source.done():
        assert time.monotonic() < deadline
    table = source.read_lines(source.count.shape)._counts("lines")
    yield source, table.append_column("partial", pa.array([False] * len(table)))
    source.stop()


def test_each_line_must_be_in_the_results(sent):
    source, results = sent
    assert source.left({"positions": {"0": 51, "1": 30}}) == 20
    assert source.left({"positions": {"0": 51, "1": 50}}) == 0
    exact = source.judge(results, {**COUNTERS, "tuples": 100})
    assert (exact.difference, exact.doubt, exact.tuples) == ("", "", 100)
    assert "differ" in source.judge(results.slice(1), {**COUNTERS, "tuples": 100}).difference
    assert "arrived" in source.judge(results, {**COUNTERS, "tuples": 101}).difference
    assert (source.account(100), "arrived" in source.account(99)) == ("", True)


def test_what_others_send_is_neither_waited_for_nor_called_wrong(sent, stack):
    source, results = sent
    assert source.left({"positions": {"0": 51, "1": 50}}) == 0
    stack.produce(source.topic, [b"1700000000,c"] * 3)
    assert source.left({"positions": {"0": 51, "1": 50}}) == 0
    more = results.slice(0, 1).set_column(1, "c2", [["c"]])
    verdict = source.judge(pa.concat_tables([results, more]), {**COUNTERS, "tuples": 103})
    assert (verdict.difference, OTHERS in verdict.doubt) == ("", True)
    assert source.account(103) == ""
    assert "differ" in source.judge(results.slice(1), {**COUNTERS, "tuples": 103}).difference
