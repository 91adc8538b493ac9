"""Flink SQL, as its experts would set it for this query on two cores.

| setting | value | why |
| --- | --- | --- |
| parallelism.default | 2 | a task chain a core; each reads two of the four partitions |
| query | window TVF TUMBLE | counted in two phases, local and global, over managed memory |
| table.optimizer.agg-phase-strategy | TWO_PHASE | said, not left to the planner |
| table.exec.mini-batch | on, 5,000 rows, 1 s | for what the window operator itself does not bundle |
| pipeline.object-reuse | on | no copy between chained operators |
| execution.checkpointing | each 5 s, EXACTLY_ONCE, to disk | the guarantee; results appear with a checkpoint |
| the same for latency | each 1 s, and no mini-batch | results appear sooner |
| state backend | hashmap | a few 10,000 open groups fit on the heap easily; RocksDB is for far more |
| format | csv, all columns declared | the pinned Kafka connector has no projection push-down, so all 20 are decoded; |
| | | the raw format with SPLIT_INDEX was tried and slower, a measurement that was not kept |
| kafka fetch sizes | 8 MB a partition, 10,000 records a poll | fewer, larger fetches |
| sink | CSV files, rolled and committed with each checkpoint | exactly once |
| JVM | 2 GB, parallel collector | throughput before pauses |

The cluster is in one process (a mini-cluster), which saves the network between job manager and task manager. The process
is up and has run the query over a small topic before the clock starts, so its code is compiled; each job starts its
mini-cluster anew, about a second. A bounded topic ends the job, and with it the last checkpoint makes all files readable.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.contenders.program import EXACTLY, Program, Setup
from benchmarks.contenders.protocol import CUMULATE, HOP, SESSION, TUMBLE, Job, serve

SETTINGS = {
    "parallelism.default": "2",
    "pipeline.object-reuse": "true",
    "execution.checkpointing.interval": "5 s",
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "state.backend.type": "hashmap",
    "table.local-time-zone": "UTC",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "5000",
}
LIVE = {"execution.checkpointing.interval": "1 s", "table.exec.mini-batch.enabled": "false"}
JVM = "-Xmx2g -XX:+UseParallelGC"
COLUMNS = ("`ts` BIGINT, `type` STRING, `sip` STRING, `dip` STRING, `port` INT, `location` STRING, `bytes` BIGINT, "
           "`packets` INT, `duration` INT, `protocol` STRING, `flags` INT, `ttl` INT, `app` STRING, `direction` INT, "
           "`status` INT, `user` STRING, `session` INT, `region` STRING, `device` STRING, `payload` STRING")
SOURCE = """
CREATE TEMPORARY TABLE tuples ({columns}, event_time AS TO_TIMESTAMP_LTZ(ts * {unit_ms}, 3),
  WATERMARK FOR event_time AS event_time - INTERVAL '{watermark_s:.3f}' SECOND(3))
WITH ('connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{kafka}',
  'properties.max.partition.fetch.bytes' = '8388608', 'properties.fetch.max.bytes' = '33554432',
  'properties.max.poll.records' = '10000', 'properties.receive.buffer.bytes' = '1048576',
  'scan.startup.mode' = 'earliest-offset', {bound} 'format' = 'csv')
"""
SINK = """
CREATE TEMPORARY TABLE counts (`window_ms` BIGINT, {end} `sip` STRING, `type` STRING, `n` BIGINT)
WITH ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'csv',
  'sink.rolling-policy.rollover-interval' = '1 s', 'sink.rolling-policy.check-interval' = '1 s')
"""
QUERY = """
INSERT INTO counts
SELECT {start}, {end} `sip`, `type`, count(*)
FROM TABLE({windows})
GROUP BY window_start, window_end, `sip`, `type`
"""
MS = "CAST(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', {edge}) AS BIGINT) * 1000"
WINDOWS = {TUMBLE: "TUMBLE(TABLE tuples, DESCRIPTOR(event_time), {size})",
           HOP: "HOP(TABLE tuples, DESCRIPTOR(event_time), {step}, {size})",
           SESSION: "SESSION(TABLE tuples PARTITION BY (`sip`, `type`), DESCRIPTOR(event_time), {size})",
           CUMULATE: "CUMULATE(TABLE tuples, DESCRIPTOR(event_time), {step}, {size})"}


def command(setup: Setup) -> list[str]:
    """The program, in PyFlink's own environment."""
    return [str(setup.python), "-m", "benchmarks.contenders.flink", str(setup.folder),
            ";".join(jar.as_uri() for jar in setup.jars)]


def environment(setup: Setup) -> dict[str, str]:
    """Java and its memory; logs into the folder."""
    return {"JAVA_HOME": str(setup.java_home), "JVM_ARGS": JVM, "FLINK_LOG_DIR": str(setup.folder)}


FLINK = Program("flink", "Flink SQL 2.3", EXACTLY, command, environment, jars="flink_jars", packages="flink_packages")


def main() -> None:
    """The program."""
    import sys

    from pyflink.java_gateway import get_gateway

    jars = sys.argv[2]
    get_gateway()
    serve(lambda job: run(job, jars))


def run(job: Job, jars: str) -> None:
    """Until the job has ended with its last checkpoint; for ever over a topic that goes on."""
    from pyflink.common import Configuration
    from pyflink.table import EnvironmentSettings, TableEnvironment

    configuration = Configuration()
    for name, value in {**SETTINGS, **({} if job.messages else LIVE), "pipeline.jars": jars,
                        "execution.checkpointing.dir": Path(job.work).as_uri()}.items():
        configuration.set_string(name, value)
    tables = TableEnvironment.create(
        EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build())
    bound = "'scan.bounded.mode' = 'latest-offset'," if job.messages else ""
    tables.execute_sql(SOURCE.format(columns=COLUMNS, unit_ms=job.unit_ms, watermark_s=job.watermark_ms / 1000,
                                     topic=job.topic, kafka=job.kafka, bound=bound))
    tables.execute_sql(SINK.format(out=Path(job.out).as_uri(), end="`end_ms` BIGINT," if job.has_ends else ""))
    tables.execute_sql(query(job)).wait()


def query(job: Job) -> str:
    """The statement of a job."""
    size, step = (f"INTERVAL '{ms // 1000}' SECOND(6)" for ms in (job.window_ms, job.step_ms))
    return QUERY.format(start=MS.format(edge="window_start"), end=f"{MS.format(edge='window_end')}," if job.has_ends else "",
                        windows=WINDOWS[job.windows].format(size=size, step=step))


if __name__ == "__main__":
    main()
