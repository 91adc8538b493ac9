"""Kafka's errors when a sink delivers into a topic, by what is to be done about them."""

from __future__ import annotations

from confluent_kafka import KafkaError

from mars.adapters.kafka.transactions import Words
from mars.adapters.target_errors import FencedError, RowsRefusedError, TargetAwayError, TargetRefusesError
from mars.errors import MarsError

FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)
REFUSED = (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED,
           KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED,
           KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
ROWS = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE, KafkaError.INVALID_RECORD)


class SinkWords(Words):
    """Kafka's errors by what is to be done about them."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    def of(self, cause: KafkaError) -> MarsError:
        """A call that failed."""
        if cause.code() in FENCED:
            return FencedError("another publisher has the sink", cause.str())
        if cause.code() in REFUSED:
            return TargetRefusesError("Kafka refuses", cause.str(), "see the connection's user and the broker's ACLs")
        return TargetAwayError("Kafka does not take a transaction", cause.str(), "is it running? it is tried again")

    def refused(self, cause: KafkaError, key: bytes | None) -> MarsError:
        """A message that was not taken."""
        if cause.code() not in ROWS or key is None:
            return self.of(cause)
        return RowsRefusedError(f"topic '{self.topic}' refuses a row", f"of key {key.decode()}: {cause.str()}",
                                "raise max.message.bytes of the topic; or DROP the sink and CREATE it with a WHERE that "
                                "leaves the row out")
