"""Which target a sink has."""

from __future__ import annotations

from mars.model.connections import ICEBERG, KAFKA, POSTGRES, Connection
from mars.model.sinks import PARQUET, Sink
from mars.publisher.target import Shape, Target, Way


def open_target(way: Way, sink: Sink, shape: Shape, connection: Connection | None) -> Target:
    """The target of a sink, connected."""
    from mars.publisher import kafka, parquet, postgres, webhook  # each brings a library, and a sink needs one of them

    if sink.into.kind == KAFKA:
        return kafka.KafkaTarget(way, sink, shape, connection)
    if sink.into.kind == PARQUET:
        return parquet.ParquetTarget(way, sink, connection)
    assert connection is not None, sink  # CREATE SINK has seen to it
    if sink.into.kind == POSTGRES:
        return postgres.PostgresTarget(way, sink, shape, connection)
    if sink.into.kind == ICEBERG:
        from mars.publisher import iceberg  # brings 50 MB and takes two seconds

        return iceberg.IcebergTarget(way, sink, shape, connection)
    return webhook.WebhookTarget(way, sink, connection)
