"""Two ways of reading give the same: the kernel and mapper/parse.py for what it leaves aside, or mapper/parse.py alone."""

from __future__ import annotations

import os

import numpy as np
import pytest

from mapper import fused, fused_dictionaries
from mapper.batch import ParsedBatch
from mapper.fused import FusedReader, can_read
from mapper.fused_batch import FusedReaders
from mapper.letters import letters_of
from mapper.parse import Parser
from mapper.records import Records
from mapper.timing import judge
from tests.mapper.fused_cases import FUTURE_LIMIT_MS, Case, case_of, records_of

SEEDS, MESSAGES = (20_000, 150) if os.environ.get("LONG_TESTS") else (250, 120)
GROUPS = 25


def by_parser(case: Case, records: Records) -> tuple[ParsedBatch, object]:
    """The batch and its dead letters by mapper/parse.py alone."""
    parser, messages = Parser(case.stream, case.wanted), records.messages()
    batch = judge(case.stream, parser.parse(messages), messages, FUTURE_LIMIT_MS)
    return batch, letters_of(parser, 3, messages, batch)


def told(batch: ParsedBatch) -> dict:
    """All that a batch says, by plain values."""
    def plain(reasons: np.ndarray | None) -> list:
        return [0] * len(batch) if reasons is None else reasons.tolist()

    whole = plain(batch.tuple_bad)
    return {
        "columns": {name: column.to_pylist() for name, column in batch.columns.items()},
        "types": {name: str(column.type) for name, column in batch.columns.items()},
        "event_time": batch.event_time.tolist(), "offset": batch.offset.tolist(), "line": batch.line.tolist(),
        "bad": {name: plain(batch.bad.get(name)) for name in batch.columns}, "tuple_bad": whole,
        "future": plain(batch.future), "max_event_time": batch.max_event_time,
        "dtypes": [array.dtype for array in (batch.event_time, batch.offset, batch.line)]}


@pytest.fixture
def narrow(monkeypatch):
    """All that may be unusual is taken aside, and there is little room at first."""
    monkeypatch.setattr(fused, "ASIDE_SHARE", 1.0)
    monkeypatch.setattr(fused_dictionaries, "FIRST_HEADS", 1)
    monkeypatch.setattr(fused_dictionaries, "FIRST_KEYS", 8)


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.timeout(3_600)
def test_both_ways_say_the_same(group, narrow):
    unusual = 0
    for seed in range(group, SEEDS, GROUPS):
        case = case_of(seed)
        parser, readers = Parser(case.stream, case.wanted), FusedReaders(FUTURE_LIMIT_MS)
        assert can_read(case.stream, case.wanted)
        for _ in range(2):  # the second time with keys that are known
            records = records_of(case, MESSAGES)
            expected, letters = by_parser(case, records)
            found = readers.read(parser, records)
            assert told(found.batch) == told(expected), seed
            ours = None if found.rest is None else letters_of(parser, 3, found.unusual, found.rest)
            assert (ours == letters) if letters is None else ours.equals(letters), seed
            unusual += len(found.unusual)
    assert unusual, "no seed held anything unusual"


def test_plain_rows_are_never_left_aside(narrow):
    plain = 0
    for seed in range(400):
        case = case_of(seed)
        if case.nasty == 0:
            records = records_of(case, 60)
            taken = FusedReader(case.stream, case.wanted, FUTURE_LIMIT_MS).read(records)
            batch, _ = by_parser(case, records)
            future = set() if batch.future is None else set(batch.offset[batch.future].tolist())
            assert set(taken.aside.offset.tolist()) == future, seed
            plain += len(taken.offset)
    assert plain > 1_000
