"""The target in a real Postgres: what becomes of rows, tables that are made and checked, fencing, rows that are refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mars.adapters.postgres import Session
from mars.adapters.target_errors import (
    FencedError,
    ProgressLostError,
    RowsRefusedError,
    TargetAwayError,
    TargetRefusesError,
)
from mars.model.connections import Connection
from mars.model.sinks import Into, Mark, Sink
from mars.publisher.postgres import PostgresTarget
from mars.publisher.target import Shape, Way
from tests.postgres import Postgres
from tests.publisher.rows import LINES, SHAPE, START, table

pytestmark = pytest.mark.services
WAY = Way(None, lambda name: {"pw": Postgres.password}[name], "me")
PLACE = (1, 2, 4)


def connection(postgres: Postgres, **changes: object) -> Connection:
    options = {"HOST": "127.0.0.1", "PORT": postgres.port, "DATABASE": postgres.database, "USER": postgres.user}
    return Connection("wh", "POSTGRES", {**options, **changes}, {"PASSWORD": "pw"})


@pytest.fixture
def open_(postgres, fresh_name) -> Iterator:
    """Opens targets of one sink, into the table that it has in `name`."""
    made: list[PostgresTarget] = []
    name = fresh_name("T")

    def make(shape: Shape = SHAPE, into: str = "", **changes: object) -> PostgresTarget:
        sink = Sink(name, name, "q", "q1", Into("POSTGRES", into or f"public.{name}", "wh"))
        made.append(PostgresTarget(WAY, sink, shape, connection(postgres, **changes)))
        return made[-1]

    make.name = name
    yield make
    for target in made:
        target.close()


def rows_of(postgres: Postgres, name: str, columns: str = "*") -> list[tuple]:
    return postgres.rows(f'SELECT {columns} FROM "{name}" ORDER BY window_start, 3 NULLS FIRST')


def is_same(one: object, other: object) -> bool:
    both = isinstance(one, float) and isinstance(other, float)
    return one == other or (both and math.isnan(one) and math.isnan(other))


def test_every_type_and_null_arrives_and_a_row_replaces_one_of_its_key(postgres, open_) -> None:
    target = open_()
    assert target.prepare(may_make=True)
    assert target.claim(Mark(1), is_known=False) == Mark(1)
    target.deliver(table(), Mark(1, PLACE, 4))
    target.deliver(table([LINES[1], ("a", 7, *LINES[0][2:])]), Mark(1, PLACE, 6))
    got = rows_of(postgres, open_.name, 'window_start, "pa""g e", "Big", small, price::text, ratio, mean, day, ok')
    lines = [LINES[1], ("a", 7, *LINES[0][2:]), LINES[2], LINES[3]]
    wanted = sorted(lines, key=lambda line: (line[0] is not None, line[0] or ""))
    assert len(got) == len(wanted)
    for row, line in zip(got, wanted, strict=True):
        price = None if line[3] is None else f"{line[3]:.4f}"
        assert all(map(is_same, row, (START, *line[:3], price, *line[4:]))), (row, line)


def test_a_table_whose_columns_are_all_keys(postgres, open_) -> None:
    shape = Shape(SHAPE.columns[:3], SHAPE.keys)
    target = open_(shape)
    target.prepare(may_make=True)
    target.claim(Mark(1), is_known=False)
    for _ in range(2):
        target.deliver(table().select([name for name, _ in shape.columns]), Mark(1, PLACE, 4))
    assert len(rows_of(postgres, open_.name)) == len(LINES)


def test_years_outside_the_calendar_and_wide_decimals(postgres, open_) -> None:
    """Python's own times end at the years 1 and 9999, Postgres's do not."""
    shape = Shape((*SHAPE.columns[:2], ("day", "DATE"), ("price", "DECIMAL(38,0)")), ("day",))
    target = open_(shape)
    target.prepare(may_make=True)
    target.claim(Mark(1), is_known=False)
    starts = pa.array([-62_198_755_200_000_000, 316_516_204_800_000_000], pa.int64())  # -0001-01-01, 12000-01-01
    rows = pa.table({"window_start": starts.cast(pa.timestamp("us", "UTC")),
                     "window_end": pc.add(starts, 1).cast(pa.timestamp("us", "UTC")),
                     "day": pa.array([-719_893, 3_663_382], pa.int32()).cast(pa.date32()),
                     "price": pa.array(["-" + "9" * 38, "9" * 38]).cast(pa.decimal128(38, 0))})
    for _ in range(2):
        target.deliver(rows, Mark(1, PLACE, 2))
    got = postgres.rows(f"SELECT (window_start AT TIME ZONE 'UTC')::text, day::text, price::text FROM \"{open_.name}\"")
    assert sorted(got) == sorted([("0002-01-01 00:00:00 BC", "0002-01-01 BC", "-" + "9" * 38),
                                  ("12000-01-01 00:00:00", "12000-01-01", "9" * 38)])


def test_a_time_that_postgres_does_not_have_is_a_row_that_is_named(open_) -> None:
    shape = Shape(SHAPE.columns[:3], SHAPE.keys)
    target = open_(shape)
    target.prepare(may_make=True)
    target.claim(Mark(1), is_known=False)
    start = pa.array([-300_000_000_000_000_000], pa.int64()).cast(pa.timestamp("us", "UTC"))
    rows = pa.Table.from_arrays([start, start, pa.array(["x"])], names=[name for name, _ in shape.columns])
    with pytest.raises(RowsRefusedError, match="out of range"):
        target.deliver(rows, Mark(1, PLACE, 1))


def test_rows_and_mark_come_together_and_the_mark_is_read_back(open_) -> None:
    target = open_()
    target.prepare(may_make=True)
    target.claim(Mark(1), is_known=False)
    target.deliver(table(), Mark(1, PLACE, 4, above_us=9))
    target.close()
    assert open_().claim(Mark(2), is_known=True) == Mark(2, PLACE, 4, above_us=9)


def test_an_owner_of_a_lower_epoch_adds_nothing(postgres, open_) -> None:
    old, new = open_(), open_()
    old.prepare(may_make=True)
    old.claim(Mark(1), is_known=False)
    new.claim(Mark(2), is_known=True)
    with pytest.raises(FencedError):
        old.deliver(table(), Mark(1, PLACE, 4))
    old.session.rollback()
    with pytest.raises(FencedError):
        old.claim(Mark(1), is_known=True)
    assert rows_of(postgres, open_.name) == []


def test_a_new_owner_waits_for_the_transaction_of_the_old_one(open_) -> None:
    old, new = open_(), open_()
    old.prepare(may_make=True)
    old.claim(Mark(1), is_known=False)
    old._write(table(), Mark(1, PLACE, 4))
    with pytest.raises(TargetAwayError, match="55P03"):
        new.claim(Mark(2), is_known=True)
    old.session.commit()
    new.close()
    assert open_().claim(Mark(2), is_known=True) == Mark(2, PLACE, 4)


def test_a_mark_that_is_gone_is_progress_lost(postgres, open_) -> None:
    target = open_()
    target.prepare(may_make=True)
    target.claim(Mark(1), is_known=False)
    postgres.rows(f"DELETE FROM mars_sinks WHERE sink = 'me/{open_.name}'")
    with pytest.raises(ProgressLostError):
        target.deliver(table(), Mark(1, PLACE, 4))
    with pytest.raises(ProgressLostError, match="has no row"):
        open_().claim(Mark(2), is_known=True)
    assert open_().claim(Mark(2, PLACE, 4), is_known=False) == Mark(2, PLACE, 4)
    postgres.rows(f"UPDATE mars_sinks SET mark = 'gibberish' WHERE sink = 'me/{open_.name}'")
    with pytest.raises(ProgressLostError):
        open_().claim(Mark(3), is_known=True)


def test_a_table_that_is_gone_is_not_made_again_unasked(open_) -> None:
    with pytest.raises(ProgressLostError, match="is gone"):
        open_().prepare(may_make=False)


def test_a_row_that_is_refused_is_named_and_nothing_of_its_batch_is_there(postgres, open_) -> None:
    target = open_()
    target.prepare(may_make=True)
    target.claim(Mark(1), is_known=False)
    lines = [(f"k{i:02}", *LINES[0][1:]) for i in range(20)]
    lines[13] = ("k\0", *LINES[0][1:])
    with pytest.raises(RowsRefusedError, match=r"window_start = '2026-01-01T00:00:00Z'.*'k\\x00'.*0x00") as refused:
        target.deliver(table(lines), Mark(1, PLACE, 20))
    assert "WHERE" in refused.value.hint
    assert rows_of(postgres, open_.name) == []
    assert open_().claim(Mark(2), is_known=True) == Mark(2)


def test_a_constraint_of_the_table_names_its_row_too(postgres, open_) -> None:
    open_().prepare(may_make=True)
    postgres.rows(f'ALTER TABLE "{open_.name}" ADD CHECK ("Big" < 100)')
    target = open_()
    target.prepare(may_make=False)
    target.claim(Mark(1), is_known=False)
    with pytest.raises(RowsRefusedError, match=r"é.*check constraint"):
        target.deliver(table(), Mark(1, PLACE, 4))


@pytest.mark.parametrize(("change", "said"), [
    ('DROP COLUMN price', "column price of .* is missing"),
    ('ALTER "Big" TYPE integer', "column Big of .* does not take the result: it is integer, and results are bigint"),
    ('ALTER price TYPE numeric(10, 4)', "column price of .* does not take .* numeric"),
    ('ALTER price TYPE numeric(20, 2)', "column price of .* does not take"),
    ('ALTER mean TYPE real', "column mean of .* does not take"),
    ('DROP COLUMN ok, ADD COLUMN ok boolean GENERATED ALWAYS AS (small > 1) STORED', "column ok of .* computes it"),
    ('ADD owner text NOT NULL', "column owner of .* is required"),
    ('DROP CONSTRAINT {key}', "has no unique key over"),
])
def test_a_table_in_which_rows_do_not_fit_is_refused_by_its_column(postgres, open_, change: str, said: str) -> None:
    open_().prepare(may_make=True)
    [(key,)] = postgres.rows(f"SELECT quote_ident(conname) FROM pg_constraint WHERE conrelid = '\"{open_.name}\"'::regclass "
                            "AND contype = 'u'")
    postgres.rows(f'ALTER TABLE "{open_.name}" {change.replace("{key}", key)}')
    with pytest.raises(TargetRefusesError, match=said) as refused:
        open_().prepare(may_make=True)
    assert refused.value.hint


@pytest.mark.parametrize("change", ['ALTER "Big" TYPE numeric', "ALTER price TYPE numeric(30, 6)", "ALTER small TYPE bigint",
                                    "ADD more text", "ADD id bigint GENERATED ALWAYS AS IDENTITY",
                                    'ALTER "pa""g e" TYPE varchar(200)', "ALTER window_end TYPE timestamp"])
def test_a_table_that_holds_more_is_taken(postgres, open_, change: str) -> None:
    open_().prepare(may_make=True)
    postgres.rows(f'ALTER TABLE "{open_.name}" {change}')
    target = open_()
    assert not target.prepare(may_make=True)
    target.claim(Mark(1), is_known=False)
    target.deliver(table(LINES[:2]), Mark(1, PLACE, 2))
    assert len(rows_of(postgres, open_.name, 'window_start, window_end, "pa""g e"')) == 2


def test_what_is_no_table_or_in_no_schema_is_refused(postgres, open_) -> None:
    postgres.rows(f'CREATE VIEW "{open_.name}" AS SELECT 1 AS one')
    with pytest.raises(TargetRefusesError, match="is no table"):
        open_().prepare(may_make=True)
    with pytest.raises(TargetRefusesError, match="no schema nowhere"):
        open_(into="nowhere.t").prepare(may_make=True)
    with pytest.raises(TargetRefusesError, match="this is no table"):
        open_(into="public.")
    long = Shape((*SHAPE.columns, ("x" * 64, "INT")), SHAPE.keys)
    with pytest.raises(TargetRefusesError, match="too long a name"):
        open_(long).prepare(may_make=True)


@pytest.mark.parametrize(("change", "error", "said"), [
    ({"USER": "nobody"}, TargetRefusesError, "password authentication failed"),
    ({"DATABASE": "nowhere"}, TargetRefusesError, "does not exist"),
    ({"TLS": "VERIFY"}, TargetRefusesError, "does not support SSL"),
    ({"PORT": 1}, TargetAwayError, "refused"),
])
def test_who_is_not_let_in_hears_why_and_waits_only_for_what_may_pass(postgres, open_, change, error, said) -> None:
    with pytest.raises(error, match=said) as raised:
        open_(**change)
    assert Postgres.password not in str(raised.value) + repr(raised.value.__context__) + str(raised.value.hint)


def test_a_server_that_goes_and_comes_back_is_waited_for(fresh_name) -> None:
    server = Postgres()
    try:
        target = PostgresTarget(WAY, Sink("s1", "s", "q", "q1", Into("POSTGRES", "t", "wh")), SHAPE, connection(server))
        target.prepare(may_make=True)
        target.claim(Mark(1), is_known=False)
        server.stop()
        with pytest.raises(TargetAwayError):
            target.deliver(table(), Mark(1, PLACE, 4))
        target.close()
        server.start()
        again = PostgresTarget(WAY, target.sink, SHAPE, connection(server))
        assert again.claim(Mark(1), is_known=True) == Mark(1)
        again.deliver(table(), Mark(1, PLACE, 4))
        again.close()
        assert len(server.rows("SELECT * FROM t")) == 4
    finally:
        server.close()


def test_a_session_says_who_it_is_and_has_times_in_utc(postgres) -> None:
    session = Session(replace(connection(postgres), secrets={"PASSWORD": "pw"}), WAY.secret, "it's a test")
    try:
        told = session.rows("SELECT current_setting('application_name'), current_setting('TimeZone')")
        assert told == [("it's a test", "UTC")]
        session.rollback()
        assert isinstance(session.rows("SELECT 1")[0][0], int)
    finally:
        session.close()
