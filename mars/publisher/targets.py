"""Which target a sink has."""

from __future__ import annotations

from mars.model.connections import KAFKA, Connection
from mars.model.sinks import Sink
from mars.publisher.target import Shape, Target, Way


def open_target(way: Way, sink: Sink, shape: Shape, connection: Connection | None) -> Target:
    """The target of a sink, connected."""
    from mars.publisher import kafka, postgres  # each brings a client library, and a sink needs one of them

    if sink.into.kind == KAFKA:
        return kafka.KafkaTarget(way, sink, shape, connection)
    assert connection is not None, sink  # CREATE SINK has seen to it
    return postgres.PostgresTarget(way, sink, shape, connection)
