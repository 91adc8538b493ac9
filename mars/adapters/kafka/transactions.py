"""Sends messages to a topic, batch by batch, each in a transaction whose id Kafka keeps (confluent-kafka)."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from mars.adapters.kafka.security import Security, librdkafka
from mars.errors import ConflictError, MarsError, NotReadyError

TIMEOUT_S = 30.0
LATE_S = 5.0  # so much later than its time-out, a call is taken for one that never returns
LOG = logging.getLogger(__name__)
Message = tuple[int, bytes] | tuple[int, bytes, bytes]


class Words:
    """Kafka's errors in Mars's words, for re-drives. What sends something else has words of its own."""

    def of(self, cause: KafkaError) -> MarsError:
        """A call that failed. A fatal error means that another object of the name has begun."""
        if cause.fatal():
            return ConflictError("another re-drive of the stream has begun", cause.str(),
                                 "wait until it ends, then look: SHOW DEAD LETTERS says what was sent")
        return NotReadyError("Kafka did not take a transaction", cause.str(), "is it running? then try again")

    def refused(self, cause: KafkaError, key: bytes | None) -> MarsError:
        """A message of that key that was not taken."""
        return MarsError("Kafka did not take the messages", cause.str(),
                         "nothing of this transaction is in the topic; try again")


class Transactions:
    """Transactions under one name. Opening it ends what another object of that name has in flight: the next call of that
    one raises what `words` say, ConflictError for re-drives.

    The id of the last transaction into a topic is kept as the text of a committed offset of the consumer group `name`, in
    partition 0 of that topic. The transaction itself writes it.
    """

    def __init__(self, address: str, name: str, security: Security | None = None, words: Words | None = None,
                 **settings: str | int) -> None:
        self._words = words or Words()
        client = {"bootstrap.servers": address, "log_level": 0, **librdkafka(security or {})}
        self._consumer = Consumer({**client, "group.id": name, "enable.auto.commit": False,
                                   "isolation.level": "read_committed"}, logger=LOG)
        self._producer = Producer({**client, "transactional.id": name, "linger.ms": 20,
                                   "message.max.bytes": 100 << 20, **settings}, logger=LOG)
        self._is_stuck = False
        with self._translated():
            self._within(self._producer.init_transactions, TIMEOUT_S)

    def last(self, topic: str) -> str | None:
        """The id of the last committed transaction into the topic; None if there is none, or Kafka has forgotten it."""
        with self._translated():
            found, = self._consumer.committed([TopicPartition(topic, 0)], timeout=TIMEOUT_S)
        return found.metadata or None

    def send(self, topic: str, messages: Iterable[Message], id_: str, before_end: Callable[[], None]) -> None:
        """Send (partition, value) or (partition, value, key) in their order; the partition -1 means that of the key. All
        of them are readable when this returns, and none if it raises, unless the outcome is unknown: then `last` tells.
        `before_end` is called when everything is sent and nothing is committed."""
        failed: list[tuple[KafkaError, bytes | None]] = []
        with self._translated():
            self._producer.begin_transaction()
            try:
                for partition, value, *key in messages:
                    self._produce(topic, partition, value, failed, *key)
                if self._producer.flush(TIMEOUT_S) or failed:
                    raise self._words.refused(*(failed or [(KafkaError(KafkaError._TIMED_OUT), None)])[0])
                before_end()
                self._within(self._producer.send_offsets_to_transaction, [TopicPartition(topic, 0, 0, metadata=id_)],
                             self._consumer.consumer_group_metadata(), TIMEOUT_S)
            except BaseException:
                if not self._is_stuck:
                    with contextlib.suppress(KafkaException):
                        self._within(self._producer.abort_transaction, TIMEOUT_S)
                raise
            self._within(self._producer.commit_transaction, TIMEOUT_S)

    def close(self) -> None:
        """Ends the connections."""
        self._consumer.close()

    def _within(self, call: Callable[..., object], *arguments: object) -> None:
        """Make a call in a thread of its own, and give up if it does not return. librdkafka's send_offsets_to_transaction
        ignores its time-out while the group's coordinator does not answer, and may then wait for ever (its issue 5456). The
        thread and the producer stay behind; whoever opens the name again shuts them out."""
        failed: list[BaseException] = []

        def run() -> None:
            try:
                call(*arguments)
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=run, name="transaction", daemon=True)
        thread.start()
        thread.join(TIMEOUT_S + LATE_S)
        if thread.is_alive():
            self._is_stuck = True
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the client does not come back from a call"))
        if failed:
            raise failed[0]

    def _produce(self, topic: str, partition: int, value: bytes, failed: list[tuple[KafkaError, bytes | None]],
                 key: bytes | None = None) -> None:
        def heard(error: KafkaError | None, _message: object) -> None:
            if error is not None:
                failed.append((error, key))

        while True:
            try:
                return self._producer.produce(topic, value, key=key, partition=partition, on_delivery=heard)
            except BufferError:  # the broker is slower than this process
                self._producer.poll(0.1)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """Translates Kafka's errors into Mars's."""
        try:
            yield
        except KafkaException as error:
            raise self._words.of(error.args[0]) from error
