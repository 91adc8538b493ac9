"""The comparison, short: each takes the same topic, is exact, and what it costs is told."""

import json
import os
import re

import pytest

from benchmarks import side_by_side
from benchmarks.contenders.entrants import chosen
from benchmarks.side_by_side import Comparison, compare, document, need_room
from benchmarks.side_by_side_table import by_contender, describe
from mars.errors import MarsError


@pytest.mark.services
@pytest.mark.e2e
@pytest.mark.timeout(240)
@pytest.mark.skipif(not os.environ.get("LONG_TESTS"), reason="starts more instances: set LONG_TESTS=1")
def test_a_short_comparison_is_exact_and_tells_what_each_costs(tmp_path):
    names = ["mars", "spark"]
    contenders = chosen(names)
    found = compare(contenders, tuples=200_000, warm=0, repeat=1, seed=5, folder=tmp_path)
    assert found.left_out == {}
    answer = document(found, contenders, {"tuples": 200_000, "repeat": 1})
    turns = by_contender(answer)
    assert list(turns) == names
    for turn in found.turns:
        assert turn.exactness.exact, turn.exactness
        assert turn.exactness.groups > 1_000
        assert turn.cpu_s > 0.1
        assert turn.peak_bytes > 100e6
        assert 0 < turn.broker_cpu_s < turn.seconds * 4
    assert len(re.findall(r"\| exact +\|", describe(answer))) == len(names)
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(("mars", "spark"))] == []


def test_the_file_tells_the_command_that_made_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(side_by_side, "compare", lambda *_: Comparison([], {}))
    file = tmp_path / "found.json"
    monkeypatch.setattr("sys.argv", ["benchmarks/side_by_side.py", "--only", "mars", "--repeat", "1", "--json", str(file)])
    with pytest.raises(SystemExit) as ended:
        side_by_side.main()
    assert ended.value.code == 0
    assert json.loads(file.read_text())["command"] == f"benchmarks.side_by_side --only mars --repeat 1 --json {file}"


def test_an_unknown_contender_is_refused():
    with pytest.raises(ValueError, match="no contender is named strom"):
        chosen(["mars", "strom"])


def test_a_full_disk_is_told_before_anything_starts(tmp_path):
    with pytest.raises(MarsError, match="Not enough room"):
        need_room(tmp_path, 10 ** 13)
