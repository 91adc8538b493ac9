"""A producer process: sends generated tuples to a topic and writes the independent count of what it sent.

`python -m benchmarks.feed --kafka HOST:PORT --topic T --counts FILE ...` prints one JSON line a second with
the tuples sent so far, and writes FILE (Arrow) when the last one is acknowledged. Record batches are sent as
they are, without an object a message; nothing is sent twice, so a lost answer ends it with an error. TLS and passwords
are those of the environment's settings.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import ProduceRequest

from benchmarks.generator import KEYS, POOL, POOLS, SIPS, UNIFORM, UNITS, Generator
from benchmarks.record_batches import CODECS, encode
from mars import config as configuration
from mars.adapters.kafka.security import Security, security_of

BATCH_TUPLES = 5_000
TICK_S = 0.1
TIMEOUT_MS = 30_000
IN_FLIGHT_MAX = 4  # requests to one leader: the client library takes no more than five


class Feeder:
    """Raw Produce requests to the leaders of one topic's partitions, acknowledged one by one."""

    def __init__(self, kafka: str, topic: str, security: Security | None = None) -> None:
        self.topic = topic
        self.manager = KafkaConnectionManager(NetworkSelector(), bootstrap_servers=kafka, **(security or {}))
        self.manager.bootstrap(timeout_ms=10_000)
        asked = MetadataRequest.MetadataRequestTopic(name=topic)
        answer = self._call(MetadataRequest(topics=[asked], allow_auto_topic_creation=False,
                                            include_topic_authorized_operations=False, min_version=9, max_version=12))
        self.leaders = {p.partition_index: p.leader_id for p in answer.topics[0].partitions}
        if not self.leaders:
            raise SystemExit(f"topic {topic} does not exist on {kafka}")

    def send(self, partition: int, records: bytes) -> None:
        """Append record batches; returns when the broker has them."""
        self.send_all({partition: records})

    def send_all(self, *ticks: dict[int, bytes]) -> None:
        """Append record batches to several partitions, in one request to each leader for each of `ticks`, IN_FLIGHT_MAX at
        most: they are on their way together, and are appended in this order."""
        requests = [self._appending(leader, records) for records in ticks
                    for leader in {self.leaders[partition] for partition in records}]
        for answer in self._call_all(requests):
            for done in answer.responses[0].partition_responses:
                if done.error_code:
                    raise SystemExit(f"the broker refused a batch with error {done.error_code} "
                                     f"{done.error_message or ''}")

    def _appending(self, leader: int, records: dict[int, bytes]) -> tuple[object, int | None]:
        kind = ProduceRequest.TopicProduceData
        data = kind(name=self.topic, partition_data=[
            kind.PartitionProduceData(index=partition, records=batch) for partition, batch in records.items()
            if self.leaders[partition] == leader])
        return ProduceRequest(transactional_id=None, acks=-1, timeout_ms=TIMEOUT_MS, topic_data=[data],
                              min_version=9, max_version=12), leader

    def _call(self, request: object) -> Any:
        answer, = self._call_all([(request, None)])
        return answer

    def _call_all(self, requests: list[tuple[object, int | None]]) -> list:
        async def send() -> list:
            coming = [self.manager.send(request, node) for request, node in requests]
            return [await answer for answer in coming]
        return self.manager.run(send)


def feed(feeder: Feeder, generator: Generator, tuples: int, rate: int | None, packed: int, codec: str = "none") -> None:
    """Send `tuples` tuples, `packed` to a message, at most `rate` a second; a batch goes to one partition."""
    partitions = sorted(feeder.leaders)
    size = max(BATCH_TUPLES, packed) if rate is None else int(min(BATCH_TUPLES, max(1, rate * TICK_S / len(partitions))))
    began = said = time.monotonic()
    turn = 0
    while generator.made < tuples:
        rows = generator.lines(min(size, tuples - generator.made))
        feeder.send(partitions[turn % len(partitions)], encode(pack(rows, packed), int(time.time() * 1000), codec))
        turn += 1
        if time.monotonic() - said > 1:
            said = time.monotonic()
            print(json.dumps({"sent": generator.made}), flush=True)
        if rate and (ahead := began + generator.made / rate - time.monotonic()) > 0:
            time.sleep(ahead)


def pack(rows: np.ndarray, packed: int) -> np.ndarray:
    """Messages of `packed` lines each; what is left over for less than one message must be nothing."""
    if packed == 1:
        return rows
    lines = np.full((len(rows), rows.shape[1] + 1), ord("\n"), np.uint8)
    lines[:, :-1] = rows
    return lines.reshape(len(rows) // packed, -1)


def main() -> None:
    """The process."""
    parser = argparse.ArgumentParser(description="Sends generated tuples to a Kafka topic and counts them.")
    parser.add_argument("--kafka", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--counts", required=True, type=Path, help="Arrow file for the expected counts")
    parser.add_argument("--tuples", required=True, type=int)
    parser.add_argument("--rate", type=int, help="tuples per second, else as fast as it goes")
    parser.add_argument("--format", choices=POOLS, default="csv")
    parser.add_argument("--packed", type=int, default=1, help="tuples in a message")
    parser.add_argument("--start", required=True, type=int, help="event time of the first tuple, in seconds")
    parser.add_argument("--event-rate", required=True, type=float, help="tuples in a second of event time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--codec", choices=sorted(CODECS), default="none", help="compression of the record batches")
    parser.add_argument("--line-bytes", type=int, help="length of a tuple, 40 at least; 320 as JSON")
    parser.add_argument("--sips", type=int, default=SIPS, help="source addresses; 8 times as many groups")
    parser.add_argument("--pool", type=int, default=POOL, help="different tuples, times apart")
    parser.add_argument("--keys", choices=KEYS, default=UNIFORM, help="are all groups as frequent?")
    parser.add_argument("--unit", choices=UNITS, default="s", help="of the event time, which is written to the second")
    given = parser.parse_args()
    if max(BATCH_TUPLES, given.packed) % given.packed or given.tuples % given.packed or (given.rate and given.packed > 1):
        parser.error(f"--packed must divide --tuples and {BATCH_TUPLES}, and does not go with --rate")
    pool = POOLS[given.format](given.seed, given.pool, given.sips, given.line_bytes, given.keys, given.unit)
    generator = Generator(given.start, given.event_rate, given.seed, pool)
    security = security_of(configuration.load())
    feed(Feeder(given.kafka, given.topic, security), generator, given.tuples, given.rate, given.packed, given.codec)
    draft = given.counts.with_suffix(".draft")
    counts = generator.expected()
    with pa.OSFile(str(draft), "wb") as sink, pa.ipc.new_file(sink, counts.schema) as writer:
        writer.write_table(counts)
    draft.rename(given.counts)
    print(json.dumps({"sent": generator.made}), flush=True)


if __name__ == "__main__":
    main()
