"""The target in tables of a real catalog in SQLite: what becomes of rows, tables that are made and checked, fencing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import DecimalType, LongType, NestedField, StringType

from mars.adapters.target_errors import (
    FencedError,
    ProgressLostError,
    RowsRefusedError,
    TargetAwayError,
    TargetRefusesError,
)
from mars.model.connections import Connection
from mars.model.sinks import Into, Mark, Sink
from mars.publisher.iceberg import IcebergTarget
from mars.publisher.iceberg_table import schema_of
from mars.publisher.target import Shape, Way
from mars.results.formats import rows as json_rows
from tests.publisher.rest_catalog import RestCatalogServer
from tests.publisher.rows import LINES, SHAPE, START, table

WAY = Way(None, str, "me")
PLACE = (1, 2, 4)
KEY = "mars.sink.me.s1"


class Lake:
    """A catalog, as other systems see it."""

    def __init__(self, folder: Path) -> None:
        self.options = {"URI": f"sqlite:///{folder}/catalog.db", "WAREHOUSE": str(folder / "warehouse")}
        self.catalog = SqlCatalog("default", uri=self.options["URI"], warehouse=self.options["WAREHOUSE"])
        self.targets: list[IcebergTarget] = []

    def open(self, id_: str = "s1", shape: Shape = SHAPE, **changes: str) -> IcebergTarget:
        """The target of a sink."""
        sink = Sink(id_, "s", "q", "q1", Into("ICEBERG", "stats.pages", "lake", every_ms=60_000, bytes_max=1 << 20))
        self.targets.append(IcebergTarget(WAY, sink, shape, Connection("lake", "ICEBERG", {**self.options, **changes})))
        return self.targets[-1]

    def claimed(self, epoch: int, id_: str = "s1") -> IcebergTarget:
        """The target, of an owner who has prepared and claimed."""
        target = self.open(id_)
        target.prepare(may_make=True)
        target.claim(Mark(epoch), is_known=False)
        return target

    @property
    def table(self):
        """The table as it is now."""
        return self.catalog.load_table("stats.pages")

    def rows(self) -> list[list]:
        """The rows that a reader gets."""
        return json_rows(self.table.scan().to_arrow())


@pytest.fixture
def lake(tmp_path) -> Iterator[Lake]:
    made = Lake(tmp_path)
    yield made
    for target in made.targets:
        target.close()
    made.catalog.close()


@pytest.fixture
def rest(tmp_path) -> Iterator[RestCatalogServer]:
    server = RestCatalogServer(tmp_path, "token")
    yield server
    server.close()


def test_every_type_comes_back_with_the_mark_in_the_snapshot_that_has_the_rows(lake) -> None:
    target = lake.open()
    assert target.prepare(may_make=True)
    assert not lake.open().prepare(may_make=True)
    assert target.claim(Mark(1), is_known=False) == Mark(1)
    target.deliver(table(), Mark(1, PLACE, 4))
    assert lake.rows() == json_rows(table())
    assert Mark.load(lake.table.current_snapshot().summary[KEY]) == Mark(1, PLACE, 4)
    assert "commit.retry.num-retries" not in lake.table.properties  # others' commits are tried again as before
    assert [field.name for field in lake.table.schema().fields if field.required] == ["window_start", "window_end"]
    files = [task.file.file_path.removeprefix("file://") for task in lake.table.scan().plan_files()]
    assert duckdb.sql(f"SELECT count(*), min(small) FROM read_parquet({files})").fetchall() == [(4, -2**31)]


def test_years_outside_the_calendar_and_wide_decimals(lake) -> None:
    shape = Shape((*SHAPE.columns[:2], ("day", "DATE"), ("price", "DECIMAL(38,0)")), ("day",))
    target = lake.open(shape=shape)
    target.prepare(may_make=True)
    target.claim(Mark(1), is_known=False)
    starts = pa.array([-62_198_755_200_000_000, 316_516_204_800_000_000], pa.int64())  # -0001-01-01, 12000-01-01
    times = starts.cast(pa.timestamp("us", "UTC"))
    rows = pa.table({"window_start": times, "window_end": times,
                     "day": pa.array([-719_893, 3_663_382], pa.int32()).cast(pa.date32()),
                     "price": pa.array(["-" + "9" * 38, "9" * 38]).cast(pa.decimal128(38, 0))})
    target.deliver(rows, Mark(1, PLACE, 2))
    assert lake.rows() == json_rows(rows)


def test_the_mark_is_read_back_and_an_earlier_owner_adds_nothing(lake) -> None:
    old = lake.claimed(1)
    old.deliver(table(), Mark(1, PLACE, 4, above_us=9))
    new = lake.open()
    new.prepare(may_make=False)
    assert new.claim(Mark(2), is_known=True) == Mark(2, PLACE, 4, above_us=9)
    with pytest.raises(FencedError):
        old.deliver(table(), Mark(1, PLACE, 8))
    with pytest.raises(FencedError, match="its epoch is 2"):
        lake.open().claim(Mark(1), is_known=True)
    new.deliver(table(LINES[:1]), Mark(2, PLACE, 5))
    assert len(lake.rows()) == 5


def test_an_owner_that_stops_before_its_commit_is_refused_by_the_claim_alone(lake, monkeypatch) -> None:
    """All is in files, and nothing in a snapshot, when the next owner comes; it has delivered nothing itself."""
    old = lake.claimed(1)

    def next_owner() -> None:
        new = lake.open()
        new.prepare(may_make=False)
        assert new.claim(Mark(2), is_known=True) == Mark(2)

    monkeypatch.setattr("mars.publisher.iceberg._staged", next_owner)
    with pytest.raises(FencedError):
        old.deliver(table(), Mark(1, PLACE, 4))
    assert lake.rows() == []


def test_whoever_else_writes_into_the_table_stops_nobody(lake, monkeypatch) -> None:
    """Another sink, and a system that knows nothing of marks, while rows are staged; then rows of neither are lost."""
    first, other = lake.claimed(1), lake.claimed(7, "s2")
    steps = [lambda: other.deliver(table(LINES[:1]), Mark(7, PLACE, 1)),
             lambda: lake.table.append(lake.table.scan().to_arrow())]
    monkeypatch.setattr("mars.publisher.iceberg._staged", lambda: steps.pop()() if steps else None)
    first.deliver(table(), Mark(1, PLACE, 4))
    assert len(lake.rows()) == 4 + 1
    assert lake.open().claim(Mark(2), is_known=True) == Mark(2, PLACE, 4)
    assert lake.open("s2").claim(Mark(8), is_known=True) == Mark(8, PLACE, 1)


def test_a_table_that_never_comes_to_rest_is_waited_for(lake, monkeypatch) -> None:
    target = lake.claimed(1)
    monkeypatch.setattr("mars.publisher.iceberg._staged", lambda: lake.table.append(lake.table.scan().to_arrow()))
    with pytest.raises(TargetAwayError, match="does not come to rest"):
        target.deliver(table(), Mark(1, PLACE, 4))
    assert lake.rows() == []


def test_a_table_that_is_set_back_takes_the_place_back_with_it(lake) -> None:
    target = lake.claimed(1)
    target.deliver(table(), Mark(1, PLACE, 4))
    before = lake.table.current_snapshot().snapshot_id
    target.deliver(table(LINES[:1], START + timedelta(minutes=1)), Mark(1, PLACE, 5))
    lake.table.manage_snapshots().set_current_snapshot(before).commit()
    with pytest.raises(TargetAwayError, match="set back: to where it has 4 rows"):
        target.deliver(table(), Mark(1, PLACE, 9))
    assert lake.open().claim(Mark(2), is_known=True) == Mark(2, PLACE, 4)


def test_the_place_stays_where_snapshots_expire(lake) -> None:
    target = lake.claimed(1)
    target.deliver(table(), Mark(1, PLACE, 4))
    lake.table.append(lake.table.scan().to_arrow().slice(0, 1))
    lake.table.maintenance.expire_snapshots().older_than(START + timedelta(days=20_000)).commit()
    assert all(KEY not in snapshot.summary.additional_properties for snapshot in lake.table.snapshots())
    assert lake.open().claim(Mark(2), is_known=True) == Mark(2, PLACE, 4)


def test_a_table_or_a_mark_that_is_gone_is_progress_lost(lake) -> None:
    with pytest.raises(ProgressLostError, match="is gone"):
        lake.open().prepare(may_make=False)
    lake.catalog.create_namespace("stats")
    lake.catalog.create_table("stats.pages", schema_of(SHAPE))
    target = lake.open()
    target.prepare(may_make=False)
    with pytest.raises(ProgressLostError, match="no snapshot"):
        target.claim(Mark(2), is_known=True)
    assert target.claim(Mark(2, PLACE, 4), is_known=False) == Mark(2, PLACE, 4)
    lake.catalog.drop_table("stats.pages")
    with pytest.raises((ProgressLostError, TargetRefusesError), match="is gone"):
        target.deliver(table(), Mark(2, PLACE, 8))


@pytest.mark.parametrize(("changes", "said"), [
    ({"price": None}, "column price of stats.pages is missing"),
    ({"Big": StringType()}, "column Big of stats.pages does not take the result: it is string, and results are long"),
    ({"price": DecimalType(20, 2)}, r"column price of stats.pages does not take .* decimal\(20, 2\)"),
    ({"price": DecimalType(22, 6)}, ""), ({"small": LongType()}, ""),
])
def test_a_table_that_is_there_is_checked_column_by_column(lake, changes: dict, said: str) -> None:
    fields = [NestedField(field.field_id, field.name, changes.get(field.name, field.field_type), required=field.required)
              for field in schema_of(SHAPE).fields if changes.get(field.name, field) is not None]
    lake.catalog.create_namespace("stats")
    lake.catalog.create_table("stats.pages", Schema(*reversed(fields)))
    target = lake.open()
    if said:
        with pytest.raises(TargetRefusesError, match=said):
            target.prepare(may_make=True)
        return
    target.prepare(may_make=True)
    target.claim(Mark(1), is_known=False)
    target.deliver(table(), Mark(1, PLACE, 4))
    assert len(lake.rows()) == 4


def test_partitions_and_columns_that_are_required(lake) -> None:
    schema = Schema(*schema_of(SHAPE).fields, NestedField(99, "more", StringType(), required=True))
    lake.catalog.create_namespace("stats")
    lake.catalog.create_table("stats.pages", schema)
    with pytest.raises(TargetRefusesError, match=r"column more of stats\.pages is required"):
        lake.open().prepare(may_make=True)
    for source, transform, said in ((1, DayTransform(), "partitioned by day of window_start"),
                                    (10, IdentityTransform(), "")):
        lake.catalog.drop_table("stats.pages")
        spec = PartitionSpec(PartitionField(source, 1000, transform, "part"))
        lake.catalog.create_table("stats.pages", schema_of(SHAPE), partition_spec=spec)
        if said:
            with pytest.raises(TargetRefusesError, match=said):
                lake.open().prepare(may_make=True)
    lake.claimed(1).deliver(table(), Mark(1, PLACE, 4))
    assert len(lake.rows()) == 4


def test_null_in_a_column_that_the_table_requires_is_refused_in_words(lake) -> None:
    fields = [NestedField(field.field_id, field.name, field.field_type, required=True) for field in schema_of(SHAPE).fields]
    lake.catalog.create_namespace("stats")
    lake.catalog.create_table("stats.pages", Schema(*fields))
    target = lake.claimed(1)
    target.deliver(table(LINES[:1]), Mark(1, PLACE, 1))
    with pytest.raises(RowsRefusedError, match="non-nullable"):
        target.deliver(table(), Mark(1, PLACE, 4))
    assert len(lake.rows()) == 1


@pytest.mark.parametrize(("options", "error", "said"), [
    ({"URI": "sqlite:////nowhere/at/all.db"}, TargetAwayError, "unable to open"),
    ({"URI": "mysql://h/d"}, TargetRefusesError, "URI cannot be"),
    ({"URI": "sqlite:///x.db"}, TargetRefusesError, "URI cannot be"),
    ({"URI": "https://u:topsecret@h/"}, TargetRefusesError, "has a user in it"),
    ({"URI": "http://127.0.0.1:1/"}, TargetAwayError, "does not answer"),
    ({"WAREHOUSE": "/proc/nothing"}, (TargetRefusesError, TargetAwayError), "the warehouse"),
])
def test_catalogs_that_cannot_be_or_are_away(lake, options: dict, error: type, said: str) -> None:
    with pytest.raises(error, match=said) as raised:
        lake.open(**options).prepare(may_make=True)
    assert "topsecret" not in str(raised.value)


def test_a_catalog_by_rest_with_a_token(rest) -> None:
    """The same steps; a commit whose answer is lost was made, and the next claim finds it."""
    def open_(token: str = "token") -> IcebergTarget:
        connection = Connection("lake", "ICEBERG", {"URI": rest.uri}, {"TOKEN": token})
        sink = Sink("s1", "s", "q", "q1", Into("ICEBERG", "stats.pages", "lake", every_ms=60_000, bytes_max=1 << 20))
        return IcebergTarget(WAY, sink, SHAPE, connection)

    old = open_()
    assert old.prepare(may_make=True)
    old.claim(Mark(1), is_known=False)
    old.deliver(table(), Mark(1, PLACE, 4))
    rest.code, rest.is_late = 502, True
    with pytest.raises(TargetAwayError, match="it was done, but"):
        old.deliver(table(LINES[:1]), Mark(1, PLACE, 5))
    rest.code = 0
    new = open_()
    assert not new.prepare(may_make=False)
    assert new.claim(Mark(2), is_known=True) == Mark(2, PLACE, 5)
    with pytest.raises(FencedError):
        old.deliver(table(), Mark(1, PLACE, 9))
    assert len(rest.catalog.load_table("stats.pages").scan().to_arrow()) == 5
    rest.code, rest.is_late = 503, False
    with pytest.raises(TargetAwayError, match="not now"):
        new.deliver(table(), Mark(2, PLACE, 9))
    rest.code = 0
    with pytest.raises(TargetRefusesError, match="who are you"):
        open_("stranger")


def test_a_token_does_not_go_in_the_clear(lake) -> None:
    connection = Connection("lake", "ICEBERG", {"URI": "http://catalog.example/"}, {"TOKEN": "t"})
    sink = Sink("s1", "s", "q", "q1", Into("ICEBERG", "stats.pages", "lake"))
    with pytest.raises(TargetRefusesError, match="in the clear"):
        IcebergTarget(WAY, sink, SHAPE, connection)
    for name in ("pages", ".pages", "stats."):
        with pytest.raises(TargetRefusesError, match="no table"):
            IcebergTarget(WAY, replace(sink, into=Into("ICEBERG", name, "lake")), SHAPE, connection)
