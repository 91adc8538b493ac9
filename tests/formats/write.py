"""Keeps what this version writes, for later ones to read: `python -m tests.formats.write DATA`, with an instance there.

Makes a stream, a topic with open and closed windows, and a tuple that does not read; then `<FORMAT>.zip` beside this file
gets the znodes, the state folder, and what the API said of them. Such a file is never written anew.
"""

from __future__ import annotations

import json
import sys
import time
import zipfile
from pathlib import Path

from confluent_kafka import Producer

from api.cli.client import Client
from api.instance import runfile
from api.instance.identity import FORMAT
from mars.adapters.kafka.admin import KafkaAdmin
from mars.adapters.zookeeper import ZooKeeper
from mars.model import names

TOPIC, TUPLES, PARTITIONS = "kept", 4_000, 2
QUERIES = {
    "sums": "SELECT k, count(*) AS n, sum(v) AS total, avg(v) AS mean, min(v) AS least, count(DISTINCT v) AS kinds "
            "FROM kept GROUP BY k WINDOWING 1 s WATERMARK 0 s GRACE 1 s FROM EARLIEST",
    "all_of_them": "SELECT count(*) AS n, max(k) AS most FROM kept WHERE v > 10 GROUP BY t WINDOWING 5 s "
                   "WATERMARK 1 s IDLE OFF FROM EARLIEST",
    "shared": "SELECT k, avg(v * 1e0) AS mean, sum(v * 1e0) AS total, count(v * 1e0) AS n, var_pop(v) AS spread, "
              "stddev_samp(v) AS deviation FROM kept GROUP BY k WINDOWING 2 s WATERMARK 0 s FROM EARLIEST"}


def main(data: Path) -> None:
    """Refuses to write over what is kept already."""
    run, file = runfile.require(data), Path(__file__).parent / f"{FORMAT}.zip"
    with Client(run.api) as api, zipfile.ZipFile(file, "x", zipfile.ZIP_DEFLATED) as kept:
        fill(api, run.kafka)
        expected = {query: {"closed": rows(api, query), "all": rows(api, query, partial="true"),
                            "counters": api.get(f"/v1/queries/{query}")["counters"]} for query in QUERIES}
        kept.writestr("expected.json", json.dumps(expected, default=str))
        zookeeper = ZooKeeper(run.zookeeper)
        for path in tree(zookeeper, names.ROOT):
            kept.writestr(f"znodes{path}", zookeeper.get(path).data)
        zookeeper.stop()
        for part in (data / "state").rglob("*"):
            if part.is_file():
                kept.write(part, f"state/{part.relative_to(data / 'state')}")


def fill(api: Client, kafka: str) -> None:
    """Make topic, stream and queries, in several commits."""
    admin = KafkaAdmin(kafka)
    admin.create(TOPIC, PARTITIONS)
    api.sql(f"CREATE STREAM {TOPIC} (t BIGINT, k VARCHAR, v BIGINT) FROM KAFKA '{TOPIC}' FORMAT CSV TIMESTAMP t UNIT ms")
    for name, select in QUERIES.items():
        api.sql(f"CREATE QUERY {name} AS {select}")
    producer = Producer({"bootstrap.servers": kafka})
    for i in range(TUPLES):
        value = b"no tuple" if i == 100 else f"{1_700_000_000_000 + 5 * i},k{i % 7},{i % 97}".encode()
        producer.produce(TOPIC, value, partition=i % PARTITIONS)
        if i % 1_000 == 999:
            producer.flush()
            time.sleep(1.0)
    while any(sum(api.get(f"/v1/queries/{query}")["positions"].values()) < TUPLES for query in QUERIES):
        time.sleep(0.1)
    time.sleep(2.0)


def rows(api: Client, query: str, **parameters: str) -> list[dict]:
    """All rows, as JSON has them."""
    return json.loads(json.dumps([row for page in api.pages(query, **parameters) for row in page.to_pylist()], default=str))


def tree(zookeeper: ZooKeeper, path: str) -> list[str]:
    """Every znode that holds something."""
    below = [found for child in zookeeper.children(path) for found in tree(zookeeper, f"{path}/{child}")]
    node = zookeeper.get(path)
    return [*([path] if node and node.data else []), *below]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
