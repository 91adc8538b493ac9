"""One query file: a stream, its messages and a query, with the golden answer beside it.

`NAME.sql` holds CREATE STREAM and CREATE QUERY with {stream}, {topic} and {query} for the names, and comments
`-- partitions: 2` and, for generated messages, `-- data: seed 1, tuples 900, disorder 4 s`. Other messages stand in
`NAME.messages`, one a line as `partition|text` with Python's escapes, `partition|NULL` for a null message; a line `---`
lets everything so far be read and closed first. `NAME.csv` is the golden answer: counters, bad reasons, rows.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

from mars.results.formats import to_csv, type_name
from sql.read.create import compile_stream
from sql.read.parse import parse, split_statements
from tests.cluster import Cluster
from tests.queries.generate import messages

FOLDER = Path(__file__).parent


@dataclass
class Case:
    """One file, under names of its own in one cluster."""

    path: Path
    suffix: str

    @property
    def query(self) -> str:
        """The query's name here."""
        return f"q_{self.path.stem}_{self.suffix}"

    @property
    def stream(self) -> str:
        """The stream's name here."""
        return f"s_{self.path.stem}_{self.suffix}"

    @property
    def topic(self) -> str:
        """The topic's name here."""
        return f"t_{self.path.stem}_{self.suffix}"

    def statements(self) -> list[str]:
        """CREATE STREAM and CREATE QUERY."""
        text = self.path.read_text()
        for word in ("stream", "topic", "query"):
            text = text.replace(f"{{{word}}}", getattr(self, word))
        return split_statements(text)

    def setting(self, name: str) -> str | None:
        """The value of a comment `-- name: value`."""
        found = re.search(rf"^-- {name}: (.*)$", self.path.read_text(), re.MULTILINE)
        return found and found[1]

    def create(self, cluster: Cluster) -> None:
        """The topic, the stream and the query."""
        cluster.create_topic(self.topic, int(self.setting("partitions") or 1))
        for statement in self.statements():
            cluster.sql(statement)

    def drop(self, cluster: Cluster) -> None:
        """Drop the query and the stream."""
        cluster.sql(f"DROP QUERY {self.query}")
        cluster.sql(f"DROP STREAM {self.stream}")

    def phases(self) -> list[list[tuple[str, int, bytes | None]]]:
        """The messages, as (topic, partition, value), in the parts that are produced one after the other."""
        data = self.setting("data")
        if data:
            seed, tuples, disorder_s = map(int, re.fullmatch(r"seed (\d+), tuples (\d+), disorder (\d+) s", data).groups())
            stream = compile_stream(parse(self.statements()[0]))
            made = messages(stream, seed, tuples, int(self.setting("partitions") or 1), disorder_s)
            return [[(self.topic, partition, value) for partition, value in made]]
        parts = self.path.with_suffix(".messages").read_text().split("---\n")
        return [[self._message(line) for line in part.splitlines()] for part in parts]

    def _message(self, line: str) -> tuple[str, int, bytes | None]:
        partition, _, text = line.partition("|")
        escaped = text.encode("latin-1", "backslashreplace").decode("unicode_escape")
        value = None if text == "NULL" else b"".join(_encoded(char) for char in escaped)
        return self.topic, int(partition), value

    def answer(self, cluster: Cluster) -> str:
        """What Mars says now, in the form of the golden file."""
        snapshot, table = cluster.snapshot(self.query), cluster.rows(self.query)
        counters = snapshot.counters()
        counters.pop("duplicates_skipped")
        types = [type_name(field.type) for field in table.schema]
        rows = to_csv(table).decode().replace("\r\n", "\n")
        return "\n".join([json.dumps(counters), json.dumps(snapshot.bad_reasons(), sort_keys=True), json.dumps(types), rows])

    @property
    def golden(self) -> Path:
        """The golden answer's file."""
        return self.path.with_suffix(".csv")


def _encoded(char: str) -> bytes:
    """A character as UTF-8; one that stands for a raw byte (U+DC80 and up, as surrogateescape has them) as that byte."""
    return char.encode("utf-8", "surrogateescape")


def cases(suffix: str) -> list[Case]:
    """All query files."""
    return [Case(path, suffix) for path in sorted(FOLDER.glob("*.sql"))]


def difference(got: str, golden: str) -> str:
    """Where two answers differ first, or ''. DOUBLE and FLOAT may differ by 1e-9, relative or absolute."""
    if got == golden:
        return ""
    (*head, types, got_rows), (*golden_head, golden_types, golden_rows) = got.split("\n", 3), golden.split("\n", 3)
    if head != golden_head or types != golden_types:
        return f"got {head} {types}, golden {golden_head} {golden_types}"
    inexact = [type_ in ("DOUBLE", "FLOAT") for type_ in json.loads(types)]
    rows, wanted = (list(csv.reader(io.StringIO(text))) for text in (got_rows, golden_rows))
    for row, want in zip(rows, wanted, strict=False):
        if len(row) != len(want) or not all(map(_same, row, want, inexact)):
            return f"got {row}, golden {want}"
    if len(rows) != len(wanted):
        longer = max(rows, wanted, key=len)
        return f"got {len(rows)} rows, golden {len(wanted)}; the first one more is {longer[min(len(rows), len(wanted))]}"
    return ""


def _same(got: str, wanted: str, inexact: bool) -> bool:
    if got == wanted or not inexact or "" in (got, wanted):
        return got == wanted
    return math.isclose(float(got), float(wanted), rel_tol=1e-9, abs_tol=1e-9)
