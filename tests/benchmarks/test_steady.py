"""What a steady load costs: its sums, two checkouts in turns, and a short run of the whole."""

import json
import os
from dataclasses import asdict
from types import SimpleNamespace

import pytest

from benchmarks import compare, turns
from benchmarks.compare import compare_turns
from benchmarks.latency_bench import READERS, Bench
from benchmarks.latency_figures import Load
from benchmarks.steady import Steady, describe, measure, with_own
from benchmarks.turns import Side, alternate
from mars.errors import ConfigurationError, MarsError

CORES = {"kafka": 0.4, "redis": 0.1, "zookeeper": 0.05, "mappers": 0.2, "reducers": 0.3, "driver": 0.01, "producer": 0.6}


def answer(mappers: float, p50: float | None = None) -> dict:
    cores = with_own({**CORES, "mappers": mappers})
    return {"idle": with_own(CORES), "loaded": cores, "freshness": {} if p50 is None else {"p50": p50}}


def test_own_is_what_mars_itself_uses():
    found = with_own(CORES)
    assert list(found) == ["mappers", "reducers", "driver", "own", "redis", "zookeeper", "kafka", "producer"]
    assert found["own"] == 0.51


def test_turns_are_compared_figure_by_figure():
    rows = {row[0]: row[1:] for row in compare_turns("steady", [answer(0.4), answer(0.5)], [answer(0.2), answer(0.3, 9.0)])}
    assert rows["loaded mappers"] == ("0.45", "0.25", "0.56", "better")
    assert rows["idle mappers"] == ("0.2", "0.2", "1.00", "not to be told apart")
    assert not [name for name in rows if name.startswith("freshness")], "one turn of one side alone has it"


def test_of_throughput_more_is_better_and_of_its_cost_less():
    slow, fast = ({"tuples_per_s": speed, "cpu_s_per_million": {"mappers": cpu, "kafka": 1.0}, "peak_megabytes": {}}
                  for speed, cpu in ((1e6, 0.4), (2e6, 0.2)))
    rows = {row[0]: row[-1] for row in compare_turns("throughput", [slow, slow], [fast, fast])}
    assert rows == {"tuples per s": "better", "cpu s per million mappers": "better",
                    "cpu s per million all but kafka": "better", "cpu s per million kafka": "not to be told apart"}


def test_few_turns_say_little():
    assert "says nothing" in compare.chance(1)
    assert "1 in 3 is" in compare.chance(2)
    assert "1 in 126 is" in compare.chance(5)


def test_the_side_that_begins_changes():
    assert "".join(turns.order("AB", 3)) == "ABBAAB"


def test_each_turn_runs_the_checkouts_code_with_the_benchmarks_from_here(tmp_path):
    other = tmp_path / "other"
    (other / "mars").mkdir(parents=True)
    (other / "mars" / "__init__.py").write_text("")
    (tmp_path / "work").mkdir()
    side = Side.of("before", other, tmp_path / "work", own=False)
    told = side.run("-c", "import mars, benchmarks.generator as g; print(mars.__file__, g.__name__)").stdout.split()
    assert told == [str(other / "mars" / "__init__.py"), "benchmarks.generator"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigurationError, match="no checkout"):
        Side.of("none", tmp_path / "empty", tmp_path / "work", own=True)


def test_a_turn_that_fails_ends_the_comparison(monkeypatch):
    done = {"A": (0, json.dumps(answer(0.1))), "B": (1, "")}
    sides = tuple(SimpleNamespace(label=label, run=lambda *_, label=label: SimpleNamespace(
        returncode=done[label][0], stdout=done[label][1])) for label in "AB")
    with pytest.raises(MarsError, match="A turn of B failed"):
        alternate(sides, "steady", [], 2)


def test_only_benchmarks_that_tell_their_figures_are_run_in_turns(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["compare", "--before", ".", "roofline"])
    with pytest.raises(SystemExit):
        compare.main()
    assert "throughput or steady" in capsys.readouterr().err


@pytest.mark.services
@pytest.mark.e2e
@pytest.mark.timeout(240)
@pytest.mark.skipif(not os.environ.get("LONG_TESTS"), reason="takes half a minute: set LONG_TESTS=1")
def test_a_short_load_tells_its_cost(running, tmp_path):
    run, config = running
    with Bench(run, config, tmp_path, partitions=2) as bench:
        found = measure(bench, Load("short", 2_000, 6.0), idle_s=1.0, kinds=READERS[:1])
    assert found.exact, found.difference
    assert found.partitions == 2
    assert found.loaded["own"] > found.idle["own"] >= 0  # the system counts in hundredths: a second of idling may be none
    assert set(found.loaded) == set(with_own({**CORES, "readers": 0.0}))
    assert found.freshness["p50"] > 0
    assert "EXACT" in describe(found)
    assert Steady(**json.loads(json.dumps(asdict(found)))) == found
