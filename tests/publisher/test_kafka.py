"""The target in a real Kafka: what a message is, who reads it, fencing, and what is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import orjson
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from mars.adapters.kafka import transactions
from mars.adapters.target_errors import FencedError, ProgressLostError, RowsRefusedError, TargetAwayError
from mars.errors import NotReadyError
from mars.model.connections import Connection
from mars.model.sinks import Into, Mark, Sink
from mars.publisher.kafka import KafkaTarget
from mars.publisher.target import Way
from mars.results.formats import rows as json_rows
from tests.publisher.consume import read
from tests.publisher.rows import LINES, SHAPE, table

pytestmark = pytest.mark.services
PLACE = (1, 2, 4)


@pytest.fixture
def open_(stack, fresh_name) -> Iterator:
    """Opens targets of one sink, into the topic that it has in `name`."""
    made: list[KafkaTarget] = []
    name = fresh_name("sink")

    def make(key: tuple[str, ...] | None = None, connection: Connection | None = None) -> KafkaTarget:
        into = Into("KAFKA", name, None if connection is None else connection.name, key)
        made.append(KafkaTarget(Way(stack.config, lambda _: "", "me"), Sink(name, name, "q", "q1", into), SHAPE, connection))
        return made[-1]

    make.name = name
    yield make
    for target in made:
        target.close()


def test_a_message_is_a_row_as_results_show_it_under_its_key(stack, open_) -> None:
    target = open_(key=('pa"g e', "small"))
    assert target.prepare(may_make=True)
    assert not open_().prepare(may_make=True)
    assert target.claim(Mark(1), is_known=False) == Mark(1)
    target.deliver(table(), Mark(1, PLACE, 4))
    wanted = [dict(zip(table().column_names, row, strict=True)) for row in json_rows(table())]
    got = [(orjson.loads(key), orjson.loads(value)) for key, value in read(stack.config.kafka_address, open_.name)]
    assert sorted(got, key=str) == sorted([([row['pa"g e'], row["small"]], row) for row in wanted], key=str)
    assert {row["price"] for row in wanted} == {"1.2345", None, "-9999999999999999.0001", "0.0000"}


def test_without_key_it_is_the_windows_start_and_the_querys_keys(stack, open_) -> None:
    target = open_()
    target.prepare(may_make=True)
    target.claim(Mark(1), is_known=False)
    target.deliver(table(LINES[:1]), Mark(1, PLACE, 1))
    [(key, _)] = read(stack.config.kafka_address, open_.name)
    assert orjson.loads(key) == ["2026-01-01T00:00:00Z", "a"]


def test_the_mark_is_read_back_and_an_earlier_owner_adds_nothing(stack, open_) -> None:
    old, new = open_(), open_()
    old.prepare(may_make=True)
    old.claim(Mark(1), is_known=False)
    old.deliver(table(), Mark(1, PLACE, 4, above_us=9))
    assert new.claim(Mark(2), is_known=True) == Mark(2, PLACE, 4, above_us=9)
    with pytest.raises(FencedError):
        old.deliver(table(), Mark(1, PLACE, 8))
    new.deliver(table(LINES[:1]), Mark(2, PLACE, 5))
    assert len(read(stack.config.kafka_address, open_.name)) == 5


def test_an_owner_that_stops_in_a_transaction_is_undone_by_the_next(stack, open_) -> None:
    old, new = open_(), open_()
    old.prepare(may_make=True)
    old.claim(Mark(1), is_known=False)

    def next_owner() -> None:  # all is sent, nothing committed
        assert new.claim(Mark(2), is_known=True) == Mark(2)

    with pytest.raises(FencedError):
        old._transactions.send(open_.name, [(-1, b"{}", b"[]")], Mark(1, PLACE, 1).dump(), next_owner)
    new.deliver(table(LINES[:2]), Mark(2, PLACE, 2))
    assert len(read(stack.config.kafka_address, open_.name)) == 2
    assert len(read(stack.config.kafka_address, open_.name, "read_uncommitted")) == 3


def test_a_call_that_never_returns_is_given_up_and_the_next_try_shuts_it_out(stack, open_, monkeypatch) -> None:
    monkeypatch.setattr(transactions, "LATE_S", 0.5)
    target, forever = open_(), threading.Event()
    target.prepare(may_make=True)
    target.claim(Mark(1), is_known=False)
    monkeypatch.setattr(transactions, "TIMEOUT_S", 0.5)
    target._transactions._producer = Stuck(target._transactions._producer, forever)
    with pytest.raises(TargetAwayError, match="does not come back"):
        target.deliver(table(), Mark(1, PLACE, 4))
    monkeypatch.setattr(transactions, "TIMEOUT_S", 30.0)
    after = open_()
    assert after.claim(Mark(1), is_known=True) == Mark(1)
    after.deliver(table(), Mark(1, PLACE, 4))
    forever.set()  # the call that was given up goes on, too late
    assert len(read(stack.config.kafka_address, open_.name)) == len(LINES)


class Stuck:
    """A producer that never comes back from one call."""

    def __init__(self, producer: Producer, until: threading.Event) -> None:
        self.producer, self.until = producer, until

    def __getattr__(self, name: str) -> object:
        return getattr(self.producer, name)

    def send_offsets_to_transaction(self, *arguments: object) -> None:
        self.until.wait()
        self.producer.send_offsets_to_transaction(*arguments)
        self.producer.commit_transaction(30)


def test_an_owner_of_a_lower_epoch_that_comes_late_is_told_so(open_) -> None:
    first = open_()
    first.prepare(may_make=True)
    first.claim(Mark(5), is_known=False)
    with pytest.raises(FencedError, match="its epoch is 5"):
        open_().claim(Mark(4), is_known=False)


def test_a_topic_or_a_group_that_is_gone_is_progress_lost(stack, open_) -> None:
    with pytest.raises(ProgressLostError, match="is gone"):
        open_().prepare(may_make=False)
    target = open_()
    target.prepare(may_make=True)
    with pytest.raises(ProgressLostError, match="no committed offset"):
        target.claim(Mark(2), is_known=True)
    assert target.claim(Mark(2, PLACE, 4), is_known=False) == Mark(2, PLACE, 4)
    admin = AdminClient({"bootstrap.servers": stack.config.kafka_address})
    admin.delete_consumer_groups([target.name])[target.name].result(20)
    with pytest.raises(ProgressLostError, match="no committed offset"):
        open_().claim(Mark(3), is_known=True)


def test_a_row_that_is_too_large_is_named_and_nothing_of_its_batch_is_there(stack, open_) -> None:
    target = open_()
    target.prepare(may_make=True)
    admin = AdminClient({"bootstrap.servers": stack.config.kafka_address})
    entry = ConfigEntry("max.message.bytes", "2000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, open_.name, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(20)
    target.claim(Mark(1), is_known=False)
    large = replace_text(LINES[0], "x" * 3_000)
    with pytest.raises(RowsRefusedError, match=r"of key \[\"2026-01-01T00:00:00Z\",\"xxx"):
        target.deliver(table([large]), Mark(1, PLACE, 1))
    assert read(stack.config.kafka_address, open_.name) == []
    assert open_().claim(Mark(2), is_known=True) == Mark(2)


def replace_text(line: tuple, text: str) -> tuple:
    return (text, *line[1:])


def test_a_connection_names_another_kafka_and_one_that_is_away_is_waited_for(stack, open_) -> None:
    there = Connection("k", "KAFKA", {"ADDRESS": stack.config.kafka_address})
    target = open_(connection=there)
    assert target.prepare(may_make=True)
    assert target.claim(Mark(1), is_known=False) == Mark(1)
    away = open_(connection=replace(there, options={"ADDRESS": "127.0.0.1:1"}))
    with pytest.raises(NotReadyError, match="Kafka"):
        away.prepare(may_make=True)
