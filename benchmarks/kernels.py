"""`python -m benchmarks.kernels [--kafka HOST:PORT]`: ms of CPU per 5000 tuples, step by step, on one core.

Tuples are the paper's: 20 fields, about 148 bytes, three of them wanted; batches of 100,000, several in turn, so that
each comes from memory as it would after a fetch. With --kafka a topic of them is made and read whole: tuples/s of fetch,
decode and parse in one process.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.kernel_inputs import PACKED, WANTED, csv_parser, messages_of, packed, quoted, records_of, tuples
from mapper.batch import Messages
from mapper.decode import decode
from mapper.parse import Parser, blocks
from mars.model.plan import Stream, StreamColumn

BATCH, BATCHES = 100_000, 3

Step = Callable[[], object]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--kafka", help="bootstrap address of a Kafka to read from")
    arguments.add_argument("--tuples", type=int, default=2_000_000, help="how many, with --kafka")
    given = arguments.parse_args()
    rows = [tuples(BATCH, seed) for seed in range(BATCHES)]
    records = [records_of(some) for some in rows]
    table: list[tuple[str, Sequence[Step]]] = [("decode", [partial(decode, some, 0) for some in records])]
    table += csv_steps([decode(some, 0).messages for some in records])
    table += [(f"parse, {form}", parse_steps([make(some) for some in rows]))
              for form, make in (("quoted", quoted), (f"{PACKED} lines a message", packed),
                                 (f"{PACKED} quoted lines", lambda some: packed(some, quoted)))]
    for form, first in (("wanted first", True), ("wanted last", False)):
        table.append((f"JSON, 300 B, {form}", [json_step(first)]))
    print(f"ms of CPU per 5000 tuples, batches of {BATCH}")
    for name, steps in table:
        print(f"  {name:32} {milliseconds(steps):.3f}", flush=True)
    if given.kafka:
        from benchmarks.kernels_kafka import read_whole
        read_whole(given.kafka, given.tuples)


def milliseconds(steps: Sequence[Step], seconds: float = 1.0) -> float:
    """CPU time of a step per 5000 tuples: the median of as many runs as fit into `seconds`, over its batches in turn."""
    for step in steps:
        step()
    taken, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        for step in steps:
            begin = time.thread_time()
            step()
            taken.append(time.thread_time() - begin)
    return statistics.median(taken) * 1e3 / BATCH * 5000


def csv_steps(batches: list[Messages]) -> list[tuple[str, Sequence[Step]]]:
    """The parser's steps on CSV messages: each line does one more of them than the line before."""
    parser = csv_parser()

    def run(messages: Messages, columns: tuple[str, ...]) -> None:
        for name in columns:
            parser._readers[name].begin(BATCH)
        for block in blocks(messages):
            found = parser._fields.fields(block).columns
            for name in columns:
                parser._readers[name].add(found[name])

    names = ["fields (3 of 20, with lines)", *(f"  + {name}" for name in WANTED)]
    steps = [(name, [partial(run, messages, WANTED[:many]) for messages in batches]) for many, name in enumerate(names)]
    return [*steps, ("parse, all in all", [partial(parser.parse, messages) for messages in batches])]


def parse_steps(batches: list[list[bytes]]) -> Sequence[Step]:
    """Parsing of CSV messages."""
    parser = csv_parser()
    return [partial(parser.parse, messages_of(items)) for items in batches]


def json_step(first: bool) -> Step:
    """The parser on JSON messages with the wanted keys first or last."""
    rng = random.Random(2)
    items = []
    for i in range(BATCH):
        wanted = f'"time": {1_700_000_000 + i // 5000}, "type": "dns", "sip": "10.0.{rng.randint(0, 3)}.{i % 256}"'
        others = ", ".join(f'"f{j}": {rng.randint(0, 9999)}' if j % 2 else f'"f{j}": "v{rng.randint(0, 9999)}"'
                           for j in range(17))
        items.append(f"{{{wanted}, {others}}}" if first else f"{{{others}, {wanted}}}")
    columns = (StreamColumn("time", "BIGINT"), StreamColumn("type", "STRING"), StreamColumn("sip", "STRING"))
    parser = Parser(Stream("s", 1, "t", "", columns, "JSON", "time", "s"), ("time", "type", "sip"))
    return partial(parser.parse, messages_of([item.encode() for item in items]))


if __name__ == "__main__":
    main()
