"""Campaigns add up: a journal goes on where it stopped, and the document gets the totals."""

from __future__ import annotations

import re

from click.testing import CliRunner

from tests.nemesis import journal, schedule
from tests.nemesis.__main__ import main
from tests.nemesis.faults import every, named


def test_a_campaign_goes_on_where_it_stopped(tmp_path):
    first = journal.Journal(tmp_path, 5)
    first.add("fault", kinds=["Flushed"], recovery_s=1.5, wrong=[])
    with first.path.open("a") as file:
        file.write('{"event": "fault", "broken o\n')
    assert journal.Journal(tmp_path, 5).next_index() == 1
    assert journal.Journal(tmp_path, 6).next_index() == 0


def test_totals_by_version_stand_between_the_marks(tmp_path):
    made = journal.Journal(tmp_path, 5)
    made.add("fault", kinds=["Flushed"], recovery_s=1.5, wrong=[])
    made.add("fault", kinds=["Flushed", "MapperKilled"], recovery_s=9.5, wrong=[])
    made.add("round", seconds=90, tuples=1_000, rows=10, reads=4, wrong=["a row is missing"])
    made.code = "another"
    made.add("round", seconds=30, tuples=500, rows=5, reads=4, wrong=[])
    hunted = journal.Journal(tmp_path, 5, "bugs")
    hunted.add("hunt", bug="a_bug", shown_by="", line="", seconds=30.0, without="")
    hunted.add("hunt", bug="a_bug", shown_by="a torn window", line="changed", seconds=4.4, without="")
    document = tmp_path / "document.md"
    document.write_text("".join(f"before\n<!-- {part} -->\nold\n<!-- end of {part} -->\n" for part in journal.PARTS))
    journal.report(tmp_path, document)
    text = document.read_text()
    assert text.startswith("before\n<!-- campaigns -->\n| code")
    assert text.endswith("| a_bug | a torn window | 4 s | exact |\n<!-- end of planted bugs -->\n")
    assert "| another | 0 | 500 | 5 | 4 | 0 | 0 | 0 |" in text
    assert "| 2 | 1,000 | 10 | 4 | 1 | 2 | 1 |" in text
    assert "| Flushed | 1 | 1 | 1.5 s |" in text
    assert "nothing" not in text
    assert "old" not in text


def test_a_kind_that_is_alone_comes_alone():
    kinds, _ = schedule.possible(frozenset(), ("Flushed",))
    assert [schedule.choose(3, index, kinds) for index in range(4)] == [[kinds["Flushed"]]] * 4


def test_each_kind_comes_once_and_then_pairs():
    kinds, lacking = schedule.possible(frozenset())
    assert set(lacking) == {name for name, kind in every().items() if kind.needs}
    once = [schedule.choose(3, index, kinds) for index in range(len(kinds))]
    assert {kind.__name__ for [kind] in once} == set(kinds)
    later = [schedule.choose(3, index, kinds) for index in range(len(kinds), len(kinds) + 20)]
    assert {len(chosen) for chosen in later} == {1, 2}
    assert later == [schedule.choose(3, index, kinds) for index in range(len(kinds), len(kinds) + 20)]
    assert all(len(set(chosen)) == len(chosen) for chosen in later)


def test_a_kind_that_there_is_not_is_refused(tmp_path):
    told = CliRunner().invoke(main, ["--only", "Flushed,Flooded", "--folder", str(tmp_path)])
    assert told.exit_code == 2
    assert "no fault is named Flooded; there are" in told.output


def test_each_fault_has_a_number_that_the_document_has():
    text = (journal.ROOT / "docs" / "reliability.md").read_text()
    ranges = [(int(first), int(last or first)) for first, last in re.findall(r"\bN(\d+)(?: to N(\d+))?", text)]
    known = {f"N{number}" for first, last in ranges for number in range(first, last + 1)}
    assert [kind.__name__ for kind in (*every().values(), *named.kinds()) if kind.number not in known] == []
