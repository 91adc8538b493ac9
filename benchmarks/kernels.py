"""`python -m benchmarks.kernels [--kafka HOST:PORT]`: ms of CPU per 5000 tuples, step by step, on one core.

Tuples are the paper's: 20 fields, about 148 bytes, three of them wanted; batches of 50,000. With --kafka a topic of
them is made and read whole: tuples/s of fetch, decode and parse in one process.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

import numpy as np

from benchmarks.record_batches import encode
from mapper.batch import Messages
from mapper.decode import decode
from mapper.parse import Parser
from mapper.parse_columns import read_values
from mars.plan import Stream, StreamColumn

BATCH = 50_000
WANTED = ("time", "type", "sip")
WIDTH = 148


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--kafka", help="bootstrap address of a Kafka to read from")
    arguments.add_argument("--tuples", type=int, default=2_000_000, help="how many, with --kafka")
    given = arguments.parse_args()
    records = records_of(tuples(BATCH))
    messages = decode(records, 0).messages
    table = [("decode", lambda: decode(records, 0)), *csv_steps(messages)]
    for form, first in (("wanted first", True), ("wanted last", False)):
        table.append((f"JSON, 300 B, {form}", json_step(first)))
    print(f"ms of CPU per 5000 tuples, batches of {BATCH}")
    for name, step in table:
        print(f"  {name:32} {milliseconds(step):.3f}")
    if given.kafka:
        from benchmarks.kernels_kafka import read_whole
        read_whole(given.kafka, given.tuples)


def milliseconds(step: Callable, seconds: float = 1.0) -> float:
    """CPU time of a step per 5000 tuples: the least of the runs that fit into `seconds`."""
    step()
    best, end = float("inf"), time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.thread_time()
        step()
        best = min(best, time.thread_time() - begin)
    return best * 1e3 / BATCH * 5000


def tuples(count: int, first_second: int = 1_700_000_000) -> np.ndarray:
    """Rows of WIDTH bytes: CSV tuples, 5000 to the second, 1000 addresses and 8 types."""
    rng = random.Random(1)
    addresses = [".".join(["10", *(str(rng.randint(0, 255)) for _ in range(3))]) for _ in range(1000)]
    types = ["dns", "http", "tls", "ssh", "smtp", "icmp", "ftp", "ntp"]
    rows = []
    for i in range(count):
        fields = [str(first_second + i // 5000), rng.choice(types), rng.choice(addresses), rng.choice(addresses)]
        fields += [str(rng.randint(0, 65535)) for _ in range(15)]
        rows.append((",".join(fields) + ",").ljust(WIDTH, "p")[:WIDTH])
    return np.frombuffer("".join(rows).encode(), np.uint8).reshape(count, WIDTH)


def records_of(rows: np.ndarray, batch: int = 6000) -> bytes:
    """Record batches of about 1 MB, as one Fetch response holds them."""
    out = []
    for first in range(0, len(rows), batch):
        data = encode(rows[first:first + batch], 0)
        out.append(first.to_bytes(8, "big") + data[8:])
    return b"".join(out)


def csv_steps(messages: Messages) -> list[tuple[str, Callable]]:
    """The parser's steps on CSV messages."""
    others = tuple(StreamColumn(f"c{i}", "STRING") for i in range(17))
    columns = (StreamColumn("time", "BIGINT"), StreamColumn("type", "STRING"), StreamColumn("sip", "STRING"), *others)
    parser = Parser(Stream("s", 1, "t", "", columns, "CSV", "time", "s"), WANTED)
    found = parser._fields.fields(messages).columns
    return [
        ("fields (3 of 20, with lines)", lambda: parser._fields.fields(messages)),
        ("integers", lambda: read_values("BIGINT", found["time"])),
        ("two dictionaries", lambda: [parser._readers[name].read(found[name]) for name in WANTED[1:]]),
        ("parse, all in all", lambda: parser.parse(messages)),
    ]


def json_step(first: bool) -> Callable:
    """The parser on JSON messages with the wanted keys first or last."""
    rng = random.Random(2)
    items = []
    for i in range(BATCH):
        wanted = f'"time": {1_700_000_000 + i // 5000}, "type": "dns", "sip": "10.0.{rng.randint(0, 3)}.{i % 256}"'
        others = ", ".join(f'"f{j}": {rng.randint(0, 9999)}' if j % 2 else f'"f{j}": "v{rng.randint(0, 9999)}"'
                           for j in range(17))
        items.append(f"{{{wanted}, {others}}}" if first else f"{{{others}, {wanted}}}")
    length = np.array([len(item) for item in items], np.int64)
    messages = Messages(np.frombuffer("".join(items).encode(), np.uint8), np.cumsum(length) - length, length,
                        np.arange(BATCH), np.zeros(BATCH, np.int64))
    columns = (StreamColumn("time", "BIGINT"), StreamColumn("type", "STRING"), StreamColumn("sip", "STRING"))
    parser = Parser(Stream("s", 1, "t", "", columns, "JSON", "time", "s"), WANTED)
    return lambda: parser.parse(messages)


if __name__ == "__main__":
    main()
