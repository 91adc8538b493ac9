"""Dead letters of running queries: exactly what was made wrong, whoever dies, and each once when they are sent again."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from api import letters, statements
from api.letters import Condition
from api.pages import LIMIT_MAX
from tests.cluster import Cluster

pytestmark = [pytest.mark.services, pytest.mark.faults, pytest.mark.timeout(240)]

PARTITIONS = 2
MESSAGES = 3_000
WAIT_S = 60
COLUMNS = "(t BIGINT, name STRING, v INT, w INT)"
SELECT = "SELECT name, count(*), sum({v}) FROM {s} GROUP BY name WINDOWING 60 s IDLE OFF"

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


def found(cluster: Cluster, stream: str) -> list[Letter]:
    """The letters that REST gives."""
    context = cluster.context
    page = letters.page(context, context.catalog.stream(stream), Condition(context.engine, None), LIMIT_MAX)
    rows = page.rows.to_pylist()
    assert page.next is None
    assert not any(row["cut"] for row in rows)
    return [tuple(row[name] for name in ("partition", "offset", "line", "reason", "payload")) for row in rows]


def read_all(cluster: Cluster, queries: list[str]) -> None:
    cluster.wait(lambda: all(map(cluster.has_read_all, queries)), WAIT_S, "not all is read", queries)


def reasons(letters_: list[Letter]) -> dict[str, int]:
    """How many letters have each reason."""
    return {reason: sum(letter[3] == reason for letter in letters_) for reason in {letter[3] for letter in letters_}}


@pytest.mark.parametrize("form", ["CSV", "JSON"])
def test_letters_are_what_was_made_wrong(cluster, fresh_name, form):
    """Also when mappers die between writing letters and pushing, and when another query reads all of it again."""
    stream = fresh_name(form)
    cluster.create_topic(stream, PARTITIONS)
    cluster.sql(f"CREATE STREAM {stream} {COLUMNS} FROM KAFKA '{stream}' FORMAT {form} TIMESTAMP t")
    cluster.sql(f"CREATE QUERY {stream}_v AS {SELECT.format(v='v', s=stream)}")
    made, expected = messages(form, stream)
    for point in ("mapper.letters_written", "mapper.pushed"):
        cluster.arm(point)
    cluster.produce((stream, partition, value) for partition, value in made)
    read_all(cluster, [f"{stream}_v"])
    assert cluster.died_at("mapper.letters_written")
    assert len(expected) > 30
    assert found(cluster, stream) == expected
    assert cluster.snapshot(f"{stream}_v").bad_reasons() == reasons(expected)

    # A query of other columns has a lane of its own. What is bad for it is a letter already.
    cluster.sql(f"CREATE QUERY {stream}_w AS {SELECT.format(v='w', s=stream)} FROM EARLIEST")
    read_all(cluster, [f"{stream}_w"])
    assert found(cluster, stream) == expected
    assert cluster.snapshot(f"{stream}_w").counters()["bad"] == sum(not letter[3].startswith("v:") for letter in expected)

    # What is sent again is as bad as before: letters at new offsets, one a message. The old ones are not sent twice.
    redriven = [statements.execute(cluster.context, f"REDRIVE DEAD LETTERS FROM {stream} WHERE redriven = FALSE "
                                   f"AND offset < {MESSAGES}").table.to_pylist()[0]["letters"] for _ in range(2)]
    read_all(cluster, [f"{stream}_v", f"{stream}_w"])
    assert redriven[0] == len(expected)
    again = found(cluster, stream)
    assert sorted(letter[3:] for letter in again) == sorted(2 * [letter[3:] for letter in expected])
    cluster.disarm()
    for query in ("v", "w"):
        cluster.sql(f"DROP QUERY {stream}_{query}")
    folder = cluster.context.storage.root / str(cluster.context.catalog.stream(stream).id)
    assert folder.is_dir()
    cluster.sql(f"DROP STREAM {stream}")
    cluster.wait(lambda: not folder.exists(), 20, "the letters are still there")
