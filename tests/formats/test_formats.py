"""State, znodes and letters that earlier versions wrote read as they did then (tests/formats/write.py)."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from api.instance.identity import FILE, FORMAT, Identity
from mars import computing
from mars.adapters.letters import LetterStore
from mars.adapters.storage import Storage
from mars.adapters.view import read_stream
from mars.adapters.zookeeper import Znode
from mars.algebra.cells import merge
from mars.algebra.cells_finish import finish
from mars.config import Config
from mars.model import names
from mars.model.commits import Pointer
from mars.model.registry import Catalog
from mars.results.tables import ResultTables
from reducer.committing.assignment import Assignment
from reducer.keypart import KeyPart
from tests.clock import ManualClock
from tests.reducer.pieces import result_segments

KEPT = sorted(Path(__file__).parent.glob("*.zip"))


@pytest.fixture(params=KEPT, ids=lambda file: file.stem)
def kept(request, tmp_path) -> Path:
    """The folder with what one version wrote."""
    with zipfile.ZipFile(request.param) as file:
        file.extractall(tmp_path)
    return tmp_path


def zookeeper(kept: Path) -> SimpleNamespace:
    """Answers with the znodes that are kept."""
    def get(path: str) -> Znode | None:
        file = kept / "znodes" / path.strip("/")
        return Znode(file.read_bytes(), 1) if file.is_file() else None

    return SimpleNamespace(get=get, get_synced=get, clock=ManualClock())


def as_json(table: pa.Table) -> list[dict]:
    return json.loads(json.dumps(table.to_pylist(), default=str))


def test_every_format_is_kept():
    assert [file.stem for file in KEPT] == [str(number) for number in range(1, FORMAT + 1)]


def test_the_instance_reads(kept):
    there = Identity.load((kept / "state" / FILE).read_bytes(), FILE)
    assert there == Identity.load(zookeeper(kept).get(names.INSTANCE).data, names.INSTANCE)


def test_key_parts_go_on_from_what_an_earlier_version_committed(kept):
    expected = json.loads((kept / "expected.json").read_text())
    znodes, storage = zookeeper(kept), Storage((kept / "state").as_uri())
    stream, = Catalog.load(znodes.get(names.CATALOG).data).streams.values()
    view = read_stream(znodes, stream)
    parts = [KeyPart.load(Config(), znodes, None, storage, Assignment.read(znodes, view, number, 1))
             for number in range(stream.key_parts)]
    gone_on = 0
    for query in view.queries.queries.values():
        if reason := computing.refusal(query.plan, stream):
            assert "cast of version 1, where this Mars has 2" in reason
            continue
        gone_on += 1
        commits = [part.truth.manifest.queries[query.id] for part in parts]
        closed = [ResultTables(storage).rows(found, query.plan, stream)
                  for commit in commits for found in result_segments(storage, commit)]
        states = [part.queries.states[query.id] for part in parts]
        opened = [finish(query.plan, stream, merge(query.plan.aggregation, stream, state.open)) for state in states]
        wanted = expected[query.name]
        assert by_window(wanted["closed"]) == by_window(as_json(pa.concat_tables(closed)))
        shown = {row["window_start"] for row in wanted["closed"]}
        found = [row for row in as_json(pa.concat_tables(opened)) if row["window_start"] not in shown]
        assert by_window(row for row in wanted["all"] if row["window_start"] not in shown) == by_window(found)
        assert {name: sum(commit.counters[name] for commit in commits) for name in wanted["counters"]} == wanted["counters"]
    assert gone_on


def test_earlier_commits_and_letters_read(kept):
    znodes, storage = zookeeper(kept), Storage((kept / "state").as_uri())
    stream, = Catalog.load(znodes.get(names.CATALOG).data).streams.values()
    for number in range(stream.key_parts):
        pointer = Pointer.load(znodes.get(names.pointer(stream.id, number)).data)
        assert [storage.manifest(point).commit for point in pointer.earlier if point.manifest]
    letters = pa.concat_tables(LetterStore(storage).in_order(stream.id))
    assert letters["payload"].to_pylist() == [b"no tuple"]


def by_window(rows: Iterable[dict]) -> list[str]:
    """In one order, without the mark that the API gives to rows of open windows."""
    return sorted(json.dumps({name: value for name, value in row.items() if name != "partial"}, sort_keys=True)
                  for row in rows)
