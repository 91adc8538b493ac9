"""The state that a query gets if its tuples cannot be read, and the reason with the exact range. Pure."""

from __future__ import annotations

from mapper.records import CorruptRecords
from mars.adapters.kafka.errors import CorruptLog, LogTruncated, OffsetOutOfRange, TopicRecreated
from mars.model.claims import Claim
from mars.model.log_epochs import truncated
from mars.model.registry import ANEW

STATES = {TopicRecreated: "TOPIC_RECREATED", LogTruncated: "LOG_TRUNCATED", OffsetOutOfRange: "DATA_LOSS",
          CorruptRecords: "FAILED", CorruptLog: "FAILED"}
STOPS = (TopicRecreated, LogTruncated, OffsetOutOfRange, CorruptRecords, CorruptLog)


def state_of(claim: Claim, error: Exception) -> str:
    """The query's state. An offset past the log's end existed when it was claimed, so retention cannot have deleted it:
    the log was truncated."""
    if isinstance(error, OffsetOutOfRange) and claim.start > error.end:
        return STATES[LogTruncated]
    return STATES[type(error)]


def why(claim: Claim, error: Exception) -> str:
    """What is missing or damaged, where, and what to do, for the query's reason."""
    place = f"of partition {claim.partition}"
    if isinstance(error, OffsetOutOfRange) and claim.start < error.log_start:
        return (f"offsets [{claim.start}, {error.log_start}) {place} were deleted before they were read, Kafka holds "
                f"[{error.log_start}, {error.end}): lengthen the topic's retention, then DROP QUERY and CREATE QUERY ... "
                "FROM EARLIEST")
    if isinstance(error, OffsetOutOfRange):
        return truncated(claim.partition, error.end, claim.start)
    if isinstance(error, LogTruncated):
        return truncated(claim.partition, error.diverging_offset, error.offset)
    anew = f"; {ANEW}" if isinstance(error, TopicRecreated) else ""
    return f"offsets [{claim.start}, {claim.end}) {place} cannot be read: {error}{anew}"
