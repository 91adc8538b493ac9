"""Dead letters by SQL and REST, and sending them again: each once, whatever ends a run."""

from __future__ import annotations

from urllib.parse import quote

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition

from api.statements import redrive
from api.statements.letter_pages import Condition
from mars.adapters.kafka.transactions import Transactions
from mars.adapters.letters import LetterStore
from mars.adapters.redrive_marks import Redriven
from mars.errors import ConflictError
from mars.model import letters
from mars.model.letters import LetterFile

pytestmark = pytest.mark.services
KILLED = RuntimeError("killed here")


@pytest.fixture
def stream(client, kafka, stack, fresh_name):
    """A stream over a topic of two partitions, long enough for its letters' offsets."""
    name = fresh_name("Letters")
    kafka.create(name, 2)
    for partition in range(2):
        stack.produce(name, [b"1,a"] * 12, partition)
    sql = f"CREATE STREAM {name} (t BIGINT, v INT) FROM KAFKA '{name}' FORMAT CSV TIMESTAMP t"
    assert client.post("/v1/sql", json={"sql": sql}).status_code == 200
    return name


@pytest.fixture
def keep(context, stream):
    """Writes letters as a mapper does: partition, and (offset, line, reason, payload[, cut]) of each."""
    def write(partition: int, *rows: tuple, time_ms: int = 1_700_000_000_000) -> None:
        full = [(partition, row[0], row[1], time_ms, row[2], row[3], len(row) > 4) for row in rows]
        table = pa.Table.from_arrays([pa.array(column, field.type) for column, field in
                                      zip(zip(*full, strict=True), letters.SCHEMA, strict=True)], schema=letters.SCHEMA)
        file = LetterFile(partition, rows[0][0], rows[-1][0] + 1, len(rows), letters.digest("v"))
        LetterStore(context.storage).write(context.catalog.stream(stream).id, file, letters.encode(table))

    return write


@pytest.fixture
def some(keep) -> None:
    """Five letters, one of them cut."""
    keep(0, (2, 0, "v: not a number", b"1,x"), (2, 3, "t: not a number", "\u00e9,1".encode()), (7, 0, "not \xff", b"\xff"))
    keep(1, (4, 0, "v: not a number", b"2,y"), (9, 0, "v: out of range", b"3,99", True))


@pytest.fixture
def sql(client):
    """The answer's document."""
    def run(text: str, status: int = 200) -> dict:
        answer = client.post("/v1/sql", json={"sql": text})
        assert answer.status_code == status, answer.text
        return answer.json()

    return run


@pytest.fixture
def sent(stack):
    """The values in a topic from an offset on, by partition, as a read-committed consumer sees them."""
    def read(topic: str, start: int = 12, partitions: int = 2) -> list[list[bytes]]:
        consumer = Consumer({"bootstrap.servers": stack.config.kafka_address, "group.id": "unused",
                             "enable.auto.commit": False, "enable.partition.eof": True})
        found = [[] for _ in range(partitions)]
        for partition, values in enumerate(found):
            consumer.assign([TopicPartition(topic, partition, start)])
            while not (message := consumer.poll(20)).error():
                values.append(message.value())
        consumer.close()
        return found

    return read


def test_letters_are_shown_in_order(sql, some, stream):
    document = sql(f"SHOW DEAD LETTERS FROM {stream.lower()}")
    assert [column["name"] for column in document["columns"]] == [
        "partition", "offset", "line", "time", "reason", "payload", "cut", "redriven"]
    assert document["rows"] == [
        [0, 2, 0, "2023-11-14T22:13:20Z", "v: not a number", "1,x", False, False],
        [0, 2, 3, "2023-11-14T22:13:20Z", "t: not a number", "\u00e9,1", False, False],
        [0, 7, 0, "2023-11-14T22:13:20Z", "not \xff", "\\xff", False, False],
        [1, 4, 0, "2023-11-14T22:13:20Z", "v: not a number", "2,y", False, False],
        [1, 9, 0, "2023-11-14T22:13:20Z", "v: out of range", "3,99", True, False]]
    assert "truncated" not in document
    assert len(sql(f"SHOW DEAD LETTERS FROM {stream} LIMIT 2")["rows"]) == 2
    where = "partition = 0 AND offset < 5 AND NOT cut AND payload LIKE '%x'"
    assert [row[5] for row in sql(f"SHOW DEAD LETTERS FROM {stream} WHERE {where} LIMIT 9")["rows"]] == ["1,x"]


@pytest.mark.parametrize("time_ms", [1_700_000_000_000_000_000, -1_700_000_000_000_000_000])
def test_a_letter_with_a_time_too_far_for_a_timestamp_is_shown_and_sent(sql, client, some, keep, stream, sent, time_ms):
    """As a producer gives Kafka that takes nanoseconds for milliseconds."""
    keep(1, (6, 0, "v: not a number", b"far"), time_ms=time_ms)
    rows = sql(f"SHOW DEAD LETTERS FROM {stream}")["rows"]
    assert [row[3] for row in rows] == [*["2023-11-14T22:13:20Z"] * 4, None, "2023-11-14T22:13:20Z"]
    assert client.get(f"/v1/streams/{stream}/dead-letters").json()["rows"] == rows
    assert [row[5] for row in sql(f"SHOW DEAD LETTERS FROM {stream} WHERE time IS NULL")["rows"]] == ["far"]
    assert sql(f"REDRIVE DEAD LETTERS FROM {stream}")["rows"][0][:2] == [stream, 5]
    assert sent(stream)[1] == [b"2,y", b"far"]


def test_no_letters_are_explained(sql, stream):
    assert "There are no dead letters" in sql(f"SHOW DEAD LETTERS FROM {stream}")["reason"]
    assert "the condition" in sql(f"SHOW DEAD LETTERS FROM {stream} WHERE line > 3")["reason"]


def test_unknown_streams_and_wrong_conditions_are_refused(sql, client, stream):
    assert stream in sql(f"SHOW DEAD LETTERS FROM {stream}x", 404)["hint"]
    assert sql("REDRIVE DEAD LETTERS FROM nothing_here", 404)["title"] == "unknown stream"
    assert client.get("/v1/streams/nothing_here/dead-letters").status_code == 404
    refused = sql(f"SHOW DEAD LETTERS FROM {stream} WHERE why = 'x'", 400)
    assert (refused["line"], refused["column"]) == (1, len(f"SHOW DEAD LETTERS FROM {stream} WHERE ") + 1)
    assert "partition, offset" in refused["detail"]
    for wrong in ("partition +", "line = (SELECT 1)", "offset", "line > 1 GROUP BY line"):
        refused = sql(f"SHOW DEAD LETTERS FROM {stream}\nWHERE {wrong}", 400)
        assert (refused["line"], bool(refused["hint"])) == (2, True)
        assert client.get(f"/v1/streams/{stream}/dead-letters", params={"where": wrong}).status_code == 400
    assert "no topic" in sql(f"REDRIVE DEAD LETTERS FROM {stream} INTO 'no-such-topic'", 404)["detail"]
    assert sql(f"REDRIVE DEAD LETTERS FROM {stream} INTO 'a b'", 404)["hint"].startswith("this cannot be a topic's name")
    assert "at each row alone" in sql(f"SHOW DEAD LETTERS FROM {stream} WHERE max(line) > 1", 400)["hint"]
    refused = client.get(f"/v1/streams/{stream}/dead-letters", params={"wher": "line = 0"})
    assert (refused.status_code, refused.json()["hint"]) == (422, "did you mean where?")


def test_pages(client, some, stream):
    path, rows, cursor = f"/v1/streams/{quote(stream)}/dead-letters", [], None
    for size in (2, 2, 1):
        page = client.get(path, params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        assert len(page["rows"]) == size
        rows, cursor = rows + page["rows"], page["next"]
    assert cursor is None
    assert rows == client.get(path).json()["rows"]
    assert client.get(path, params={"where": "reason LIKE 'v:%'"}).json()["rows"] == [rows[0], *rows[3:]]
    assert client.get(path, params={"cursor": "nonsense"}).status_code == 422
    assert client.get(path, params={"limit": 0}).status_code == 422


def test_a_page_holds_no_more_bytes_than_it_may(client, some, stream, monkeypatch):
    monkeypatch.setattr("api.statements.letter_pages.PAGE_BYTES", 7)
    path, sizes, cursor = f"/v1/streams/{stream}/dead-letters", [], None
    while not sizes or cursor:
        page = client.get(path, params={"cursor": cursor} if cursor else {}).json()
        sizes.append(len(page["rows"]))
        cursor = page["next"]
    assert sizes == [2, 2, 1]
    monkeypatch.setattr("api.statements.letter_pages.PAGE_BYTES", 1)
    assert len(client.get(path).json()["rows"]) == 1


def test_a_redrive_sends_each_letter_once(sql, some, stream, sent):
    dry = sql(f"REDRIVE DEAD LETTERS FROM {stream} DRY RUN")
    assert dry["rows"] == [[stream, 4, 11, 0, 0, 1]]
    assert sent(stream) == [[], []]
    document = sql(f"REDRIVE DEAD LETTERS FROM {stream} WHERE reason LIKE 'v:%'")
    assert document["rows"] == [[stream, 2, 6, 1, 0, 1]]
    assert "2 dead letters (6 bytes) were sent" in document["notes"][0]
    assert sql(f"REDRIVE DEAD LETTERS FROM {stream}")["rows"] == [[stream, 2, 5, 1, 2, 1]]
    assert sql(f"REDRIVE DEAD LETTERS FROM {stream}")["rows"] == [[stream, 0, 0, 0, 4, 1]]
    # Beside each transaction's messages lies its end, which is no message.
    assert sent(stream) == [[b"1,x", "\u00e9,1".encode(), b"\xff"], [b"2,y"]]
    assert [row[7] for row in sql(f"SHOW DEAD LETTERS FROM {stream}")["rows"]] == [True, True, True, True, False]


def test_a_redrive_into_another_topic(sql, some, stream, sent, kafka, fresh_name):
    other = fresh_name("fixed")
    kafka.create(other, 1)
    assert sql(f"REDRIVE DEAD LETTERS FROM {stream} INTO '{other}'")["rows"][0][:2] == [other, 4]
    assert sent(other, 0, 1) == [[b"1,x", "\u00e9,1".encode(), b"\xff", b"2,y"]]
    assert sent(stream) == [[], []]


@pytest.fixture
def run(context, stream):
    """Re-drives everything as REDRIVE does."""
    def start() -> redrive.Outcome:
        found = context.catalog.stream(stream)
        return redrive.redrive(context, found, found.topic, Condition(None), lambda *_: True)

    return start


@pytest.mark.parametrize("end", ["in the transaction", "after the commit"])
def test_a_killed_redrive_is_gone_on_with(monkeypatch, run, some, stream, sent, end):
    monkeypatch.setattr(redrive, "CHUNK_LETTERS", 2)

    def die(*_: object, **__: object) -> None:
        raise KILLED

    with monkeypatch.context() as patch:
        patch.setattr(Redriven, {"in the transaction": "begin", "after the commit": "confirm"}[end], die)
        with pytest.raises(RuntimeError, match="killed here"):
            run()
    outcome = run()
    assert (outcome.letters, outcome.before) == ((2, 2) if end == "after the commit" else (4, 0))
    assert sent(stream) == [[b"1,x", "\u00e9,1".encode(), b"\xff"], [b"2,y"]]


def test_a_process_that_is_killed_within_its_transaction_blocks_nobody(monkeypatch, run, some, stream, sent):
    """It leaves the transaction open, and a file of places whose transaction never came to its end."""
    monkeypatch.setattr(redrive, "CHUNK_LETTERS", 2)
    with monkeypatch.context() as patch:
        # As SIGKILL has it: nothing is aborted.
        patch.setattr(Transactions, "send", lambda self, topic, messages, id_, before_end: (
            self._producer.begin_transaction(), [self._produce(topic, *message, []) for message in messages],
            self._producer.flush(10), before_end(), (_ for _ in ()).throw(KILLED)))
        with pytest.raises(RuntimeError, match="killed here"):
            run()
    assert run().letters == 4
    assert sent(stream) == [[b"1,x", "\u00e9,1".encode(), b"\xff"], [b"2,y"]]


def test_of_two_redrives_at_once_the_later_one_goes_on(context, run, some, stream, sent, monkeypatch):
    monkeypatch.setattr(redrive, "CHUNK_LETTERS", 1)
    found, others = context.catalog.stream(stream), []

    def progress(done: int, _total: int) -> bool:
        if done == 2:
            others.append(run().letters)
        return True

    with pytest.raises(ConflictError, match="another re-drive"):
        redrive.redrive(context, found, stream, Condition(None), progress)
    assert others == [2]
    assert sent(stream) == [[b"1,x", "\u00e9,1".encode(), b"\xff"], [b"2,y"]]


@pytest.mark.parametrize(("at", "options", "said", "left"), [
    ("_send", "", "2 dead letters (", 2), ("matching", "", "none was sent", 4), ("matching", "DRY RUN", "none was sent", 4)])
def test_a_redrive_that_is_stopped_says_so_and_is_gone_on_with(monkeypatch, client, context, run, some, stream, at, options,
                                                               said, left):
    monkeypatch.setattr(redrive, "CHUNK_LETTERS", 2)
    step = getattr(redrive, at)

    def step_and_stop(*arguments: object) -> object:
        assert context.progress.cancel("it")
        return step(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(redrive, at, step_and_stop)
        answer = client.post("/v1/sql", json={"sql": f"REDRIVE DEAD LETTERS FROM {stream} {options}", "id": "it"})
    assert (answer.status_code, answer.json()["title"]) == (400, "the statement was stopped")
    assert said in answer.json()["detail"]
    assert run().letters == left


def test_what_the_redrive_itself_makes_is_left_to_the_next(run, some, stream, keep, context):
    keep(0, (12, 0, "v: not a number", b"came later"))
    assert run().letters == 4
    assert run().letters == 1


def test_letters_go_with_their_stream(sql, some, stream, context):
    """Its folder is what the leader deletes of a stream that is gone."""
    id_ = context.catalog.stream(stream).id
    assert [path.name for path in (context.storage.root / str(id_)).iterdir()] == ["dead-letters"]
