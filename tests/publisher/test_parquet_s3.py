"""The target in a store that speaks S3 (moto's server): which files show, fencing, what is left by whoever dies."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import S3FileSystem

from mars.adapters.target_errors import FencedError, ProgressLostError, TargetAwayError, TargetRefusesError
from mars.model.connections import Connection
from mars.model.sinks import Into, Mark, Sink
from mars.publisher.iceberg import IcebergTarget
from mars.publisher.parquet import ParquetTarget
from mars.publisher.target import Way
from mars.results.formats import rows as json_rows
from tests.publisher.rows import LINES, SHAPE, START, table

WAY = Way(None, str, "me")
PLACE = (1, 2, 4)


class Killed(BaseException):
    """Stands for SIGKILL."""


class Prefix:
    """A folder of the bucket; Arrow looks at it as any reader does."""

    def __init__(self, address: str, name: str) -> None:
        self.options = {"ENDPOINT": address, "ACCESS_KEY": "key"}
        self.uri, self.path = f"s3://bucket/{name}", f"bucket/{name}"
        self.store = S3FileSystem(access_key="key", secret_key="key", endpoint_override=address, region="us-east-1")

    def open(self, id_: str = "s1", uri: str = "", **changes: str) -> ParquetTarget:
        """The target of a sink."""
        into = Into("PARQUET", uri or self.uri, "store", every_ms=60_000, bytes_max=1 << 20)
        connection = Connection("store", "S3", {**self.options, **changes}, {"SECRET_KEY": "secret"})
        return ParquetTarget(WAY, Sink(id_, "s", "q", "q1", into), connection)

    def names(self, folder: str = "") -> list[str]:
        """What lies in the folder."""
        found = self.store.get_file_info(pa.fs.FileSelector(f"{self.path}{folder}", allow_not_found=True))
        return sorted(info.base_name for info in found if info.type == pa.fs.FileType.File)


@pytest.fixture
def prefix(s3, fresh_name) -> Prefix:
    return Prefix(s3, fresh_name("pages"))


@pytest.fixture
def begun(prefix) -> ParquetTarget:
    """With the first owner's mark."""
    target = prefix.open()
    assert target.prepare(may_make=True)
    assert target.claim(Mark(1), is_known=False) == Mark(1)
    return target


def test_every_type_comes_back_and_nothing_else_shows(prefix, begun) -> None:
    begun.deliver(table(), Mark(1, PLACE, 4))
    begun.deliver(table(LINES[:1], START + timedelta(minutes=1)), Mark(1, PLACE, 5))
    assert prefix.names() == ["2026-01-01T00-00-00Z-00000002.parquet", "2026-01-01T00-01-00Z-00000003.parquet"]
    found = pq.read_table(f"{prefix.path}/{prefix.names()[0]}", filesystem=prefix.store)
    assert json_rows(found) == json_rows(table())
    assert prefix.names("/.mars") == ["3.json", "made"]


def test_the_mark_is_read_back_and_a_later_owner_fences(prefix, begun) -> None:
    mark = Mark(1, PLACE, 4, above_us=9, replay=2)
    begun.deliver(table(), mark)
    later = prefix.open()
    assert not later.prepare(may_make=False)
    assert later.claim(Mark(2), is_known=True) == replace(mark, epoch=2)
    with pytest.raises(FencedError):
        begun.deliver(table(), Mark(1, PLACE, 8))
    with pytest.raises(FencedError):
        prefix.open().claim(Mark(1), is_known=True)
    later.deliver(table(), Mark(2, PLACE, 8))
    assert len(prefix.names()) == 2
    assert prefix.open().claim(Mark(3), is_known=True).rows == 8
    assert [name for name in prefix.names("/.mars") if ".parquet." in name] == []


@pytest.mark.parametrize("step", ["_create", "copy", "delete"])
def test_whoever_dies_between_two_steps_leaves_each_row_once(prefix, begun, monkeypatch, step: str) -> None:
    """Before the manifest is made, before the file shows, and before what is not needed is deleted."""
    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(begun.folder if step == "_create" else begun.folder._store.__class__, step, die)
        with pytest.raises(Killed):
            begun.deliver(table(), Mark(1, PLACE, 4))
    assert len(prefix.names()) == (step == "delete")
    later = prefix.open()
    mark = later.claim(Mark(2), is_known=True)
    if mark.rows == 0:
        later.deliver(table(), Mark(2, PLACE, 4))
    assert (len(prefix.names()), step == "_create") == (1, mark.rows == 0)
    assert [name for name in prefix.names("/.mars") if ".parquet." in name] == []


def test_a_zombie_whose_number_was_deleted_since_is_fenced(prefix, begun) -> None:
    zombie = prefix.open()
    zombie.claim(Mark(1), is_known=True)
    later = prefix.open()
    later.claim(Mark(2), is_known=True)
    for rows in (4, 8):
        later.deliver(table(), Mark(2, PLACE, rows))
    with pytest.raises(FencedError):
        zombie.deliver(table(), Mark(1, PLACE, 4))
    assert len(prefix.names()) == 2
    assert prefix.open().claim(Mark(3), is_known=True).rows == 8


def test_a_store_that_knows_no_conditions_is_refused_before_anything_is_delivered(prefix, monkeypatch) -> None:
    put = obstore.store.S3Store.put
    monkeypatch.setattr(obstore.store.S3Store, "put", lambda store, name, data, mode=None: put(store, name, data))
    with pytest.raises(TargetRefusesError, match="If-None-Match"):
        prefix.open().prepare(may_make=True)


def test_folders_that_cannot_be_or_are_gone(prefix, begun) -> None:
    with pytest.raises(TargetRefusesError, match="another sink"):
        prefix.open("s2").prepare(may_make=True)
    with pytest.raises(TargetRefusesError, match="no bucket"):
        prefix.open(uri="s3://nowhere/x").prepare(may_make=True)
    with pytest.raises(TargetAwayError, match="does not answer"):
        prefix.open(ENDPOINT="http://127.0.0.1:1").prepare(may_make=True)
    with pytest.raises(TargetRefusesError, match="cannot be the folder"):
        prefix.open(uri="s3://bucket")
    begun.deliver(table(), Mark(1, PLACE, 4))
    begun.folder._delete([f".mars/{name}" for name in prefix.names("/.mars")])
    with pytest.raises(ProgressLostError, match="no manifest"):
        prefix.open().claim(Mark(2), is_known=True)
    with pytest.raises(TargetRefusesError, match="something else"):
        prefix.open().prepare(may_make=True)


def test_a_warehouse_of_iceberg_in_s3(prefix, tmp_path) -> None:
    options = {"URI": f"sqlite:///{tmp_path}/catalog.db", "WAREHOUSE": prefix.uri, **prefix.options}
    connection = Connection("lake", "ICEBERG", options, {"SECRET_KEY": "secret"})
    sink = Sink("s1", "s", "q", "q1", Into("ICEBERG", "stats.pages", "lake", every_ms=60_000, bytes_max=1 << 20))
    target = IcebergTarget(WAY, sink, SHAPE, connection)
    target.prepare(may_make=True)
    target.claim(Mark(1), is_known=False)
    target.deliver(table(), Mark(1, PLACE, 4))
    assert json_rows(target.lake.table.scan().to_arrow()) == json_rows(table())
    target.close()
