"""The mapper's steps of the roofline: fetch, decode, parse, spill, aggregate, encode."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import google_crc32c
import numpy as np

from api.instance.services import Services
from benchmarks import floors, topics
from benchmarks.generator import LINE_BYTES, QUERY, SCHEMA
from benchmarks.steps import BATCH, BATCHES, Step, Stopwatch, least_ms
from mapper.aggregate import aggregate_task
from mapper.batch import Messages, ParsedBatch, TaskCells
from mapper.decode import decode
from mapper.kernels import records as layout
from mapper.parse import Parser
from mapper.spill import Spill
from mars.adapters.kafka.wire import Want, Wire
from mars.algebra.cells_wire import encode
from mars.model.claims import Claim
from mars.model.plan import QueryPlan, Stream
from sql.check.compile import compile_select
from sql.read.create import compile_stream
from sql.read.parse import parse
from sql.statements import CreateStream, SelectStatement

TOPIC = "roofline"
FETCH_BYTES = 16 << 20
STREAM_ID = 1 << 30
WORDS = 4  # the wanted fields lie in the first 32 bytes
LIMIT_MS = 300_000
LOOPS = 20


class Steps:
    """A topic with the tuples of all batches, and what each step leaves for the next."""

    def __init__(self, services: Services, folder: Path, batches: int = BATCHES) -> None:
        self.services, self.folder = services, folder
        self.stream, self.plan = stream_and_plan()
        self.topic = topics.fill(services.kafka.address, TOPIC, BATCH * batches, 1, 1, folder)
        self.parser = Parser(self.stream, self.plan.aggregation.columns)
        self.responses: list[bytes] = []
        self.messages: Messages  # by `fetch`
        self.parsed: ParsedBatch  # by `parse`

    def all(self) -> list[Step]:
        """The steps, in order."""
        return [*self.fetch(), self.decode(), self.parse(), self.aggregate(), self.encode(), self.spill()]

    def fetch(self) -> list[Step]:
        """The whole topic by the mapper's client, the best of some times; and a response's bytes by a plain socket."""
        wire = Wire(self.services.kafka.address)
        topic_id = wire.topic(TOPIC).topic_id
        costs = (float("inf"), float("inf"))
        for _ in range(4):
            watch, at, self.responses = Stopwatch(self.services.kafka.pid), 0, []
            while at < self.topic.tuples:
                with watch:
                    got, = wire.fetch(TOPIC, topic_id, {0: Want(at, -1, FETCH_BYTES)})
                self.responses.append(bytes(got.records))
                at = decode(got.records, at).next_offset
            costs = min(costs[0], watch.own_s), min(costs[1], watch.server_s)
        wire.close()
        path = self.folder / "response"
        path.write_bytes(self.responses[0])
        plain, read = floors.Loopback(str(path)), decode(self.responses[0], 0)
        self.messages, tuples = read.messages, len(read.messages)
        plain.receive()
        with Stopwatch(os.getpid()) as watch:
            for _ in range(LOOPS):
                plain.receive()
        plain.close()
        server = max(watch.server_s - watch.own_s, 0.0)
        receive, send = (scaled(s * 1e3 / LOOPS, tuples) for s in (watch.own_s, server))
        return [Step("broker: serve the fetch", send, scaled(costs[1] * 1e3, at), "sendfile of the bytes"),
                Step("fetch", receive, scaled(costs[0] * 1e3, at), "recv_into one buffer that is there")]

    def decode(self) -> Step:
        """Checksums and the places of the values."""
        records, tuples = self.responses[0], len(self.messages)
        buffer = np.frombuffer(records, np.uint8)
        heads = np.empty((len(buffer) // layout.HEADER, layout.FIELDS), np.int64)
        heads = heads[:layout.batch_headers(buffer, heads)]
        start, length = np.empty(tuples, np.int64), np.empty(tuples, np.int64)
        spans = heads[:, [layout.POSITION, layout.SIZE, layout.COUNT]].tolist()

        def walk() -> None:
            done = 0
            for position, _, count in spans:
                floors.walk_records(buffer, position + layout.HEADER, count, start[done:done + count],
                                    length[done:done + count])
                done += count

        crc = least_ms(lambda: [google_crc32c.value(buffer[p + 21:p + size]) for p, size, _ in spans])
        floor = crc + least_ms(walk)
        assert np.array_equal(np.diff(start), np.diff(self.messages.start))
        assert np.array_equal(length, self.messages.length)
        cost = least_ms(lambda: decode(records, 0))
        return Step("check and decode", scaled(floor, tuples), scaled(cost, tuples),
                    f"CRC-32C ({scaled(crc, tuples):.2f}) and the varints")

    def parse(self) -> Step:
        """The three wanted fields of twenty."""
        messages, tuples = self.messages, len(self.messages)
        buffer, start = messages.buffer, messages.start
        masks, values = np.empty(tuples, np.uint64), np.empty(tuples, np.int64)
        codes, table = np.empty(tuples, np.int32), np.zeros(1 << 14, np.int32)
        parts = {"commas": least_ms(lambda: floors.find_commas(buffer, start, WORDS, masks)),
                 "digits": least_ms(lambda: floors.ten_digits(buffer, start, values)),
                 "codes": 2 * least_ms(lambda: floors.look_up(buffer, start + 11, table, codes))}
        self.parsed = self.parser.parse(messages)
        assert np.array_equal(values, self.parsed.event_time)
        cost = least_ms(lambda: self.parser.parse(messages))
        said = ", ".join(f"{name} {scaled(ms, tuples):.2f}" for name, ms in parts.items())
        return Step("parse", scaled(sum(parts.values()), tuples), scaled(cost, tuples), said)

    def aggregate(self) -> Step:
        """Tuples to cells, divided by key part."""
        tuples = len(self.parsed)
        sip, kind = (self.parsed.columns[name].indices.to_numpy() for name in ("sip", "type"))
        size = int(kind.max()) + 1
        counts = np.zeros((int(sip.max()) + 1) * size, np.int64)
        floor = least_ms(lambda: floors.count_codes(sip, kind, size, counts))
        cost = least_ms(lambda: self.cells(self.parsed))
        return Step("aggregate and split", scaled(floor, tuples), scaled(cost, tuples),
                    "one count a tuple, in a table by codes")

    def cells(self, parsed: ParsedBatch) -> TaskCells:
        """What the query makes of a batch."""
        return aggregate_task(self.plan, self.stream, parsed, 0)

    def encode(self) -> Step:
        """Cells to bytes."""
        tuples, parts = len(self.parsed), self.cells(self.parsed).parts
        made = [bytearray(encode(part)) for part in parts]
        cost = least_ms(lambda: [encode(part) for part in parts])
        return Step("encode cells", scaled(least_ms(lambda: [bytes(part) for part in made]), tuples),
                    scaled(cost, tuples), f"a copy of the {sum(map(len, made)) >> 10} KiB")

    def spill(self) -> Step:
        """The local file, deleted again."""
        tuples, folder = len(self.parsed), self.folder / "spill"
        folder.mkdir()
        claim = Claim(1, 0, 0, tuples, {"q1": 1}, epoch=1, given=1, file=None)
        files = Spill(folder)
        file = files.write(self.stream, 1, claim, self.parsed)
        data, plain = Path(file["path"]).read_bytes(), folder / "plain"

        def write() -> None:
            plain.write_bytes(data)
            plain.unlink()

        cost = least_ms(lambda: files.delete(files.write(self.stream, 1, claim, self.parsed)))
        return Step("spill", scaled(least_ms(write), tuples), scaled(cost, tuples),
                    f"the {len(data) >> 10} KiB written to a file as they are")

    def batches(self) -> Iterator[tuple[int, int, TaskCells, int]]:
        """(first offset, offset after the last, cells, greatest event time) of each response of the topic."""
        at = 0
        for records in self.responses:
            read = decode(records, at)
            parsed = self.parser.parse(read.messages)
            yield at, read.next_offset, self.cells(parsed), int(parsed.event_time.max())
            at = read.next_offset


def scaled(ms: float, tuples: int) -> float:
    """ms for so many tuples, as ms per batch."""
    return ms * BATCH / tuples


def stream_and_plan() -> tuple[Stream, QueryPlan]:
    """The paper's stream, in two key parts, and its query."""
    declared = parse(f"CREATE STREAM s ({SCHEMA}) FROM KAFKA '{TOPIC}' FORMAT CSV TIMESTAMP timestamp UNIT s")
    select = parse(QUERY.format(stream="s"))
    assert isinstance(declared, CreateStream)
    assert isinstance(select, SelectStatement)
    stream = replace(compile_stream(declared), id=STREAM_ID, topic_id="t", key_parts=2)
    assert LINE_BYTES > 8 * WORDS
    return stream, compile_select(select, stream, True)
