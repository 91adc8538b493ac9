"""The metrics for Prometheus: counters, lag, commit and watermark of each query, and the live workers."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from api.rest import sink_metrics
from api.statements import status
from api.statements.context import Context
from mars.adapters.storage import CorruptFileError
from mars.model.commits import COUNTERS
from mars.model.registry import RUNNING
from mars.workers import KINDS, SCALED

MEDIA_TYPE = CONTENT_TYPE_LATEST
LABELS = ("query", "stream")


def render(context: Context) -> bytes:
    """The metrics as of now."""
    registry = CollectorRegistry()
    registry.register(_Now(context))
    return generate_latest(registry)


class _Now(Collector):
    """Collects from the commits at each request, so nothing is counted twice or kept."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def describe(self) -> list[Metric]:
        """Describes nothing in advance, because registering must not read anything."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        documents = list(self._documents())
        for name in COUNTERS:
            family = CounterMetricFamily(f"mars_query_{name}", f"Tuples of a query: {name}.", labels=LABELS)
            for labels, document, _ in documents:
                if document["counters"][name] is not None:
                    family.add_metric(labels, document["counters"][name])
            yield family
        yield from self._gauges(documents)
        yield from sink_metrics.collect(self.context)
        alive = GaugeMetricFamily("mars_workers", "Workers that are alive.", labels=["kind"])
        for kind in KINDS:
            alive.add_metric([kind.name], len(status.workers(self.context, kind)))
        yield alive
        wanted = GaugeMetricFamily("mars_workers_wanted", "Workers that are wanted.", labels=["kind"])
        counts = self.context.workforce.wanted()
        for kind in SCALED:
            wanted.add_metric([kind.name], counts[kind.plural])
        yield wanted

    def _documents(self) -> Iterator[tuple[list[str], dict, int | None]]:
        for stream, query in self.context.catalog.queries():
            document = status.query_document(self.context, stream, query)
            try:
                watermark = self.context.snapshots.read(stream, query).watermark_us
            except CorruptFileError:  # then the document has no figures either
                watermark = None
            yield [query.name, stream.name], document, watermark

    def _gauges(self, documents: list[tuple[list[str], dict, int | None]]) -> Iterator[Metric]:
        lag = GaugeMetricFamily("mars_query_lag_tuples", "Offsets not yet in the query's commits.", labels=LABELS)
        commit = GaugeMetricFamily("mars_query_commit", "The query's commit number.", labels=LABELS)
        age = GaugeMetricFamily("mars_query_watermark_age_seconds", "The clock minus the watermark.", labels=LABELS)
        running = GaugeMetricFamily("mars_query_running", "1 if the query is RUNNING.", labels=LABELS)
        known = GaugeMetricFamily("mars_query_lag_known", "1 if Kafka reported the topic's end.", labels=LABELS)
        for labels, document, watermark in documents:
            if document["commit"] is not None:
                commit.add_metric(labels, document["commit"])
            running.add_metric(labels, int(document["state"] == RUNNING))
            known.add_metric(labels, int(document["lag"] is not None))
            if document["lag"] is not None:
                lag.add_metric(labels, document["lag"]["tuples"])
            if watermark is not None:
                age.add_metric(labels, time.time() - watermark / 1e6)
        yield from (lag, known, commit, age, running)
