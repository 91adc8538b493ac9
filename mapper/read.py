"""Which reader a mapper uses: the one place that knows them by name."""

from __future__ import annotations

from mapper.fetch import RawReader, Reader
from mapper.fetch_confluent import ConfluentReader
from mars.adapters.kafka.security import Security
from mars.adapters.kafka.wire import Wire
from mars.errors import ConfigurationError

READERS = ("raw", "confluent")


def open_reader(kind: str, bootstrap: str, security: Security, topic: str, topic_id: str, retry_s: float = 10.0) -> Reader:
    """A reader of one topic, to be made in the process that uses it. `kind` is the setting `reader`, one of READERS;
    `security` is that of mars.adapters.kafka.security; `topic_id` is the broker's UUID as text. Each call waits for Kafka
    for about `retry_s`, that of the second reader without end."""
    if kind == "raw":
        return RawReader(Wire(bootstrap, security, retry_s=retry_s), topic, topic_id)
    if kind == "confluent":
        return ConfluentReader(bootstrap, security, topic, topic_id)
    raise ConfigurationError(f"reader is {kind!r}", "", f"one of {', '.join(READERS)}")
