"""Which state a query gets when its tuples cannot be read, and the exact range in words. Pure."""

from __future__ import annotations

from mapper.decode import CorruptRecords
from mars.adapters.exchange import Claim
from mars.adapters.kafka_errors import LogTruncated, OffsetOutOfRange, TopicRecreated

STATES = {TopicRecreated: "TOPIC_RECREATED", LogTruncated: "LOG_TRUNCATED", OffsetOutOfRange: "DATA_LOSS",
          CorruptRecords: "FAILED"}


def why(claim: Claim, error: Exception) -> str:
    """What is missing or damaged where, and the way out, for the query's reason."""
    place = f"of partition {claim.partition}"
    if isinstance(error, OffsetOutOfRange) and claim.start < error.log_start:
        return (f"offsets [{claim.start}, {error.log_start}) {place} were deleted before they were read, Kafka holds "
                f"[{error.log_start}, {error.end}): lengthen the topic's retention, then DROP QUERY and CREATE QUERY ... "
                "FROM EARLIEST")
    if isinstance(error, OffsetOutOfRange):
        return (f"offsets from {claim.start} on {place} are not there, Kafka holds [{error.log_start}, {error.end}): the "
                "log was truncated or made anew; DROP QUERY and CREATE QUERY ... FROM EARLIEST")
    if isinstance(error, LogTruncated):
        return (f"offsets [{error.diverging_offset}, {error.offset}) {place} were counted and are other records now: an "
                "unclean leader election; DROP QUERY and CREATE QUERY ... FROM EARLIEST")
    return f"offsets [{claim.start}, {claim.end}) {place} cannot be read: {error}"
