"""Spark Structured Streaming, as its experts would set it for this query on two cores.

| setting | value | why |
| --- | --- | --- |
| master | local[2] | one task a core |
| maxOffsetsPerTrigger | 400,000, or 1,000,000 | two lines of the table: micro-batches that follow soon, or large |
| | | ones, which spread the cost of planning and committing further; 2,000,000 gains no more |
| spark.sql.shuffle.partitions | 2 | a state store a core; each one more costs files in every micro-batch |
| state store | the default (in memory, deltas on disk) | a few 10,000 open groups fit easily; RocksDB is for far more |
| kafka.max.poll.records, fetch sizes | 50,000, 8 MB | fewer, larger fetches |
| minBatchesToRetain | 2 | less to tidy away |
| parsing | split(value, ',', 4), three fields | the fields behind are not touched; from_csv parses the whole line |
| output mode | append | a window's row is written once, when the watermark has passed it |
| sink | CSV files with Spark's own log of them | exactly once, by micro-batch |
| spark.driver.memory | 2 GB, parallel collector | throughput before pauses; more memory changes nothing |
| checkpoint | on disk | what exactly-once needs |

The session is up and has run the query over a small topic before the clock starts, so its code is compiled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from benchmarks.contenders.program import EXACTLY, Program, Setup
from benchmarks.contenders.protocol import HOP, SESSION, Job, serve

if TYPE_CHECKING:  # this runs without Spark where the program is only described
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.locality.wait": "0",
}
SOURCE = {
    "startingOffsets": "earliest",
    "kafka.max.poll.records": "50000",
    "kafka.max.partition.fetch.bytes": str(8 << 20),
    "kafka.fetch.max.bytes": str(32 << 20),
    "kafka.receive.buffer.bytes": str(1 << 20),
}


def command(setup: Setup, offsets_per_trigger: int, settings: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """The driver, in our own interpreter: PySpark is among what Mars needs. `settings` win over SETTINGS."""
    return [str(setup.python), "-m", "benchmarks.contenders.spark", str(setup.folder), ",".join(map(str, setup.jars)),
            str(offsets_per_trigger), *([json.dumps(dict(settings))] if settings else [])]


def environment(setup: Setup) -> dict[str, str]:
    """Java, and addresses on this machine alone."""
    return {"JAVA_HOME": str(setup.java_home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(setup.python)}


def committed(out: Path) -> list[Path]:
    """The files that the sink's log names; others may be there after a task failed."""
    files = set()
    for batch in (out / "_spark_metadata").glob("[0-9]*"):
        for line in batch.read_text().splitlines()[1:]:
            entry = json.loads(line)
            if entry["action"] == "add":
                files.add(Path(unquote(urlparse(entry["path"]).path)))
    return sorted(files)


SPARK = Program("spark", "Spark Structured Streaming 4.2, 400,000 a trigger", EXACTLY,
                lambda setup: command(setup, 400_000), environment, jars="spark_jars", results=committed)
SPARK_LARGE = Program("spark-large", "Spark Structured Streaming 4.2, 1,000,000 a trigger", EXACTLY,
                      lambda setup: command(setup, 1_000_000), environment, jars="spark_jars", results=committed)


def main() -> None:
    """The program."""
    import sys

    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    name, jars, offsets_per_trigger, *more = sys.argv[1:]
    folder = Path(name)
    settings = {**SETTINGS, **(json.loads(more[0]) if more else {}), "spark.jars": jars,
                "spark.local.dir": str(folder / "spark"), "spark.sql.warehouse.dir": (folder / "warehouse").as_uri()}
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    os.chdir(folder)
    spark = SparkSession.builder.config(conf=conf).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    serve(lambda job: run(spark, job, offsets_per_trigger))


def run(spark: SparkSession, job: Job, offsets_per_trigger: str) -> None:
    """Until all of the topic is in committed files; for ever over a topic that goes on."""
    query = start(spark, job, offsets_per_trigger)
    if not job.messages:
        query.awaitTermination()
    query.processAllAvailable()
    query.stop()


def start(spark: SparkSession, job: Job, offsets_per_trigger: str) -> StreamingQuery:
    """The streaming query."""
    from pyspark.sql import functions as f

    source = spark.readStream.format("kafka").options(**SOURCE)
    source = source.option("kafka.bootstrap.servers", job.kafka).option("subscribe", job.topic)
    source = source.option("maxOffsetsPerTrigger", offsets_per_trigger)
    fields = f.split(f.col("value").cast("string"), ",", 4)
    unit = f.timestamp_seconds if job.unit_ms == 1000 else f.timestamp_millis
    tuples = source.load().select(fields.alias("f")).select(
        unit(f.col("f")[0].cast("bigint")).alias("time"), f.col("f")[1].alias("type"), f.col("f")[2].alias("sip"))
    size, step = (f"{ms} milliseconds" for ms in (job.window_ms, job.step_ms))
    window = f.session_window("time", size) if job.windows == SESSION else \
        f.window("time", size, step) if job.windows == HOP else f.window("time", size)
    counts = (tuples.withWatermark("time", f"{job.watermark_ms} milliseconds")
              .groupBy(window.alias("window"), "sip", "type").count())
    edges = [f.unix_millis(f.col(f"window.{edge}")).alias(edge) for edge in ("start", "end")[:1 + job.has_ends]]
    rows = counts.select(*edges, "sip", "type", "count")
    return (rows.writeStream.format("csv").outputMode("append").option("path", job.out)
            .option("checkpointLocation", job.work).start())


if __name__ == "__main__":
    main()
