"""A query is computed by code of the versions that it was made with, and by no other."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from mars import computing
from mars.model.expressions import Call, Column
from mars.model.plan import QueryPlan
from sql.check.compile import compile_select
from sql.read.parse import parse
from tests.mapper.parsing import stream
from tests.mars import answers
from tests.plans import changed

STREAM = stream({"t": "BIGINT", "k": "STRING", "x": "DOUBLE"})
KEPT = json.loads(Path(__file__).with_name("answers.json").read_text())
AS_IT_WAS = ("If they were meant to change, raise the part's number in VERSIONS of mars/computing.py, and add the new "
             "digest beside the old ones in tests/mars/answers.json: then the new code refuses queries that use it. If they "
             "were not meant to, the change is a defect.")



def plan(select: str) -> QueryPlan:
    return compile_select(parse(f"CREATE QUERY q AS {select}").select, STREAM, True)


SELECT = "SELECT k, count(*), max(exp(x)) FROM s WHERE x > 0.5 GROUP BY k WINDOWING 1 s"


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return answers.digests()


def test_every_part_has_answers_and_a_version(found):
    assert set(found) == set(computing.VERSIONS) == set(KEPT)
    names = Counter([*computing.PARTS, *answers.SCALARS, *answers.AGGREGATES])
    assert {name for name, count in names.items() if count > 1} == set()


def test_no_part_changes_its_answers_under_the_same_number(found):
    changed = [part for part, version in computing.VERSIONS.items() if KEPT[part].get(str(version)) != found[part]]
    assert not changed, f"{', '.join(changed)}: other answers than before. {AS_IT_WAS}"


def test_a_number_stands_for_one_code(found):
    for part, digests in KEPT.items():
        assert len(set(digests.values())) == len(digests), part


def test_a_plan_has_the_versions_of_what_it_uses():
    made = plan(SELECT)
    assert dict(made.versions) == {part: computing.VERSIONS[part] for part in (
        "csv", "read BIGINT", "read DOUBLE", "read STRING", "window", "group", "hash", "count", "max", "exp", "gt")}
    assert QueryPlan.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert computing.differences(made, STREAM) == []
    assert computing.refusal(made, STREAM) == ""


def test_what_having_and_filter_and_the_shown_columns_call_counts_too():
    made = plan("SELECT upper(k), sum(x) FILTER (WHERE abs(x) > 1) FROM s GROUP BY k WINDOWING 1 s HAVING sqrt(sum(x)) > 2")
    assert {"upper", "abs", "sqrt", "sum"} <= dict(made.versions).keys()


@pytest.mark.parametrize("part", ["csv", "hash", "exp", "max"])
def test_another_version_is_refused_with_the_part_and_both_versions(part, monkeypatch):
    made = plan(SELECT)
    monkeypatch.setitem(computing.VERSIONS, part, 7)
    assert computing.differences(made, STREAM) == [f"{part} of version 1, where this Mars has 7"]
    assert computing.WAY_OUT in computing.refusal(made, STREAM)


def test_an_older_mars_refuses_parts_that_it_does_not_know():
    made = plan(SELECT)
    newer = replace(made, versions=(*made.versions, ("gzip", 1)))
    assert computing.differences(newer, STREAM) == ["gzip of version 1, where this Mars has none"]


def test_a_plan_from_before_was_made_with_the_first_versions(monkeypatch):
    raw = plan("SELECT k, count(*) FROM s GROUP BY k WINDOWING 1 s").to_json()
    del raw["versions"]
    older = QueryPlan.from_json(raw)
    assert older.versions is None
    assert QueryPlan.from_json(older.to_json()) == older
    assert computing.differences(older, STREAM) == []
    logarithm = Call("ln", (Column("x", "DOUBLE"),), "DOUBLE")
    assert computing.differences(changed(older, where=logarithm), STREAM) == ["ln of version 0, where this Mars has 1"]
    monkeypatch.setitem(computing.VERSIONS, "read STRING", 2)
    assert computing.differences(older, STREAM) == ["read STRING of version 1, where this Mars has 2"]
