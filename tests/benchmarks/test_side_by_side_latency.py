"""From a producer's log and what became readable when, to how soon windows could be read."""

import json

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.latency_limit import Limit, Try
from benchmarks.side_by_side_latency import Load, figure, judged

BEGIN_MS = 1_700_000_000_000
LOAD = Load(400.0, 7.5, 2.5)


@pytest.fixture
def folder(tmp_path):
    """Ten windows of 1 s with two tuples each; window n can be read n ms after the watermark has passed it, 1 s behind."""
    starts = BEGIN_MS + 1000 * np.arange(10)
    table = pa.table({"sip": ["a", "b"] * 10, "type": ["dns"] * 20, "timestamp": np.repeat(starts, 2), "count": [1] * 20})
    with pa.OSFile(str(tmp_path / "counts.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    begin = BEGIN_MS + 5.0 * np.arange(2000)
    np.savez(tmp_path / "log.npz", made_ms=begin + 2, begin_ms=begin, acked_ms=begin + 8, span_ms=5.0)
    halves = [{"windows": {str(start): 1}, "ms": float(start + 2000 + late + half)}
              for late, start in enumerate(starts.tolist()) for half in (-50, 0)]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in halves))
    return tmp_path


def test_a_window_counts_when_its_last_row_can_be_read(folder):
    found = judged(folder, LOAD)[0]
    closed, tuples = found["window closed"], found["tuple closed"]
    assert (closed.samples, closed.missing, closed.p50, closed.max) == (5, 0, 5.0, 7.0)
    assert tuples.samples == 5 * 200
    assert tuples.mean == pytest.approx(5 + 1000 - 499.5, abs=1)


def test_a_window_that_was_never_whole_is_missing(folder):
    events = folder / "events.jsonl"
    events.write_text("".join(events.read_text().splitlines(keepends=True)[:-6]))
    closed = judged(folder, LOAD)[0]["window closed"]
    assert (closed.samples, closed.missing) == (4, 1)


def test_the_table_tells_each_contender(folder):
    latency = {"mars": {name: spread.json() for name, spread in judged(folder, LOAD)[0].items()}}
    document = {"rate": 40_000, "latency": latency}
    lines = figure(document)
    assert lines[4] == "| mars | 40,000 | window closed | 5 | 7 | 7 | 5 | 7 | 5 | 0 |"
    limit = Limit(6e5, 7e5, [Try(6e5, 1.0, 1.0, 0.0, 1.0)])
    shares = [{"share": share, "held": share < 0.8, "latency": latency["mars"]} for share in (0.5, 0.8)]
    own = {"mars": {"limit": limit.json(), "shares": shares}}
    lines = figure({**document, "own": own, "left_out": {"storm": "No load was held"}})[len(lines):]
    assert "| mars, 50% | 300,000 | window closed | 5 | 7 | 7 | 5 | 7 | 5 | 0 |" in lines
    assert "| mars, 80%, not held | 480,000 | window closed | 5 | 7 | 7 | 5 | 7 | 5 | 0 |" in lines
    assert lines[-2:] == ["- mars: 600,000 tuples/s are held, 700,000 are not (1 runs).",
                          "- storm is left out: No load was held."]


def test_a_load_is_held_while_closing_takes_no_longer(folder):
    trend = judged(folder, LOAD)[1]
    assert (trend.is_held, trend.rate, trend.producer_ms) == (True, 400.0, 3.0)
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    for number, event in enumerate(events):
        event["ms"] += 100 * (number // 2)
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    assert not judged(folder, LOAD)[1].is_held
