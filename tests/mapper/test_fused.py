"""Two ways of reading give the same: the kernel and mapper/parse.py for what it leaves aside, or mapper/parse.py alone."""

from __future__ import annotations

import os

import numpy as np
import pytest

from mapper import fused, fused_cells, fused_dictionaries, fused_numbers
from mapper.aggregate import aggregate_task
from mapper.batch import ParsedBatch, TaskResult
from mapper.fused import FusedReader, can_read
from mapper.fused_batch import FusedBatches, Rest
from mapper.fused_cells import can_count
from mapper.letters import letters_of
from mapper.parse import Parser
from mapper.records import Records
from mapper.steps import Steps
from mapper.timing import Limits, judge
from mars.algebra import cells
from tests.mapper.fused_cases import FUTURE_LIMIT_MS, Case, case_of, plan_of, records_of
from tests.plans import changed

SEEDS, MESSAGES = (20_000, 150) if os.environ.get("LONG_TESTS") else (200, 120)
if os.environ.get("NUMBA_BOUNDSCHECK"):
    SEEDS = min(SEEDS, 60)  # each takes several times as long, and a leak shows in few
GROUPS = 10
OWN_MS = (1_000, 600_000)
LIMITS = Limits(FUTURE_LIMIT_MS, OWN_MS)
PARTITION = 3


class Alone:
    """What mapper/parse.py alone makes of records."""

    def __init__(self, case: Case, records: Records) -> None:
        self.case, self.parser, self.messages = case, Parser(case.stream, case.wanted), records.messages()
        self.batch = judge(case.stream, self.parser.parse(self.messages), self.messages, LIMITS)

    def same_letters(self, rest: Rest | None) -> bool:
        """Are the dead letters of the rest those of the whole?"""
        ours = None if rest is None else letters_of(self.parser, PARTITION, rest.messages, rest.batch)
        theirs = letters_of(self.parser, PARTITION, self.messages, self.batch)
        return ours is theirs is None or ours.equals(theirs)

    def result(self, plan) -> TaskResult:
        """One query's cells."""
        return Steps().result("q", aggregate_task(plan, self.case.stream, self.batch, PARTITION))


def fused_batches(case: Case) -> FusedBatches:
    """The other way."""
    assert can_read(case.stream, case.wanted)
    reader = FusedReader(case.stream, case.wanted, LIMITS)
    return FusedBatches(reader, Parser(case.stream, case.wanted), Steps())


def told(batch: ParsedBatch) -> dict:
    """All that a batch says, by plain values."""
    def plain(reasons: np.ndarray | None) -> list:
        return [0] * len(batch) if reasons is None else reasons.tolist()

    return {
        "columns": {name: column.to_pylist() for name, column in batch.columns.items()},
        "types": {name: str(column.type) for name, column in batch.columns.items()},
        "event_time": batch.event_time.tolist(), "offset": batch.offset.tolist(), "line": batch.line.tolist(),
        "bad": {name: plain(batch.bad.get(name)) for name in batch.columns}, "tuple_bad": plain(batch.tuple_bad),
        "judged": {limit: (plain(found.future), found.max_event_time) for limit, found in batch.judged.items()},
        "dtypes": [array.dtype for array in (batch.event_time, batch.offset, batch.line)]}


def opened(result: TaskResult) -> tuple:
    """The same of a query's cells, whose order says nothing."""
    parts = [cells.decode(part) if part else None for part in result.parts]
    rows = [[] if part is None else sorted(map(repr, part.to_pylist())) for part in parts]
    schemas = {part.schema for part in parts if part is not None}
    return rows, schemas, result.counts, result.bad_reasons, result.max_event_time


@pytest.fixture
def narrow(monkeypatch):
    """All that may be unusual is taken aside, and there is little room at first: everything grows."""
    monkeypatch.setattr(fused, "ASIDE_SHARE", 1.0)
    monkeypatch.setattr(fused, "BLOCK_TUPLES", 7)
    monkeypatch.setattr(fused_dictionaries, "FIRST_HEADS", 1)
    monkeypatch.setattr(fused_dictionaries, "FIRST_KEYS", 8)
    monkeypatch.setattr(fused_numbers, "FIRST_ROOM", 1)
    monkeypatch.setattr(fused_numbers, "DIRECT_BITS", 5)


@pytest.mark.parametrize("format_", ["CSV", "JSON"])
@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.timeout(7_200)
def test_both_ways_say_the_same(group, format_, narrow):
    unusual = 0
    for seed in range(group, SEEDS, GROUPS):
        case = case_of(seed, format_)
        batches = fused_batches(case)
        for _ in range(2):  # the second time with keys that are known
            records = records_of(case, MESSAGES)
            alone = Alone(case, records)
            batch, rest = batches.parse(records)
            assert told(batch) == told(alone.batch), seed
            assert alone.same_letters(rest), seed
            unusual += len(rest.messages) if rest else 0
    assert unusual, "no seed held anything unusual"


@pytest.mark.parametrize("format_", ["CSV", "JSON"])
@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.timeout(7_200)
def test_both_ways_make_the_same_cells(group, format_, narrow):
    many = unusual = 0
    for seed in range(group, SEEDS, GROUPS):
        case = case_of(seed, format_)
        batches = fused_batches(case)
        plans = {f"q{i}": changed(plan_of(case), max_ahead_ms=case.rng.choice((None, *OWN_MS)))
                 for i in range(case.rng.randrange(1, 4))}
        assert all(can_count(plan, case.stream) for plan in plans.values())
        for _ in range(2):
            records = records_of(case, MESSAGES)
            alone = Alone(case, records)
            counted, rest = batches.count(records, plans, PARTITION)
            assert (len(counted), counted.max_event_time) == (len(alone.batch), alone.batch.max_event_time), seed
            assert alone.same_letters(rest), seed
            for query, plan in plans.items():
                assert opened(counted.results[query]) == opened(alone.result(plan)), (seed, plan)
            many += len(counted) > 20 * fused.BLOCK_TUPLES
            unusual += len(rest.messages) if rest else 0
    assert many, "no seed held many tuples"
    assert unusual, "no seed held anything unusual"


@pytest.mark.parametrize("format_", ["CSV", "JSON"])
def test_plain_rows_are_never_left_aside(format_, narrow):
    plain = 0
    for seed in range(400):
        case = case_of(seed, format_)
        if case.nasty == 0:
            records = records_of(case, 60)
            taken = FusedReader(case.stream, case.wanted, LIMITS).read(records)
            batch = Alone(case, records).batch
            future = batch.judged[min(OWN_MS)].future
            future = set() if future is None else set(batch.offset[future].tolist())
            assert set(taken.aside.offset.tolist()) == future, seed
            plain += taken.tuples
    assert plain > 1_000


def test_cells_that_need_too_long_codes_are_left_to_the_tuples(narrow, monkeypatch):
    monkeypatch.setattr(fused_cells, "CODE_BITS_MAX", 3)
    case = next(case for case in map(case_of, range(99)) if case.nasty == 0 and len(case.wanted) > 3)
    plan = next(plan for plan in (plan_of(case) for _ in range(99)) if len(plan.aggregation.keys) > 1)
    batches, records = fused_batches(case), max((records_of(case, 200) for _ in range(5)), key=lambda some: some.count_max)
    assert batches.count(records, {"q": plan}, PARTITION) is None
    assert told(batches.parse(records)[0]) == told(Alone(case, records).batch)
