"""How many rows a target of benchmarks.sinks has, asked again and again, by a reader of the target's own."""

from __future__ import annotations

from typing import Protocol

from confluent_kafka import Consumer, TopicPartition

from api.demo.postgres import Postgres
from mars.adapters.postgres import name as quoted


class Rows(Protocol):
    """The rows that have come."""

    def count(self) -> int:
        """How many there are now."""

    def close(self) -> None:
        """Ask no more."""


class KafkaRows:
    """The messages that a read-committed consumer has got; each call reads what is there."""

    def __init__(self, address: str, topic: str) -> None:
        self.consumer = Consumer({"bootstrap.servers": address, "group.id": "bench", "isolation.level": "read_committed",
                                  "enable.auto.commit": False, "auto.offset.reset": "earliest", "fetch.wait.max.ms": 5})
        partitions = self.consumer.list_topics(topic, 20).topics[topic].partitions
        self.consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
        self.got = 0

    def count(self) -> int:
        """As Rows.count."""
        while messages := self.consumer.consume(50_000, 0.002):
            self.got += sum(message.error() is None for message in messages)
        return self.got

    def close(self) -> None:
        """As Rows.close."""
        self.consumer.close()


class PostgresRows:
    """The rows of a table, by a connection that stays open."""

    def __init__(self, postgres: Postgres, table: str) -> None:
        self.connection = postgres.connect()
        self.cursor = self.connection.cursor()
        self.statement = f"SELECT count(*) FROM {quoted('public', table)}"

    def count(self) -> int:
        """As Rows.count."""
        self.cursor.execute(self.statement)
        [(found,)] = self.cursor.fetchall()
        self.connection.rollback()
        return found

    def close(self) -> None:
        """As Rows.close."""
        self.cursor.close()
        self.connection.close()
