"""The checker: every window recomputed from the topic, by another reader and another engine than Mars's own.

The topic is read from its first to its last offset as a read-committed consumer sees it, and its tuples go to a table of
DuckDB. Each row of each query must be there with these very values and no other row may be; each counter must be the
count of its tuples. Ids are unique and are summed, squared, and counted as different ones, so that a loss and a double
cannot cancel.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from tests.nemesis.tuples import Statistic

TUPLE = r"^(?P<t>\d{1,18}),(?P<id>\d{1,18}),(?P<k>[^,]*),(?P<g>-?\d{1,18}),(?P<v>[^,]*)$"
COLUMNS = ("t", "id", "k", "g", "v")
SILENCE_S = 30.0
MEMORY = "1GB"


@dataclass
class Verdict:
    """What was compared; `wrong` has the first row or counter of each kind that is not as it must be."""

    tuples: int = 0
    rows: int = 0
    late: int = 0
    skipped: int = 0
    wrong: list[str] = field(default_factory=list)


class Oracle:
    """The tuples of one topic. `future`: the condition, in SQL, of those that lie in the future for Mars. A tuple has its
    partition and offset beside its columns."""

    def __init__(self, folder: str, future: str, form: str = "CSV") -> None:
        self.form = form
        self.database = duckdb.connect(f"{folder}/oracle.duckdb", config={"memory_limit": MEMORY, "threads": 2})
        self.database.execute("CREATE OR REPLACE TABLE lines "
                              "(t BIGINT, id BIGINT, k VARCHAR, g BIGINT, v BIGINT, p INT, o BIGINT)")
        self.future = future
        self.restrict({})

    def restrict(self, start: dict[int, int]) -> None:
        """Compare from now on with the tuples from these offsets on alone; other partitions count whole."""
        before = " OR ".join(f"(p = {p} AND o < {offset})" for p, offset in start.items()) or "FALSE"
        self.database.execute(f"CREATE OR REPLACE VIEW chosen AS SELECT * FROM lines WHERE NOT ({before})")
        self.database.execute("CREATE OR REPLACE VIEW tuples AS SELECT * FROM chosen "
                              f"WHERE t IS NOT NULL AND NOT ({self.future})")

    def close(self) -> None:
        """Forget the tuples."""
        self.database.close()

    def read(self, address: str, topic: str) -> None:
        """Take in everything that the topic holds for a read-committed consumer."""
        consumer = Consumer({"bootstrap.servers": address, "group.id": "nemesis", "isolation.level": "read_committed",
                             "enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "error",
                             "fetch.message.max.bytes": 4_000_000, "queued.max.messages.kbytes": 65_536})
        try:
            partitions = list(consumer.list_topics(topic, 20).topics[topic].partitions)
            consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
            ended, heard = set(), time.monotonic()
            while len(ended) < len(partitions):
                messages = consumer.consume(20_000, 0.5)
                assert time.monotonic() - heard < SILENCE_S, f"the checker cannot read {topic}: {ended} of {partitions}"
                if messages:
                    heard = time.monotonic()
                ended |= {message.partition() for message in messages if message.error()}
                self.add([(message.partition(), message.offset(), message.value()) for message in messages
                          if not message.error()])
        finally:
            consumer.close()

    def add(self, messages: list[tuple[int, int, bytes | None]]) -> None:
        """Take in messages: partition, offset, value."""
        found = [(p, o, line) for p, o, value in messages if value for line in self._lines(value)]
        if not found:
            return
        partitions, offsets, lines = zip(*found, strict=True)
        chunk = _of_csv(lines) if self.form == "CSV" else _of_json(lines)
        chunk = chunk.append_column("p", pa.array(partitions, pa.int32())).append_column("o", pa.array(offsets, pa.int64()))
        self.database.register("chunk", chunk)
        self.database.execute("INSERT INTO lines SELECT * FROM chunk")
        self.database.unregister("chunk")

    def _lines(self, value: bytes) -> list[str]:
        """The tuples of a message, as text; a message of CSV that opens a quote and does not close it is one."""
        if self.form == "CSV" and value.startswith(b'"'):
            return ["bad"]
        return [line for line in value.decode("utf-8", "replace").split("\n") if line.strip(" \t")]

    def tuples(self) -> int:
        """How many there are."""
        return self.database.execute("SELECT count(*) FROM lines").fetchall()[0][0]

    @property
    def last_ms(self) -> int:
        """The event time of the last tuple that is not future, less those that only close windows."""
        return self.database.execute("SELECT max(t) FROM tuples WHERE k <> 'end'").fetchall()[0][0]

    def counters(self, statistic: Statistic) -> dict[str, int]:
        """What the query must have counted; late ones apart."""
        bad = "t IS NULL" + (" OR v IS NULL" if statistic.reads_v else "")
        [counts] = self.database.execute(
            f"SELECT count(*), count(*) FILTER ({bad}), count(*) FILTER (NOT ({bad}) AND ({self.future})), "
            f"count(*) FILTER (NOT ({bad}) AND NOT ({self.future}) AND NOT ({statistic.where})) FROM chosen").fetchall()
        return dict(zip(("tuples", "bad", "future", "filtered"), counts, strict=True))

    def compare(self, statistic: Statistic, rows: pa.Table, counters: dict[str, int], watermark_ms: int,
                late: pa.Table | None = None) -> Verdict:
        """The query's rows and counters against the tuples. `rows`: every row of the query; `watermark_ms`: windows that
        end later are open. `late`: the tuples that the query has kept as late; then these and its rows are all tuples
        together."""
        verdict = Verdict(counters["tuples"], rows.num_rows)
        self._tables(statistic, rows, watermark_ms)
        twice = self._first(statistic, "a row twice", f"SELECT {self.names(statistic)}, count(*) FROM found GROUP BY ALL "
                            "HAVING count(*) > 1")
        verdict.wrong += twice + ([] if late is None else self._add_late(statistic, late))
        keys = self.names(statistic)
        same = " AND ".join(f"f.{name} IS NOT DISTINCT FROM w.{name}" for name in statistic.values)
        both = f"FROM found f FULL JOIN wanted w USING ({keys})"
        found, wanted = (", ".join(f"{side}.{name}" for name in statistic.values) for side in "fw")
        checks = {
            "a row that should not be": f"SELECT {keys}, {found} {both} WHERE w.n IS NULL",
            "a row is missing": f"SELECT {keys}, {wanted} {both} WHERE f.n IS NULL AND NOT ({statistic.late})",
            "a row differs (found, wanted)": f"SELECT {keys}, {found}, {wanted} {both} "
                                             f"WHERE f.n IS NOT NULL AND w.n IS NOT NULL AND NOT ({same})"}
        if statistic.late != "FALSE":  # windows close in the order of their ends
            checks["a late tuple is in an earlier window, and not in a later one"] = (
                f"SELECT {', '.join(statistic.keys)}, max(end_ms) FILTER (f.n IS NULL) AS gone {both} "
                f"WHERE {statistic.late} GROUP BY ALL HAVING gone > min(end_ms) FILTER (f.n IS NOT NULL)")
        for what, sql in checks.items():
            verdict.wrong += self._first(statistic, what, sql)
        [verdict.late] = self.database.execute(
            f"SELECT count(*) FROM (SELECT 1 {both} WHERE {statistic.late} GROUP BY {', '.join(statistic.keys)} "
            "HAVING count(f.n) = 0)").fetchall()[0] if late is None else [late.num_rows]
        for name, count in {**self.counters(statistic), "late": verdict.late}.items():
            if counters[name] != count:
                verdict.wrong.append(f"{statistic.name}: {name} is {counters[name]}, must be {count}")
        return verdict

    def _first(self, statistic: Statistic, what: str, sql: str) -> list[str]:
        """A line that tells the first row of what should have none, and how many there are."""
        found = self.database.execute(f"{sql} ORDER BY ALL LIMIT 1").fetchall()
        if not found:
            return []
        [[count]] = self.database.execute(f"SELECT count(*) FROM ({sql})").fetchall()
        return [f"{statistic.name}: {what}, {count} times; the first: {found[0]}"]

    @staticmethod
    def names(statistic: Statistic) -> str:
        """What names a row."""
        return ", ".join(["ms", "end_ms", *statistic.keys])

    def _tables(self, statistic: Statistic, rows: pa.Table, watermark_ms: int) -> None:
        """The tables `found`, as Mars says, and `wanted`, as the topic says, with the same columns of whole numbers."""
        last_ms = watermark_ms - statistic.grace_ms - statistic.windows.holds_its_end
        values = ", ".join(f"({expression})::BIGINT AS {name}" for name, expression in statistic.values.items())
        names = self.names(statistic)
        self.database.execute(f"CREATE OR REPLACE TEMP TABLE wanted AS SELECT {names}, {values} "
                              f"FROM ({self.place(statistic, last_ms)}) WHERE end_ms <= {last_ms} GROUP BY {names}")
        self.database.register("rows_of_mars", rows)
        self.database.execute("CREATE OR REPLACE TEMP TABLE found AS SELECT epoch_ms(window_start) AS ms, "
                              "epoch_ms(window_end) AS end_ms, * EXCLUDE (window_start, window_end) FROM rows_of_mars")
        self.database.unregister("rows_of_mars")
        if not statistic.windows.has_edges:
            self.database.execute("CREATE OR REPLACE TEMP TABLE found AS SELECT 0 AS ms, 0 AS end_ms, "
                                  f"{', '.join(statistic.keys)}, {self._sums(statistic)} FROM found GROUP BY ALL")

    @staticmethod
    def _sums(statistic: Statistic) -> str:
        """Of rows whose values are counts and sums."""
        return ", ".join(f"sum({name})::BIGINT AS {name}" for name in statistic.values)

    def place(self, statistic: Statistic, last_ms: int) -> str:
        """The SQL of its tuples, each once for each of its windows; the view `counted` has each once."""
        keys = ", ".join(f"{expression} AS {name}" for name, expression in statistic.keys.items())
        own = ", ".join(name for name in ("t", "id", "v", "p", "o") if name not in statistic.keys)
        self.database.execute(f"CREATE OR REPLACE TEMP VIEW counted AS SELECT {own}, {keys} FROM tuples "
                              f"WHERE {statistic.where}")
        return statistic.windows.placed(self.database, list(statistic.keys), last_ms)

    def _add_late(self, statistic: Statistic, late: pa.Table) -> list[str]:
        """What is wrong with the tuples that were kept as late; `found` then has them too, as if they had come in time.
        Values of the statistic are sums and counts."""
        keys = ", ".join(f"{expression} AS {name}" for name, expression in statistic.keys.items())
        values = ", ".join(f"({expression})::BIGINT AS {name}" for name, expression in statistic.values.items())
        self.database.register("late_of_mars", late)
        edges = [f"epoch_ms(window_{edge})" if statistic.windows.has_edges else "0" for edge in ("start", "end")]
        self.database.execute(f"CREATE OR REPLACE TEMP TABLE late AS SELECT {edges[0]} AS ms, {edges[1]} AS end_ms, "
                              "partition AS p, \"offset\" AS o, line, t, id, k, g, v FROM late_of_mars")
        self.database.unregister("late_of_mars")
        wrong = self._first(statistic, "a late tuple twice", "SELECT p, o, line FROM late GROUP BY ALL HAVING count(*) > 1")
        wrong += self._first(statistic, "kept as late, and not at its place",
                             "SELECT p, o, t, id FROM late ANTI JOIN tuples USING (p, o, t, id)")
        names = self.names(statistic)
        self.database.execute(
            f"CREATE OR REPLACE TEMP TABLE found AS SELECT {names}, {self._sums(statistic)} FROM (SELECT {names}, "
            f"{', '.join(statistic.values)} FROM found UNION ALL SELECT ms, end_ms, {keys}, {values} FROM late GROUP BY "
            "ALL) GROUP BY ALL")
        return wrong


def _of_csv(lines: tuple[str, ...]) -> pa.Table:
    """A row for each line; without values where it does not read."""
    fields = pc.extract_regex(pa.array(lines, pa.string()), TUPLE)
    t, id_, k, g, v = (pc.struct_field(fields, name) for name in COLUMNS)
    v = pc.if_else(pc.match_substring_regex(v, r"^-?\d{1,18}$"), v, pa.scalar(None, pa.string()))
    return pa.table({"t": t.cast(pa.int64()), "id": id_.cast(pa.int64()), "k": k, "g": g.cast(pa.int64()),
                     "v": v.cast(pa.int64())})


def _of_json(lines: tuple[str, ...]) -> pa.Table:
    """The same for lines of JSON: a text where a number belongs is none, and without a time nothing is."""
    rows = [row if row and isinstance(row["t"], int) else dict.fromkeys(COLUMNS) for row in map(_object, lines)]
    return pa.Table.from_pylist([{**row, "v": row["v"] if isinstance(row["v"], int) else None} for row in rows],
                                pa.schema([(name, pa.string() if name == "k" else pa.int64()) for name in COLUMNS]))


def _object(line: str) -> dict | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return {name: found.get(name) for name in COLUMNS} if isinstance(found, dict) else None
