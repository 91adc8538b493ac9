"""The same statements by three engines over the same random tuples: Mars's kernels, Spark's own plan, and DuckDB.

Mars reads the messages in random batches, aggregates each, and merges the cells of each key part in random order, as
mappers and reducers do. Spark runs what EXPLAIN (FORMAT SPARK) shows; DuckDB runs statements written by hand.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from mapper.aggregate import aggregate_task
from mapper.batch import Messages
from mapper.parse import Parser
from mars.algebra import cells
from mars.model.plan import QueryPlan, Stream
from mars.results import ranked
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse
from sql.say.spark import spark_sql
from tests.queries.generate import messages

pytestmark = pytest.mark.timeout(300)

COLUMNS = ("t BIGINT, k STRING, i INT, b BIGINT, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP, f FLOAT")
STREAM = replace(compile_stream(parse(f"CREATE STREAM s ({COLUMNS}) FROM KAFKA 's' FORMAT CSV TIMESTAMP t UNIT s")),
                 key_parts=3)
PARTITIONS, TUPLES = 2, 1_500

BY_HAND = (
    "SELECT k, t, count(*), sum(b), avg(i) FROM s GROUP BY k, t WINDOWING 60 s",
    "SELECT t, count(DISTINCT k) AS c, count(DISTINCT x) AS c2, count(DISTINCT d) AS c3 FROM s GROUP BY t WINDOWING 2 min",
    "SELECT x, count(*), min(k), max(k) FROM s GROUP BY x WINDOWING 5 min",
    "SELECT -x AS negative, f, count(*) FROM s GROUP BY negative, f WINDOWING 10 min",
    "SELECT d, day, sum(d), avg(d), min(d) FROM s GROUP BY d, day WINDOWING 5 min",
    "SELECT k, first(x), last(x), first(i) FILTER (WHERE ok) AS one FROM s GROUP BY k WINDOWING 5 min",
    "SELECT ok, variance(i), var_pop(x), stddev(d), stddev_pop(f), var_samp(b % 100) AS v FROM s GROUP BY ok WINDOWING 1 h",
    "SELECT k, sum(i) AS total FROM s GROUP BY k WINDOWING 60 s HAVING total > 0 AND count(*) < 9",
    "SELECT sum(b * i), sum(b + 1) AS plus, max(b - i) AS minus FROM s WINDOWING 30 s",
    "SELECT i / 0 AS nothing, i % 0 AS rest, i div 7 AS whole, count(*) FROM s GROUP BY 1, 2, 3 WINDOWING 10 min",
    "SELECT upper(k) AS u, length(k) AS n, substring(k, 2, 2) AS p, count(*) FROM s GROUP BY u, n, p WINDOWING 5 min",
    "SELECT year(at) AS y, hour(at) AS h, to_date(at) AS date, min(at), max(day) FROM s GROUP BY y, h, date WINDOWING 5 min",
    "SELECT CAST(k AS INT) AS number, CAST(i AS STRING) AS text, count(*) FROM s GROUP BY number, text WINDOWING 10 min",
    "SELECT coalesce(k, 'none') AS name, CASE WHEN x > 1 THEN 'big' WHEN x < 1 THEN 'small' END AS size, count(*) FROM s "
    "GROUP BY name, size WINDOWING 2 min",
    "SELECT t, count(*) FROM s WHERE k LIKE '%a%' OR k RLIKE '^[0-9]' OR k IN ('Ä', '日本') GROUP BY t WINDOWING 60 s",
    "SELECT t, count(*) FROM s WHERE x <> x OR NOT (x > 0) GROUP BY t WINDOWING 60 s",
    "SELECT k, count(*), sum(x) FROM s GROUP BY k",
    "SELECT k, t, count(*), avg(i), first(x), last(b) FROM s GROUP BY k, t WINDOWING 60 s EVERY 10 s OFFSET 7 s",
    "SELECT ok, count(DISTINCT k) AS c, min(day), var_samp(x) FROM s GROUP BY ok WINDOWING 50 s EVERY 20 s OFFSET -3 s",
    "SELECT k, t, count(*), sum(d), max(at) FROM s GROUP BY k, t WINDOWING LANDMARK EACH 5 min EVERY 20 s",
    "SELECT t, count(*) FROM s GROUP BY t WINDOWING 1 min OFFSET 59 s",
    "SELECT k, t, count(*), sum(d) FROM s GROUP BY k, t WINDOWING 3 d AT TIME ZONE 'Europe/Berlin' EVERY 2 d OFFSET -1 d",
    "SELECT t, count(*) FROM s GROUP BY t WINDOWING 1 d AT TIME ZONE 'Pacific/Auckland'",
    "SELECT k, t, count(*), sum(d), first(x), count(DISTINCT i) AS c FROM s GROUP BY k, t WINDOWING SESSION GAP 9 s",
    "SELECT x, ok, count(*), avg(i) FROM s WHERE b > 0 GROUP BY x, ok WINDOWING SESSION GAP 1 min",
    "SELECT count(*), var_samp(i) FROM s WINDOWING SESSION GAP 1 s HAVING count > 1",
)
FIRST_ROWS = (
    "SELECT k, x, count(*) AS n FROM s GROUP BY k, x WINDOWING 1 min ORDER BY n DESC, x LIMIT 4",
    "SELECT max(d) AS d, i, day, count(*) FROM s GROUP BY i, day WINDOWING 2 min EVERY 40 s HAVING count > 1 "
    "ORDER BY 1 DESC LIMIT 2",
)
OTHERS = (
    "SELECT k, bool_and(ok), every(x > 1) AS e, any(ok) AS a, some(i > 0) FILTER (WHERE ok) AS s, skewness(i % 100), "
    "kurtosis(d), skewness(x) AS x, kurtosis(b % 7) FILTER (WHERE ok) AS b, skewness(1) AS one FROM s GROUP BY k "
    "WINDOWING 60 s",
    "SELECT k, min_by(i, x), max_by(x, k) AS m, min_by(k, d) FILTER (WHERE ok) AS f, max_by(day, at) AS o, max_by(i, ok) AS "
    "p FROM s GROUP BY k WINDOWING 2 min EVERY 1 min",
    "SELECT ok, covar_samp(i % 100, d), covar_pop(x, f) AS p, corr(d, i % 9), corr(b, b) AS b, corr(f, 1) AS c, "
    "covar_samp(d, x) FILTER (WHERE x < 9) AS low FROM s GROUP BY ok WINDOWING 1 min",
    "SELECT k, sum(DISTINCT i) AS i, avg(DISTINCT d) AS d, sum(DISTINCT x) AS x, avg(DISTINCT b % 50) AS b, "
    "sum(DISTINCT d) AS sd, avg(DISTINCT f) FILTER (WHERE f = f) AS f, max(DISTINCT k) AS m FROM s GROUP BY k "
    "WINDOWING 60 s",
    "SELECT ok, array_agg(x, 5) AS x, array_agg(k, 40) AS k, collect_list(d, 3) AS d, array_agg(at, 2) FILTER (WHERE i > 0) "
    "AS t, array_agg(day, 2) AS day, array_agg(ok, 3) AS o, string_agg(k, ', ', 7), listagg(i, '|', 1000) AS l, "
    "string_agg(k, '''', 2) FILTER (WHERE ok) AS f FROM s GROUP BY ok WINDOWING 30 s",
    "SELECT k, median(x), percentile(d, 0.9), percentile(i, 0.123) AS p, median(b) AS b, percentile(x, 1) FILTER (WHERE ok) "
    "AS one, approx_percentile(i, 0.5), percentile_approx(x, 0.95), approx_percentile(d, 0.01) AS d, "
    "approx_percentile(f, 0) AS f, approx_percentile(b % 1000, 1) AS bb FROM s GROUP BY k WINDOWING 2 min",
    "SELECT k, top_k(i, 3), approx_top_k(x, 2) AS x, top_k(day, 100) AS day, top_k(k, 1) AS k2, top_k(d, 2) AS d, "
    "histogram(x, -10, 10, 4), histogram(i, 0, 3.5, 7) FILTER (WHERE ok) AS i FROM s GROUP BY k WINDOWING 2 min",
)
# (Mars, DuckDB over `s`, where `w` and `e` are the window's start and end); both in the order of results.
TWO_ENGINES = (
    ("SELECT k, count(*), sum(i) FROM s GROUP BY k WINDOWING 60 s",
     "SELECT w, e, k, count(*), sum(i)::BIGINT FROM s GROUP BY ALL ORDER BY w, k NULLS FIRST"),
    ("SELECT ok, avg(i), var_samp(i), stddev_pop(i) FROM s GROUP BY ok WINDOWING 60 s",
     "SELECT w, e, ok, avg(i), var_samp(i), stddev_pop(i) FROM s GROUP BY ALL ORDER BY w, ok NULLS FIRST"),
    ("SELECT min(i), max(b), min(k), max(k), min(day), max(at) FROM s WINDOWING 60 s",
     "SELECT w, e, min(i), max(b), min(k), max(k), min(day), max(\"at\") FROM s GROUP BY ALL ORDER BY w"),
    ("SELECT k, count(DISTINCT i) AS c, count(DISTINCT day) FILTER (WHERE ok) AS days FROM s GROUP BY k WINDOWING 60 s",
     "SELECT w, e, k, count(DISTINCT i), count(DISTINCT day) FILTER (WHERE ok) FROM s GROUP BY ALL "
     "ORDER BY w, k NULLS FIRST"),
    ("SELECT k, first(i), last(i) FROM s GROUP BY k WINDOWING 60 s",
     "SELECT w, e, k, first(i ORDER BY t, _partition, _offset, _line), last(i ORDER BY t, _partition, _offset, _line) "
     "FROM s GROUP BY ALL ORDER BY w, k NULLS FIRST"),
    ("SELECT day, sum(d), min(d), max(d) FROM s WHERE d > 1 OR i < 0 GROUP BY day WINDOWING 60 s",
     "SELECT w, e, day, sum(d)::DECIMAL(20, 2), min(d), max(d) FROM s WHERE d > 1 OR i < 0 GROUP BY ALL "
     "ORDER BY w, day NULLS FIRST"),
    ("SELECT x, count(*) FROM s GROUP BY x WINDOWING 60 s",
     "SELECT w, e, CASE WHEN x = 0 THEN 0 ELSE x END AS v, count(*) FROM s GROUP BY ALL ORDER BY w, v NULLS FIRST"),
    ("SELECT ok, sum(i) AS total FROM s GROUP BY ok WINDOWING 60 s HAVING total > 100 AND count(*) > 20",
     "SELECT w, e, ok, sum(i)::BIGINT FROM s GROUP BY ALL HAVING sum(i) > 100 AND count(*) > 20 "
     "ORDER BY w, ok NULLS FIRST"),
)
# The number of each tuple's session of 7 s, by its key; and that of one that is cut after 25 s, by recursion.
SESSIONS = """WITH RECURSIVE s AS (SELECT * FROM tuples), ordered AS (SELECT *, row_number() OVER (PARTITION BY k ORDER BY t,
    _partition, _offset, _line) AS place FROM s), runs AS (SELECT *, t AS first FROM ordered WHERE place = 1 UNION ALL
    SELECT o.*, CASE WHEN o.t - r.t > 7 OR o.t - r.first > {most} THEN o.t ELSE r.first END FROM runs r JOIN ordered o ON
    o.k IS NOT DISTINCT FROM r.k AND o.place = r.place + 1)
SELECT make_timestamp(first * 1000000) AS w, make_timestamp(least(max(t) + 7, first + {most}) * 1000000) AS e, k, count(*),
    sum(i)::BIGINT, min(day) FROM runs GROUP BY k, first ORDER BY w, e, k NULLS FIRST"""
SLIDING = """SELECT make_timestamp((o.t - 9) * 1000000) AS w, make_timestamp(o.t * 1000000) AS e, o.k, count(*),
    sum(i.i)::BIGINT, min(i.day), max(i.k), count(DISTINCT i.x), first(i.b ORDER BY i.t, _partition, _offset, _line),
    var_pop(i.i) FROM (SELECT DISTINCT k, t FROM tuples) o JOIN tuples i
    ON i.k IS NOT DISTINCT FROM o.k AND i.t > o.t - 9 AND i.t <= o.t GROUP BY o.k, o.t ORDER BY w, e, o.k NULLS FIRST"""
KEYS = ("k", "ok", "day", "i % 5", "x > 0", "d", "x", "length(k)", "b IS NULL", "lower(k)", "abs(i) % 3", "f", "floor(x)")
ARGUMENTS = {"sum": ("i", "b", "d", "f", "i * 2", "b + i", "x"), "avg": ("i", "d", "f", "x"), "count": ("*", "x", "k"),
             "min": ("i", "x", "k", "d", "day", "at", "f", "ok"), "max": ("b", "x", "k", "d", "day", "at", "x / i"),
             "variance": ("i", "f", "d"), "stddev_pop": ("i", "x"), "first": ("i", "k", "x", "day"), "last": ("b", "k", "d"),
             "count_if": ("ok", "x > 1")}
CONDITIONS = ("ok", "i > 0", "x < 10 OR x IS NULL", "k <> 'a'", "NOT ok", "d BETWEEN -10 AND 500", "day > DATE '2000-01-01'",
              "b % 2 = 0", "k LIKE '_%'", "x = x AND i <> 7")


def random_select(rng: random.Random) -> str:
    """One statement out of the lists above."""
    keys = [f"{key} AS key{n}" for n, key in enumerate(rng.sample(KEYS, rng.randrange(3)))]
    calls = []
    for n in range(rng.randrange(1, 5)):
        function = rng.choice(list(ARGUMENTS))
        argument = rng.choice(ARGUMENTS[function])
        condition = f" FILTER (WHERE {rng.choice(CONDITIONS)})" if rng.random() < 0.3 else ""
        calls.append(f"{function}({argument}){condition} AS a{n}")
    where = f" WHERE {rng.choice(CONDITIONS)} AND {rng.choice(CONDITIONS)}" if rng.random() < 0.4 else ""
    group = f" GROUP BY {', '.join(f'key{n}' for n in range(len(keys)))}" if keys else ""
    having = f" HAVING count(*) > {rng.randrange(4)}" if rng.random() < 0.3 else ""
    window = rng.choice(("20 s", "1 min", "300 s", "1 h", "1 min OFFSET 11 s", "1 min EVERY 10 s",
                         "90 s EVERY 60 s OFFSET -1 s", "LANDMARK EACH 10 min EVERY 1 min",
                         "LANDMARK EACH HOUR EVERY 20 min", "SESSION GAP 2 s", "SESSION GAP 20 s"))
    return f"SELECT {', '.join(keys + calls)} FROM s{where}{group} WINDOWING {window}{having}"


def as_messages(values: list[bytes], first: int) -> Messages:
    """Messages with offsets from `first` on."""
    lengths = np.array([len(value) for value in values], np.int64)
    offsets = np.arange(first, first + len(values))
    return Messages(np.frombuffer(b"".join(values), np.uint8), np.cumsum(lengths) - lengths, lengths, offsets,
                    np.zeros(len(values), np.int64))


@pytest.fixture(scope="module")
def data() -> list[list[bytes]]:
    """Per partition, messages that all read."""
    made: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    for partition, value in messages(STREAM, 42, TUPLES, PARTITIONS, 30):
        batch = Parser(STREAM, tuple(c.name for c in STREAM.columns)).parse(as_messages([value], 0))
        if not batch.bad:
            made[partition].append(value)
    return made


@pytest.fixture(scope="module")
def table(data) -> pa.Table:
    """The tuples as the other engines get them."""
    tables = []
    for partition, values in enumerate(data):
        batch = Parser(STREAM, tuple(c.name for c in STREAM.columns)).parse(as_messages(values, 0))
        columns = {name: c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for name, c in batch.columns.items()}
        columns |= {"_partition": pa.array(np.full(len(batch), partition, np.int32)), "_offset": pa.array(batch.offset),
                    "_line": pa.array(batch.line)}
        tables.append(pa.table(columns))
    return pa.concat_tables(tables)


@pytest.fixture(scope="module")
def spark(table, tmp_path_factory) -> Iterator[SparkSession]:
    """A plain Spark, with the tuples as view s."""
    session = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
               .config("spark.sql.ansi.enabled", "false").config("spark.sql.session.timeZone", "UTC")
               .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
               .config("spark.sql.shuffle.partitions", "1").config("spark.sql.codegen.wholeStage", "false")
               .config("spark.sql.codegen.factoryMode", "NO_CODEGEN").getOrCreate())
    path = tmp_path_factory.mktemp("tuples") / "s.parquet"
    pq.write_table(table, path)
    session.read.parquet(str(path)).cache().createOrReplaceTempView("s")
    yield session
    session.stop()


def by_mars(plan: QueryPlan, stream: Stream, data: list[list[bytes]], rng: random.Random) -> pa.Table:
    """Cut, aggregate, encode, merge, make windows of panes, and finish."""
    parts: list[list[pa.Table]] = [[] for _ in range(stream.key_parts)]
    for partition, values in enumerate(data):
        parser, at = Parser(stream, plan.aggregation.columns), 0
        while at < len(values):
            size = rng.choice((1, 7, 50, 400))
            batch = parser.parse(as_messages(values[at:at + size], at))
            done = aggregate_task(plan, stream, batch, partition)
            for held, cell in zip(parts, done.parts, strict=True):
                held.append(cells.decode(cells.encode(cell)))
            at += size
    return ranked.shown(plan, cells.finish(plan, stream, pa.concat_tables(
        cells.of_windows(plan.aggregation, stream, merged(plan, stream, held, rng)) for held in parts).combine_chunks()))


def merged(plan: QueryPlan, stream: Stream, tables: list[pa.Table], rng: random.Random) -> pa.Table:
    """All tables as one, in a random order and by random groups."""
    rng.shuffle(tables)
    while len(tables) > 1:
        several = rng.randrange(2, 9)
        tables = [cells.merge(plan.aggregation, stream, tables[:several]), *tables[several:]]
        tables = tables[1:] + tables[:1]
    return tables[0]


def differences(ours: list[tuple], theirs: list[tuple]) -> list[tuple]:
    """The first few rows that are not the same in both."""
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=False) if not (len(a) == len(b) and all(map(same, a, b)))]
    return [("rows", len(ours), len(theirs)), *pairs[:3]] if pairs or len(ours) != len(theirs) else []


def same(ours: object, theirs: object) -> bool:
    """Equal, with NaN equal to NaN; DOUBLE to 1e-9, relative or absolute."""
    if isinstance(ours, float) and isinstance(theirs, float):
        return (math.isnan(ours) and math.isnan(theirs)) or math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)
    return type(ours) is type(theirs) and ours == theirs


def rows(table: pa.Table) -> list[tuple]:
    """Rows of Python values."""
    plain = [column.cast(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(column.type) else column
             for column in table.columns]
    return list(zip(*(column.to_pylist() for column in plain), strict=True))


RANDOM = [random_select(random.Random(seed)) for seed in range(24)]


@pytest.mark.parametrize("select", [*BY_HAND, *OTHERS, *FIRST_ROWS, *RANDOM])
def test_spark_says_the_same(select, data, spark):
    plan = compile_select(parse(select), STREAM, continuous=select in FIRST_ROWS)
    ours = by_mars(plan, STREAM, data, random.Random(select))
    theirs = spark.sql(spark_sql(plan, STREAM, "s")).toArrow()
    assert theirs.column_names == ours.column_names
    assert differences(rows(ours), rows(theirs)) == []


@pytest.mark.parametrize(("select", "statement"), TWO_ENGINES)
def test_duckdb_says_the_same(select, statement, data, table):
    ours = by_mars(compile_select(parse(select), STREAM, continuous=False), STREAM, data, random.Random(select))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("tuples", table)
        connection.execute("CREATE VIEW s AS SELECT *, make_timestamp(t // 60 * 60000000) AS w, "
                           "w + INTERVAL 60 SECOND AS e FROM tuples")
        theirs = connection.sql(statement).to_arrow_table()
    assert differences(rows(ours), rows(theirs)) == []


@pytest.mark.parametrize(("clause", "most"), [("", 10**9), (" MAX 25 s", 25), (" MAX 3 s", 3)])
def test_duckdb_finds_the_same_sessions(clause, most, data, table):
    select = f"SELECT k, count(*), sum(i), min(day) FROM s GROUP BY k WINDOWING SESSION GAP 7 s{clause}"
    ours = by_mars(compile_select(parse(select), STREAM, continuous=False), STREAM, data, random.Random(select))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("tuples", table)
        theirs = connection.sql(SESSIONS.format(most=most)).to_arrow_table()
    assert differences(rows(ours), rows(theirs)) == []


def test_duckdb_finds_the_same_sliding_windows(data, table):
    select = ("SELECT k, count(*), sum(i), min(day), max(k), count(DISTINCT x) AS c, first(b), var_pop(i) FROM s GROUP BY k "
              "WINDOWING SLIDING 9 s")
    ours = by_mars(compile_select(parse(select), STREAM, continuous=False), STREAM, data, random.Random(select))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("tuples", table)
        theirs = connection.sql(SLIDING).to_arrow_table()
    assert differences(rows(ours), rows(theirs)) == []
