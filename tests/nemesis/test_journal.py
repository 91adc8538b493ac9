"""Campaigns add up: a journal goes on where it stopped, and the document gets the totals."""

from __future__ import annotations

import re

from click.testing import CliRunner

from tests.nemesis import journal, schedule, totals
from tests.nemesis.__main__ import main
from tests.nemesis.faults import every, named


def test_a_campaign_goes_on_where_it_stopped(tmp_path):
    first = journal.Journal(tmp_path, 5)
    first.add("fault", kinds=["Flushed"], recovery_s=1.5, wrong=[])
    with first.path.open("a") as file:
        file.write('{"event": "fault", "broken o\n')
    assert journal.Journal(tmp_path, 5).next_index() == 1
    assert journal.Journal(tmp_path, 6).next_index() == 0


def noted(folder):
    """A journal with two versions of the code, and one of hunts."""
    made = journal.Journal(folder, 5)
    made.add("fault", kinds=["Flushed"], recovery_s=1.5, wrong=[])
    made.add("fault", kinds=["Flushed", "MapperKilled"], recovery_s=9.5, wrong=[])
    made.add("named", kind="TopicGone", seconds=10.0, tuples=5, rows=1, wrong=[])
    made.add("round", seconds=90, tuples=1_000, rows=10, reads=4, wrong=["a row is missing"])
    made.code = "another"
    made.add("fault", kinds=["MapperKilled"], inflicted=[True], recovery_s=2.5, wrong=[])
    made.add("fault", kinds=["MapperKilled"], inflicted=[False], recovery_s=7.5, wrong=[])
    made.add("fault", kinds=["Flushed", "MapperKilled"], inflicted=[False, False], recovery_s=9.5, wrong=[])
    made.add("round", seconds=30, tuples=500, rows=5, reads=4, wrong=[])
    hunted = journal.Journal(folder, 5, "bugs")
    hunted.add("hunt", bug="a_bug", shown_by="", line="", seconds=30.0, without="")
    hunted.add("hunt", bug="a_bug", shown_by="a torn window", line="changed", seconds=4.4, without="")
    return made


def test_totals_by_version_stand_between_the_marks(tmp_path):
    noted(tmp_path)
    document = tmp_path / "document.md"
    document.write_text("".join(f"before\n<!-- {part} -->\nold\n<!-- end of {part} -->\n" for part in totals.PARTS))
    totals.report(tmp_path, tmp_path / "totals.jsonl", document)
    text = document.read_text()
    assert text.startswith("before\n<!-- campaigns -->\n| code")
    assert text.endswith("| a_bug | a torn window | 4 s | exact |\n<!-- end of planted bugs -->\n")
    assert "| another | 0 | 500 | 5 | 4 | 1 | 0 | 0 |" in text
    assert "| 2 | 1,005 | 11 | 4 | 2 | 2 | 1 |" in text
    assert "| all | 2 | 1,505 | 16 | 8 | 3 | 2 | 1 |" in text
    assert "| single one | on another |" in text.replace("longest recovery of a ", "")
    assert "| fault | single | in a pair | not inflicted | longest" in text
    assert "| Flushed | 1 | 1 | 1 | 1.5 s | - |" in text
    assert "| MapperKilled | 1 | 1 | 2 | 2.5 s | 2.5 s |" in text
    assert "nothing" not in text
    assert "old" not in text


def test_totals_outlive_their_journals_and_nothing_counts_twice(tmp_path):
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "totals.jsonl"
    made = noted(here)
    totals.gather(here, file)
    made.add("round", seconds=30, tuples=500, rows=5, reads=4, wrong=[])
    totals.gather(here, file)
    totals.gather(here, file)
    totals.gather(there, file)
    found, hunts = totals.load(file)
    assert [(one.seconds, one.tuples, one.single, one.paired) for one in found.values()] == [
        (90, 1_005, 2, 2), (60, 1_000, 1, 0)]
    assert [hunt.shown_by for hunt in hunts.values()] == ["a torn window"]
    journal.Journal(there, 5).add("round", at="2027-01-01T00:00:00Z", seconds=60, tuples=7, rows=5, reads=4, wrong=[])
    totals.gather(there, file)
    assert sum(one.tuples for one in totals.load(file)[0].values()) == 2_012


def test_totals_from_before_a_fault_told_whether_it_was_inflicted_are_read(tmp_path):
    file = tmp_path / "totals.jsonl"
    file.write_text('{"journal": "5 of then", "code": "abc", "single": 2, "kinds": {"Flushed": [2, 1, 3.5]}}\n')
    found, _ = totals.load(file)
    assert found["5 of then", "abc"].kinds == {"Flushed": totals.Kind(2, 1, 3.5, 0)}
    found["5 of then", "abc"].kinds["Flushed"].add(totals.Kind(missed=1))
    totals.save(file, found, {})
    assert '"Flushed": [2, 1, 3.5, 1]' in file.read_text()
    assert totals.load(file)[0] == found


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
    assert [kind.__name__ for kind in (*every().values(), *named.kinds(3)) if kind.number not in known] == []
