"""A sink's way into a topic of Kafka: exactly once for consumers that read committed messages.

Rows are sent in transactions under a name that the sink alone has. Whoever opens that name ends what an earlier owner has
under way, and shuts it out. The mark is the text beside an offset of a consumer group, committed by the transaction itself.
As Kafka forgets groups that are idle, it is committed anew now and then.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pyarrow as pa

from mars import faults
from mars.adapters.kafka.admin import KafkaAdmin
from mars.adapters.kafka.security import Security, security_of
from mars.adapters.kafka.sink_words import SinkWords
from mars.adapters.kafka.transactions import Transactions
from mars.adapters.target_errors import ProgressLostError
from mars.model.connections import Connection
from mars.model.sinks import Mark, Sink
from mars.publisher.target import Pace, Shape, Way, key_columns, lost, under
from mars.results.formats import rows as json_rows

BY_KEY = -1  # the partition of a message's key
BROKERS_PARTITIONS = -1  # as many as the broker gives a topic that is made without a number
# How long a transaction of an owner that has gone may keep readers waiting; and the partition of a key as Java has it.
SETTINGS: dict[str, str | int] = {"transaction.timeout.ms": 30_000, "partitioner": "murmur2_random"}


class KafkaTarget:
    """One transactional producer and the topic."""

    pace, keeps_mark = Pace(), True

    def __init__(self, way: Way, sink: Sink, shape: Shape, connection: Connection | None) -> None:
        address, security = place(way, connection)
        self.topic = sink.into.name
        self.key = list(key_columns(sink.into, shape))
        self.admin = KafkaAdmin(address, security=security)
        self.words = SinkWords(self.topic)
        self.name = f"mars-sink-{way.instance}-{sink.id}"
        self._security = security
        self._transactions: Transactions | None = None

    def prepare(self, may_make: bool) -> bool:
        """As Target.prepare."""
        if self.admin.describe_new(self.topic) is not None:
            return False
        if not may_make:
            raise ProgressLostError("the topic is gone", f"Kafka at {self.admin.address} has no topic '{self.topic}', "
                                    "though rows were delivered into it")
        self.admin.create(self.topic, BROKERS_PARTITIONS)
        return True

    def claim(self, fresh: Mark, is_known: bool) -> Mark:
        """As Target.claim."""
        if self._transactions is None:
            self._transactions = Transactions(self.admin.address, self.name, self._security, self.words, **SETTINGS)
        text = self._transactions.last(self.topic)
        if text is None and is_known:
            raise lost(f"Kafka knows no committed offset of the group {self.name} in topic '{self.topic}'")
        try:
            mark = fresh if text is None else Mark.load(text)
        except ValueError as error:
            raise lost(str(error)) from None
        mark = under(mark, fresh)
        self._transactions.send(self.topic, (), mark.dump(), lambda: None)
        return mark

    def deliver(self, rows: pa.Table, mark: Mark) -> None:
        """As Target.deliver."""
        assert self._transactions is not None  # claim comes first
        self._transactions.send(self.topic, messages(rows, self.key), mark.dump(), _staged)

    def close(self) -> None:
        """As Target.close."""
        if self._transactions is not None:
            self._transactions.close()


def _staged() -> None:
    """All is sent, and nothing committed."""
    faults.point("publisher.staged")
    faults.point("publisher.committing")


def place(way: Way, connection: Connection | None) -> tuple[str, Security]:
    """Address and security of a connection, of Mars's own Kafka without one."""
    if connection is None:
        return way.config.kafka_address, security_of(way.config)
    protocol = str(connection.option("SECURITY"))
    security = {} if protocol == "PLAINTEXT" else {"security_protocol": protocol}
    if "TLS_CA" in connection.options:
        security["ssl_cafile"] = str(connection.option("TLS_CA"))
    if protocol.startswith("SASL"):
        security |= {"sasl_mechanism": str(connection.option("MECHANISM")),
                     "sasl_plain_username": str(connection.option("USER") or ""),
                     "sasl_plain_password": way.secret(connection.secrets["PASSWORD"]) if connection.secrets else ""}
    return str(connection.option("ADDRESS")), security


def messages(rows: pa.Table, key: list[str]) -> Iterator[tuple[int, bytes, bytes]]:
    """(partition, value, key) of each row: an object of the columns, and an array of the key's, with the values as /results
    shows them."""
    names, at = rows.column_names, [rows.column_names.index(column) for column in key]
    for row in json_rows(rows):
        yield BY_KEY, orjson.dumps(dict(zip(names, row, strict=True))), orjson.dumps([row[i] for i in at])
