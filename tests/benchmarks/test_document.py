"""docs/benchmarks.md is what its files say, and every figure that it names can be made."""

import json
import re
from dataclasses import asdict

import pytest

from benchmarks.clusters import entrants as clusters
from benchmarks.contenders import entrants as contenders
from benchmarks.document import DOCS, FIGURES, JOINED, block, limit, written
from benchmarks.document_goals import Goal, goals
from benchmarks.document_joined import like_for_like, paper
from benchmarks.latency_limit import Limit, Try
from benchmarks.scaling import CURVES
from benchmarks.scaling_run import Result
from benchmarks.steps import Step

TEXT = (DOCS / "benchmarks.md").read_text()


def test_the_document_is_what_its_files_say():
    assert written(TEXT, DOCS / "benchmarks") == TEXT, "run: python -m benchmarks.document"


@pytest.mark.parametrize("name", ["accuracy", "side_by_side"])
def test_a_comparison_tells_of_nobody_who_was_not_asked_for(name):
    document = json.loads((DOCS / "benchmarks" / f"{name}.json").read_text())
    assert {*document["left_out"], *(turn["contender"] for turn in document["turns"])} <= document["contenders"].keys()


@pytest.mark.parametrize(("name", "chosen"), [("accuracy", clusters.chosen), ("side_by_side", contenders.chosen)])
def test_each_promise_is_what_the_contender_says_now(name, chosen):
    document = json.loads((DOCS / "benchmarks" / f"{name}.json").read_text())
    said = {key: about["guarantee"] for key, about in document["contenders"].items()}
    assert said == {each.name: each.guarantee for each in chosen(list(said))}


def test_every_figure_has_its_place_and_every_curve_its_figure():
    assert set(re.findall(r"<!-- (\w+) -->", TEXT)) == {*FIGURES, *JOINED}
    assert set(CURVES) <= set(FIGURES)


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_a_figure_tells_its_command_and_its_numbers(name, tmp_path):
    cpu = dict.fromkeys(("mappers", "reducers", "redis", "zookeeper", "driver", "kafka"), 0.125)
    point = asdict(Result(5, "5", 10_000_000, 4.0, 2_500_000, 370.0, cpu, dict.fromkeys(cpu, 200), 7, True, "",
                          [(0.0, 1.0, 2.0)]))
    spread = {"samples": 3, "missing": 0, "mean": 20.0, "p50": 10.0, "p95": 30.0, "p99": 370.0, "max": 50.0}
    turn = {"contender": "mars", "tuples": 10_000_000, "tuples_per_s": 2_500_000.0, "cpu_s_per_million": 370.0,
            "broker_cpu_s": 1.0, "peak_bytes": 1, "exactness": {"wrong": 0, "lost": 0, "doubled": 0}, "rate": 1,
            "cuts": [{"reduced_s": 1.0, "caught_up_s": 1.0, "behind_s": 1.0}], "all_read_s": None}
    document = {"turns": [turn], "rate": 4e4, "latency": {"mars": {"window closed": spread}},
                "left_out": {}, "repeat": 1, "contenders": {"mars": {"title": "Mars", "guarantee": "g"}},
                **accuracy_and_load(),
                "machine": {"cores": 2, "processor": "P"}, "title": "T", "axis": "A", "model": "M", "points": [point],
                "steps": [asdict(Step("a", 1.0, 370.0, "w"))], "burst": 4e6,
                "limit": Limit(1e6, 1.1e6, [Try(1e6, 370.0, 371.0, 0.0, 2.0)]).json(),
                "loads": [{"name": "share_50", "rate": 1e5, "cores": {"x": 0.5}, "freshness": spread,
                           "window_closed": spread, "tuple_closed": spread}]}
    (tmp_path / f"{name}.json").write_text(json.dumps(document))
    text = block(name, FIGURES[name], tmp_path)
    assert f"`python -m {FIGURES[name].command}`" in text
    assert "370" in text
    (tmp_path / f"{name}.json").write_text(json.dumps({**document, "command": "benchmarks.other --way"}))
    assert "`python -m benchmarks.other --way`" in block(name, FIGURES[name], tmp_path)
    assert ("2.50" in text) == (name not in ("roofline", "latency", "side_by_side_latency", "accuracy"))


def accuracy_and_load() -> dict:
    """What the documents of these two have beside the others'."""
    growth = {"part": "mappers", "first_mb": 370.0, "last_mb": 370.0, "greatest_mb": 370.0, "mb_a_minute": 0.0}
    memory = dict.fromkeys(("mappers", "reducers", "redis"), 370.0)
    return {"cuts": 1, "cut_s": 370.0, "way": "pause",
            "limits": [{"queries": 1, "tuples_per_s": 2_500_000, "created_s": 1.0, "memory_mb": memory, "wrong": []}],
            "twice": {"queries": 1, "rate": 9, "seconds": 9.0, "tuples": 9, "growths": [growth], "behind_most": 9,
                      "read_after_s": 9.0, "memory_after_mb": memory, "wrong": []},
            "restart": {"rate": 9, "down_s": 1.0, "up_s": 1.0, "resumed_s": 1.0, "caught_up_s": 1.0, "wrong": []}}


def test_the_limit_is_told_with_how_it_was_found_or_that_it_was_given():
    tries = [Try(5e5, 200.0, 210.0, 0.001, 2.0), Try(7e5, 900.0, float("inf"), float("inf"), 2.0)]
    text = "\n".join(limit(Limit.load(Limit(5e5, 7e5, tries).json()), 9e5))
    assert "500,000 tuples/s are held, 700,000 are not (2 runs). Without readers a burst of 900,000 tuples/s" in text
    assert "| 500,000 | 200 | 210 | 2 | 0 | yes |" in text
    assert "| 700,000 | 900 | inf | 2 | inf | no |" in text
    assert limit(Limit(5e5, None), None)[0] == "Shares are of 500,000 tuples/s."


def few_and_many(folder) -> None:
    """Mars with 20 million tuples in 5 s beside one that takes 1 million in 10 s; Mars takes 0.4 s for a million."""
    parts = dict.fromkeys(("mappers", "reducers", "redis", "zookeeper", "driver", "kafka"), 0.1)
    points = [asdict(Result(n, f"{n:,}", n, seconds, n / seconds, n * 148e-6 / seconds, parts, {}, 7, True, "", []))
              for n, seconds in ((20_000_000, 5.0), (1_000_000, 0.4))]
    turns = [{"contender": name, "tuples": n, "tuples_per_s": n / seconds, "cpu_s_per_million": 0.5}
             for name, n, seconds in (("mars", 20_000_000, 5.0), ("spark", 20_000_000, 40.0), ("slow", 1_000_000, 10.0))]
    about = {name: {"title": name.title(), "guarantee": "g"} for name in ("mars", "spark", "slow")}
    (folder / "tuples.json").write_text(json.dumps({"axis": "tuples", "points": points}))
    (folder / "side_by_side.json").write_text(json.dumps({"tuples": 20_000_000, "turns": turns, "contenders": about}))


def test_ratios_to_those_that_take_fewer_tuples_are_told_like_for_like_too(tmp_path):
    assert "Not measured yet" in like_for_like(tmp_path)
    few_and_many(tmp_path)
    said = like_for_like(tmp_path)
    assert "over 1,000,000 tuples Mars, warm too, did 2.50 M a second in" in said
    assert "which is 25.0 times the speed of Slow over 1,000,000." in said


def test_the_papers_binary_megabytes_stand_beside_binary_ones(tmp_path):
    few_and_many(tmp_path)
    assert "| 179 MB/s (1.25 M tuples/s), the broker elsewhere | 565 MB/s (4.00 M tuples/s) on" in paper(tmp_path)
    assert "| 1.46 and 2.82 times their throughput | 8.0 times Spark |" in paper(tmp_path)


def test_what_is_reached_is_told_beside_what_was_asked(tmp_path):
    few_and_many(tmp_path)
    rows = {row.split(" | ")[0]: row for row in goals(tmp_path).splitlines()}
    assert rows["| M tuples/s, CSV, to readable results"] == "| M tuples/s, CSV, to readable results | 3 | 4 | 4 | goal |"
    assert rows["| times Spark Structured Streaming"].endswith("| 12 | 15 | 8 | falls short |")
    assert rows["| ms of freshness at half load, p50"].endswith("| at most 150 |  | not measured yet |  |")


@pytest.mark.parametrize(("value", "told"), [(0.42, "goal"), (0.5, "floor"), (0.7, "falls short")])
def test_what_must_stay_small_reaches_its_floor_below_it(tmp_path, value, told):
    assert Goal("a", 0.6, 0.43, lambda _: value, most=True).row(tmp_path).endswith(f"| {value} | {told} |")


def test_a_wrong_point_is_told():
    point = asdict(Result(5, "5", 10, 4.0, 2_500_000, 370.0, dict.fromkeys(
        ("mappers", "reducers", "redis", "zookeeper", "driver", "kafka"), 0.1), {"mappers": 1, "reducers": 1}, 7, False,
        "one differs", []))
    assert "NOT EXACT" in "\n".join(FIGURES["codec"].render({"axis": "a", "points": [point]}))
