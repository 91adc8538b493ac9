"""Dead letters of running queries: exactly what was made wrong, whoever dies, and each once when they are sent again."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from api.statements import dispatch, letter_pages
from api.statements.letter_pages import Condition
from mars.results.cursors import LIMIT_MAX
from tests.cluster import Cluster

pytestmark = [pytest.mark.services, pytest.mark.faults, pytest.mark.timeout(240)]

PARTITIONS = 2
MESSAGES = 3_000
WAIT_S = 100
COLUMNS = "(t BIGINT, name STRING, v INT, w INT)"
SELECT = "SELECT name, count(*), sum({v}) FROM {s} GROUP BY name WINDOWING 60 s"

Letter = tuple[int, int, int, str, str]  # partition, offset, line, reason, payload


@pytest.fixture(scope="module")
def cluster(stack, tmp_path_factory) -> Iterator[Cluster]:
    """Two mappers with short runs, so that a killed one leaves work to the other."""
    made = Cluster(stack, tmp_path_factory.mktemp("cluster"), mappers=2, reducers=1, batch_tuples=200, run_tuples_max=400)
    try:
        made.wait_for_workers()
        yield made
    finally:
        made.close()


def good(rng: random.Random, form: str) -> str:
    """A tuple that reads, some of them over two lines."""
    t, name = rng.randrange(600_000), rng.choice(["a", "b\u00fc", "\u4e16\n\u754c"])
    if form == "JSON":
        return f'{{"t": {t},{rng.choice([" ", chr(10)])}"name": "{name.replace(chr(10), chr(92) + "n")}", "v": 1, "w": 2}}'
    return f'{t},"{name}",1,2'


def wrong(rng: random.Random, form: str) -> tuple[str, str]:
    """(a tuple that does not read, why)."""
    if form == "JSON":
        return rng.choice([('{"t": "1", "v": 1}', "t: wrong JSON type"), ('{"t": 5, "v": "x\u00e9"}', "v: wrong JSON type"),
                           ("not \u4e16 json", "not JSON"), ("7", "not a JSON object")])
    return rng.choice([("x\u00fc,a,1,2", "t: not a number"), ('5,"a\nb",one,2', "v: not a number"),
                       (",a,1,2", "t: null event time"), ("5,a,9999999999,2", "v: out of range")])


def messages(form: str, seed: str) -> tuple[list[tuple[int, bytes]], list[Letter]]:
    """(partition, value) of messages with one to four tuples of which one in a hundred is wrong, and its letters."""
    rng, made, expected, offsets = random.Random(seed), [], [], [0] * PARTITIONS
    for _ in range(MESSAGES):
        partition, tuples = rng.randrange(PARTITIONS), []
        for line in range(rng.choice([1, 1, 2, 4])):
            if rng.randrange(100):
                tuples.append(good(rng, form))
                continue
            text, reason = wrong(rng, form)
            tuples.append(text)
            expected.append((partition, offsets[partition], line, reason, text))
        made.append((partition, "\n".join(tuples).encode()))
        offsets[partition] += 1
    return made, sorted(expected)


@dataclass
class Case:
    """One stream with a query over its column v, and the letters that it must have."""

    cluster: Cluster
    form: str
    stream: str

    def __post_init__(self) -> None:
        self.made, self.expected = messages(self.form, self.stream)
        self.cluster.create_topic(self.stream, PARTITIONS)
        self.cluster.sql(f"CREATE STREAM {self.stream} {COLUMNS} FROM KAFKA '{self.stream}' FORMAT {self.form} TIMESTAMP t")
        self.create("v")

    def create(self, column: str, start: str = "LATEST") -> None:
        """A query over another column."""
        self.cluster.sql(f"CREATE QUERY {self.stream}_{column} AS {SELECT.format(v=column, s=self.stream)} FROM {start}")

    def read_all(self, *columns: str) -> None:
        """Return once the queries over these columns have read everything."""
        queries = [f"{self.stream}_{column}" for column in columns]
        self.cluster.wait(lambda: all(map(self.cluster.has_read_all, queries)), WAIT_S, "not all is read", queries)

    def found(self) -> list[Letter]:
        """The letters that REST gives."""
        context = self.cluster.context
        stream = context.catalog.stream(self.stream)
        page = letter_pages.page(context, stream, Condition(None), LIMIT_MAX)
        assert page.next is None
        rows = page.rows.to_pylist()
        assert not any(row["cut"] for row in rows)
        return [tuple(row[name] for name in ("partition", "offset", "line", "reason", "payload")) for row in rows]

    def redrive(self, condition: str = "") -> int:
        """How many letters were sent again."""
        answer = dispatch.execute(self.cluster.context, f"REDRIVE DEAD LETTERS FROM {self.stream} {condition}")
        return answer.table["letters"][0].as_py()


def test_letters_are_what_was_made_wrong(cluster, fresh_name):
    """Also when a mapper dies between writing letters and pushing, and when another query reads all of it again."""
    cases = [Case(cluster, form, fresh_name(form)) for form in ("CSV", "JSON")]
    cluster.arm("mapper.letters_written")
    cluster.produce((case.stream, partition, value) for case in cases for partition, value in case.made)
    for case in cases:
        case.read_all("v")
        assert len(case.expected) > 30
        assert case.found() == case.expected
        reasons = Counter(letter[3] for letter in case.expected)
        assert cluster.snapshot(f"{case.stream}_v").bad_reasons() == reasons
    assert cluster.died_at("mapper.letters_written")

    # A query of other columns has a lane of its own. What is bad for it is a letter already.
    for case in cases:
        case.create("w", "EARLIEST")
    for case in cases:
        case.read_all("w")
        assert case.found() == case.expected
        bad = sum(not letter[3].startswith("v:") for letter in case.expected)
        assert cluster.snapshot(f"{case.stream}_w").counters()["bad"] == bad

    # What is sent again is as bad as before: letters at new offsets, one a message. The old ones are not sent twice.
    for case in cases:
        end = min(sum(partition == p for partition, _ in case.made) for p in range(PARTITIONS))
        assert case.redrive() == len(case.expected)
        assert case.redrive(f"WHERE offset < {end}") == 0
    for case in cases:
        case.read_all("v", "w")
        assert sorted(letter[3:] for letter in case.found()) == sorted(2 * [letter[3:] for letter in case.expected])

    # They go with their stream.
    root = cluster.context.storage.root
    folders = [root / str(cluster.context.catalog.stream(case.stream).id) / "dead-letters" for case in cases]
    assert all(folder.is_dir() for folder in folders)
    for case in cases:
        for statement in (f"DROP QUERY {case.stream}_v", f"DROP QUERY {case.stream}_w", f"DROP STREAM {case.stream}"):
            cluster.sql(statement)
    cluster.wait(lambda: not any(folder.parent.exists() for folder in folders), WAIT_S, "the letters are still there")
