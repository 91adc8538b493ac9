"""Storm, with acking and without, as its experts would set it for this query on two cores.

| setting | value | why |
| --- | --- | --- |
| topology | 2 Kafka spouts, 2 counters, grouped by "sip,type" | one hop; the spouts read three fields, from bytes |
| windows | counted in the counters' own maps | Storm's windowed bolts would keep all tuples of a window |
| watermark | each spout tells its partitions' times to all counters, 60 times a window | exact closing |
| ackers | 2, or none | one for each counter |
| topology.max.spout.pending | 20,000 | enough to fill the queues; more gains nothing and delays |
| topology.producer.batch.size | 1,000 | tuples change threads in bulk; the largest gain of all |
| topology.executor.receive.buffer.size | 32,768 | room for such bulks |
| the spout's guarantee | AT_LEAST_ONCE, or NO_GUARANTEE without acking | offsets are committed when tuples are acked |
| kafka fetch sizes | 8 MB a partition, 10,000 records a poll | fewer, larger fetches |
| JVM | 3 GB, parallel collector | throughput before pauses |

The cluster is in one process (a local cluster), which saves the network between workers. The process is up and has run the
query over a small topic before the clock starts, so its code is compiled; each job submits its topology anew. Counts live in
memory alone, and a tuple is acknowledged when it is counted, not when its count is written: a crash loses counts with acking
too, so both may lose. Storm's experts would mend that by a store that is slower still (clusters/storm.py writes first). A
result row is readable when its window's file has its name.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.contenders.program import MAY_LOSE, Program, Setup

SETTINGS = {
    "spouts": 2,
    "counters": 2,
    "ackers": 2,
    "topology.max.spout.pending": 20_000,
    "topology.producer.batch.size": 1_000,
    "topology.executor.receive.buffer.size": 32_768,
    "topology.stats.sample.rate": "0.001",
    "topology.message.timeout.secs": 120,
    "kafka.max.partition.fetch.bytes": 8 << 20,
    "kafka.fetch.max.bytes": 32 << 20,
    "kafka.max.poll.records": 10_000,
    "kafka.receive.buffer.bytes": 1 << 20,
}
JVM = ["-Xmx3g", "-XX:+UseParallelGC"]
OPENED = ["java.base/java.lang", "java.base/java.nio", "java.base/java.util", "java.base/sun.nio.ch"]


def command(setup: Setup, way: str) -> list[str]:
    """Compiles the program, then is Java with it."""
    settings = setup.folder / "settings.properties"
    settings.write_text("".join(f"{name}={value}\n" for name, value in SETTINGS.items()))
    classpath, classes = ":".join(map(str, setup.jars)), compiled(setup)
    opened = [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED]
    return [str(setup.java_home / "bin" / "java"), *JVM, *opened, f"-Djava.io.tmpdir={setup.folder}",
            f"-Dlog4j2.configurationFile={logging(setup.folder)}", "-cp", f"{classes}:{classpath}", "SideBySide",
            str(setup.folder), way, str(settings)]


def compiled(setup: Setup) -> Path:
    """The folder with the classes of our programs."""
    import subprocess

    classes, classpath = setup.folder / "classes", ":".join(map(str, setup.jars))
    sources = sorted(map(str, (setup.root / "benchmarks" / "storm").glob("*.java")))
    subprocess.run([*compiler(setup), "-nowarn", "-cp", classpath, "-d", str(classes), *sources], check=True)
    return classes


def compiler(setup: Setup) -> list[str]:
    """javac of the same Java, or of the PATH, else the Eclipse compiler from the jars."""
    for javac in (str(setup.java_home / "bin" / "javac"), "javac"):
        if found := shutil.which(javac):
            return [found, "--release", "17"]
    ecj = next(jar for jar in setup.jars if jar.name.startswith("ecj-"))
    return [str(setup.java_home / "bin" / "java"), "-jar", str(ecj), "--release", "17"]


def logging(folder: Path) -> Path:
    """A log configuration: warnings to the process's output."""
    file = folder / "log4j2.properties"
    file.write_text("rootLogger.level=warn\nrootLogger.appenderRef.out.ref=out\nappender.out.type=Console\n"
                    "appender.out.name=out\nappender.out.layout.type=PatternLayout\n"
                    "appender.out.layout.pattern=%d %p %c{1} %m%n\n")
    return file


STORM = Program("storm", "Storm 2.8.2, acking", MAY_LOSE, lambda setup: command(setup, "acking"), jars="storm_jars")
STORM_UNACKED = Program("storm-unacked", "Storm 2.8.2, no acking", MAY_LOSE, lambda setup: command(setup, "unacked"),
                        jars="storm_jars")
