"""Which reader a mapper uses: chosen by the setting `reader`, each giving exactly the same tuples."""

from __future__ import annotations

from mapper.fetch import RawReader, Reader
from mars.adapters.kafka_wire import Wire
from mars.config import Config
from mars.plan import Stream


def open_reader(config: Config, stream: Stream) -> Reader:
    """A reader of the stream's topic, for one thread of this process."""
    if config.reader == "confluent":
        from mapper.fetch_confluent import ConfluentReader

        return ConfluentReader(config.kafka_address, stream.topic, stream.topic_id)
    return RawReader(Wire(config.kafka_address), stream.topic, stream.topic_id)
