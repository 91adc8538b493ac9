"""What can go wrong between Mars and a Kafka log. Only KafkaUnreachable passes by waiting."""

from __future__ import annotations

from mars.errors import MarsError, NotFoundError, NotReadyError, Remedy

OFFSET_OUT_OF_RANGE = 1
CORRUPT_MESSAGE = 2
UNKNOWN_TOPIC_NAME = (3, 17)  # unknown, impossible
TOPIC_EXISTS = 36
UNKNOWN_TOPIC_ID = (100, 103)  # unknown, inconsistent
FENCED_OR_MOVED = (5, 6, 9, 56, 74, 75, 78)  # leader or replica elsewhere, disk, epochs, offsets not available yet


class KafkaUnreachable(NotReadyError):
    """No answer, or a changing cluster; worth another try."""

    def __init__(self, what: str, partition: int, detail: str) -> None:
        super().__init__("Kafka does not answer", f"{_place(what, partition)}: {detail}",
                         "check that the brokers run, that the bootstrap address is theirs, and that "
                         "kafka_security_protocol is the protocol of their listener")


class KafkaDistrust(KafkaUnreachable):
    """A connection that the brokers or Mars refuse because of certificates, password or protocol. `hint` names the
    settings. It passes if the cause is corrected on the brokers' side, so it is retried like any other failed
    connection."""

    def __init__(self, title: str, detail: str, hint: str) -> None:
        NotReadyError.__init__(self, title, detail, hint)


class KafkaRefused(MarsError):
    """An answer that no retry changes: authorization, an unsupported version, a malformed request."""

    def __init__(self, what: str, partition: int, detail: str) -> None:
        super().__init__("Kafka refuses", f"{_place(what, partition)}: {detail}",
                         "see the security settings, the broker's ACLs and its version (3.1 or later)")


class CorruptLog(MarsError):
    """A broker finds its own records damaged; nobody can read them."""

    remedy = Remedy.STOP_QUERY

    def __init__(self, topic: str, partition: int, offset: int) -> None:
        super().__init__("the broker's log is damaged", f"topic {topic}, partition {partition}, from offset {offset} on",
                         "let another replica lead, or repair the broker's disk")


class UnknownTopic(NotFoundError):
    """The cluster has no such topic or partition."""

    def __init__(self, what: str) -> None:
        super().__init__(f"there is no topic {what}", "", "create the topic, or see what the cluster has")


class TopicRecreated(MarsError):
    """The name means another topic now: `found` is its id, `expected` the id of the one that was read so far."""

    remedy = Remedy.STOP_QUERY

    def __init__(self, topic: str, expected: str, found: str) -> None:
        super().__init__(f"topic {topic} was deleted and created again", f"its id was {expected} and is {found}",
                         "offsets of the old topic mean nothing in the new one: create the stream again")
        self.expected, self.found = expected, found


class LogTruncated(MarsError):
    """The log was rewritten below what was read. It is the same up to `diverging_offset` of `diverging_epoch`."""

    remedy = Remedy.STOP_QUERY

    def __init__(self, topic: str, partition: int, offset: int, diverging_epoch: int, diverging_offset: int) -> None:
        super().__init__(f"the log of {_place(topic, partition)} was truncated",
                         f"read up to {offset}, but it is the same log only up to {diverging_offset}",
                         "an unclean leader election lost records that were already counted")
        self.partition, self.offset = partition, offset
        self.diverging_epoch, self.diverging_offset = diverging_epoch, diverging_offset


class OffsetOutOfRange(MarsError):
    """The log does not hold `offset`: it holds [log_start, end) now."""

    remedy = Remedy.STOP_QUERY

    def __init__(self, topic: str, partition: int, offset: int, log_start: int, end: int) -> None:
        super().__init__(f"{_place(topic, partition)} does not hold offset {offset}",
                         f"it holds offsets from {log_start} to {end}",
                         "records were deleted before they were read: lengthen the topic's retention")
        self.partition, self.offset, self.log_start, self.end = partition, offset, log_start, end


def _place(what: str, partition: int) -> str:
    return f"{what}, partition {partition}" if partition >= 0 else what
