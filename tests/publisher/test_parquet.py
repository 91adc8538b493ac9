"""The target in a folder: which files show, fencing, what is left by whoever dies."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mars.adapters import published_folder
from mars.adapters.target_errors import FencedError, ProgressLostError, TargetAwayError, TargetRefusesError
from mars.model.sinks import Into, Mark, Sink
from mars.publisher.parquet import ParquetTarget
from mars.publisher.target import Way
from mars.results.formats import rows as json_rows
from tests.publisher.rows import LINES, START, table

WAY = Way(None, str, "me")
PLACE = (1, 2, 4)


class Killed(BaseException):
    """Stands for SIGKILL."""


@pytest.fixture
def open_(tmp_path: Path):
    def make(id_: str = "s1") -> ParquetTarget:
        return ParquetTarget(WAY, Sink(id_, "s", "q", "q1", Into("PARQUET", str(tmp_path / "out"), every_ms=60_000,
                                                                 bytes_max=1 << 20)))

    make.path = tmp_path / "out"
    return make


@pytest.fixture
def begun(open_) -> ParquetTarget:
    """With the first owner's mark."""
    target = open_()
    assert target.prepare(may_make=True)
    assert target.claim(Mark(1), is_known=False) == Mark(1)
    return target


def visible(path: Path) -> list[Path]:
    return sorted(path.glob("*.parquet"))


def test_every_type_comes_back_and_duckdb_reads_the_folder(open_, begun) -> None:
    begun.deliver(table(), Mark(1, PLACE, 4))
    begun.deliver(table(LINES[:1], START + timedelta(minutes=1)), Mark(1, PLACE, 5))
    first, second = visible(open_.path)
    assert first.name == "2026-01-01T00-00-00Z-00000002.parquet"
    assert json_rows(pq.read_table(first)) == json_rows(table())
    assert len(pq.read_table(second)) == 1
    [(count, total)] = duckdb.sql(f"SELECT count(*), sum(price) FROM '{open_.path}/*.parquet'").fetchall()
    assert count == 5
    assert math.isclose(total, 2 * 1.2345 - 9999999999999999.0001)


def test_times_outside_the_calendar_and_wide_decimals(open_, begun) -> None:
    columns = {"window_start": pa.array([-62_200_000_000_000_000, 253_402_300_800_000_000], pa.timestamp("us", "UTC")),
               "d": pa.array([None, "9" * 38], pa.string()).cast(pa.decimal128(38, 0))}
    rows = pa.table(columns)
    begun.deliver(rows, Mark(1, PLACE, 2))
    assert pq.read_table(visible(open_.path)[0]).equals(rows)


def test_the_mark_is_read_back_and_a_later_owner_fences(open_, begun) -> None:
    mark = Mark(1, PLACE, 4, above_us=9, replay=2)
    begun.deliver(table(), mark)
    later = open_()
    assert not later.prepare(may_make=False)
    assert later.claim(Mark(2), is_known=True) == replace(mark, epoch=2)
    with pytest.raises(FencedError):
        begun.deliver(table(), Mark(1, PLACE, 8))
    with pytest.raises(FencedError):
        open_().claim(Mark(1), is_known=True)
    later.deliver(table(), Mark(2, PLACE, 8))
    assert len(visible(open_.path)) == 2


@pytest.mark.parametrize("call", ["rename", "link", "unlink"])
def test_whoever_dies_between_two_steps_leaves_each_row_once(open_, begun, monkeypatch, call: str) -> None:
    """Before and after the manifest is made, and before the file shows."""
    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        if call == "unlink":
            patch.setattr(published_folder.Path, "unlink", die)
        else:
            patch.setattr(published_folder.os, call, die)
        with pytest.raises(Killed):
            begun.deliver(table(), Mark(1, PLACE, 4))
    assert len(visible(open_.path)) == 0
    later = open_()
    mark = later.claim(Mark(2), is_known=True)
    if mark.rows == 0:
        later.deliver(table(), Mark(2, PLACE, 4))
    assert (len(visible(open_.path)), call == "link") == (1, mark.rows == 0)
    assert [path.name for path in open_.path.glob(".*.parquet.*")] == []


def test_a_zombie_whose_number_was_deleted_since_is_fenced(open_, begun) -> None:
    zombie = open_()
    zombie.claim(Mark(1), is_known=True)
    later = open_()
    later.claim(Mark(2), is_known=True)
    for rows in (4, 8):
        later.deliver(table(), Mark(2, PLACE, rows))
    with pytest.raises(FencedError):
        zombie.deliver(table(), Mark(1, PLACE, 4))
    assert len(visible(open_.path)) == 2
    assert open_().claim(Mark(3), is_known=True).rows == 8
    assert list(open_.path.glob(".*.parquet.*")) == []


def test_an_owner_who_comes_while_a_file_ends_tries_again(open_, begun, monkeypatch) -> None:
    later = open_()
    newest = later.folder.newest
    monkeypatch.setattr(later.folder, "newest", lambda: (newest(), begun.deliver(table(), Mark(1, PLACE, 4)))[0])
    with pytest.raises(TargetAwayError):
        later.claim(Mark(2), is_known=True)
    assert open_().claim(Mark(2), is_known=True).rows == 4


def test_a_folder_that_is_gone_or_emptied_is_progress_lost(open_, begun) -> None:
    begun.deliver(table(), Mark(1, PLACE, 4))
    for path in (open_.path / ".mars").iterdir():
        path.unlink()
    with pytest.raises(ProgressLostError, match="no manifest"):
        open_().claim(Mark(2), is_known=True)
    (open_.path / ".mars").rmdir()
    with pytest.raises(ProgressLostError, match="is gone"):
        open_().prepare(may_make=False)


def test_folders_that_cannot_be(open_, begun, tmp_path) -> None:
    with pytest.raises(TargetRefusesError, match="another sink"):
        open_("").prepare(may_make=True)
    with pytest.raises(TargetRefusesError, match="another sink"):
        open_("s2").claim(Mark(1), is_known=False)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    for name, said in ((str(tmp_path / "full"), "something else"), (str(tmp_path / "a" / "b"), "no folder"),
                       ("relative", "cannot be"), ("s3://bucket/x", "cannot be"), ("file://host/x", "cannot be")):
        with pytest.raises(TargetRefusesError, match=said):
            ParquetTarget(WAY, Sink("s9", "s", "q", "q1", Into("PARQUET", name))).prepare(may_make=True)


def test_a_full_disk_is_waited_for(open_, begun, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(published_folder.os, "link", full)
        with pytest.raises(TargetAwayError, match="No space left"):
            begun.deliver(table(), Mark(1, PLACE, 4))
    assert visible(open_.path) == []
