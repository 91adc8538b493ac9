"""Two runs: what differs is told apart from what only varies; one run: its table and its picture."""

from benchmarks.compare import compare, warnings
from benchmarks.side_by_side_table import figure, picture


def run(*speeds: float, wrong: int = 0, contender: str = "mars", tuples: int = 1000) -> dict:
    turns = [{"contender": contender, "tuples_per_s": speed, "cpu_s_per_million": 1e6 / speed, "peak_bytes": 100,
              "exactness": {"wrong": wrong}} for speed in speeds]
    return {"tuples": tuples, "turns": turns}


def verdicts(before: dict, after: dict) -> dict[str, tuple[str, str]]:
    return {row[1]: row[4:] for row in compare(before, after)}


def test_ranges_that_do_not_touch_are_a_difference():
    found = verdicts(run(1e6, 1.1e6, 1.2e6), run(2e6, 2.2e6, 2.4e6))
    assert found == {"tuples/s": ("2.00", "better"), "CPU s per M tuples": ("0.50", "better"),
                     "peak bytes": ("1.00", "not to be told apart")}
    assert verdicts(run(2e6, 2.2e6), run(1e6, 1.1e6))["tuples/s"] == ("0.50", "worse")


def test_ranges_that_touch_and_single_turns_are_none():
    assert verdicts(run(1e6, 2e6), run(1.9e6, 3e6))["tuples/s"][1] == "not to be told apart"
    assert verdicts(run(1e6), run(3e6))["tuples/s"][1] == "one turn says nothing"


def test_only_contenders_of_both_runs_are_compared():
    assert compare(run(1e6, 1e6), run(1e6, 1e6, contender="spark")) == []


def test_what_makes_runs_incomparable_is_told():
    assert warnings(run(1e6), run(1e6)) == []
    assert warnings(run(1e6), run(1e6, tuples=5, wrong=3)) == ["tuples: 1000 and 5", "B: an answer of mars was wrong"]


def test_the_table_tells_speed_ratio_and_what_was_lost():
    mars, storm = run(2e6, 4e6, 3e6), run(1e6, contender="storm", wrong=2)
    for turn in (*mars["turns"], *storm["turns"]):
        turn.update(tuples=1000, broker_cpu_s=0.001)
        turn["exactness"].update(lost=5, doubled=1)
    about = {name: {"title": name.title(), "guarantee": "exactly once"} for name in ("mars", "storm")}
    document = {"turns": mars["turns"] + storm["turns"], "contenders": about, "repeat": 3,
                "left_out": {"quix": "no wheel\nfor this Python"}}
    lines = "\n".join(figure(document)).splitlines()
    first, second = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:4])
    assert first == ["Mars", "exactly once", "3.000 (2.000 to 4.000)", "1.0", "0.33", "1.0", "0", "1.00", "1,000", "exact"]
    assert second[2:6] == ["1.000 (1.000 to 1.000)", "3.0", "1.00", "3.0"]
    assert second[-1] == "wrong in 1 of 1 turns: 5 lost, 1 doubled"
    assert lines[-1] == "quix is left out: no wheel"
    assert picture(document).count("<rect") == 3
