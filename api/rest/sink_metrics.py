"""What Prometheus reads of sinks."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from api.statements import sink_status
from api.statements.context import Context
from mars.model.sinks import DELIVERING

LABELS = ("sink", "query")


def collect(context: Context) -> Iterator[Metric]:
    """All metrics of sinks."""
    rows = GaugeMetricFamily("mars_sink_rows", "Rows that a sink has delivered.", labels=LABELS)
    behind = GaugeMetricFamily("mars_sink_behind_seconds", "Event time from a sink to its query's closed windows.",
                               labels=LABELS)
    delivering = GaugeMetricFamily("mars_sink_delivering", "1 if the sink is DELIVERING.", labels=LABELS)
    for document in sink_status.documents(context):
        labels = [document["name"], document["query"]]
        rows.add_metric(labels, document["rows"])
        delivering.add_metric(labels, int(document["state"] == DELIVERING))
        if document["behind_s"] is not None:
            behind.add_metric(labels, document["behind_s"])
    yield from (rows, behind, delivering)
