"""Reading a whole topic in one process: fetch, decode and parse."""

from __future__ import annotations

import time
import uuid

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.kernel_inputs import csv_parser, tuples
from mapper.fetch import open_reader
from mars.adapters.kafka.wire import Wire

CLAIM = 50_000
LIMIT = 16 << 20


def read_whole(address: str, count: int) -> None:
    """Makes a topic of `count` tuples, reads it in ranges of CLAIM, prints tuples/s, and deletes it."""
    name = f"kernels_{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(20)
    _produce(address, name, count)
    wire = Wire(address)
    reader = open_reader(address, {}, name, wire.topic(name).topic_id)
    wire.close()
    parser = csv_parser()
    for label, parse in (("fetch and decode", False), ("fetch, decode and parse", True)):
        begin, cpu, read = time.monotonic(), time.process_time(), 0
        for start in range(0, count, CLAIM):
            found = reader.read(0, start, min(start + CLAIM, count), LIMIT)
            assert found is not None, start
            messages = found.messages
            read += len(parser.parse(messages)) if parse else len(messages)
        taken, cpu = time.monotonic() - begin, time.process_time() - cpu
        print(f"  {label:32} {read / taken / 1e6:.2f} M tuples/s, {cpu / read * 1e6:.2f} CPU s per M")
    reader.close()
    admin.delete_topics([name])[name].result(20)


def _produce(address: str, name: str, count: int) -> None:
    """Messages of the paper's tuples, one a message."""
    producer = Producer({"bootstrap.servers": address, "linger.ms": 50, "batch.size": 1 << 20, "acks": 1,
                         "queue.buffering.max.messages": 1_000_000})
    rows = [row.tobytes() for row in tuples(50_000)]
    for i in range(count):
        while True:
            try:
                producer.produce(name, rows[i % len(rows)], partition=0)
                break
            except BufferError:
                producer.poll(0.05)
    assert producer.flush(60) == 0
