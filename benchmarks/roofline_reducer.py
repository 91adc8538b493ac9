"""The exchange's and the reducer's steps of the roofline: claim, register and push, receive, merge, close, commit."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from api.instance.services import Services
from benchmarks import floors
from benchmarks.roofline_mapper import STREAM_ID, scaled
from benchmarks.roofline_mapper import Steps as MapperSteps
from benchmarks.steps import BATCH, Step, Stopwatch, least_ms
from mapper.batch import TaskResult
from mapper.push import entries
from mars.adapters.exchange import Exchange
from mars.adapters.storage import Storage
from mars.adapters.zookeeper import ZooKeeper
from mars.algebra.cells_layout import schema
from mars.algebra.cells_wire import decode, encode
from mars.model.commits import Manifest
from mars.model.registry import Query, QuerySet
from reducer.committing import commit
from reducer.leading.lanes import install_state
from reducer.state.merge import Piece, QueryState

LOOPS = 20
PARTS = 2
TUPLES_PER_COMMIT = 600_000  # 3 million tuples a second, and a commit each 200 ms
WEEK_MS = 7 * 86_400_000
FAR = 1 << 40
BEHIND_S = 5


class Steps:
    """Two key parts of one query, with the cells that the mapper's steps make."""

    def __init__(self, services: Services, folder: Path, mapper: MapperSteps) -> None:
        self.services, self.folder, self.mapper = services, folder, mapper
        self.stream, self.plan = mapper.stream, mapper.plan
        self.query = Query("q1", "q", self.plan, incarnation=1, start={0: 0})
        self.made = [(start, end, done, [encode(part) for part in done.parts], greatest)
                     for start, end, done, greatest in mapper.batches()]

    def all(self) -> list:
        """The steps, in order."""
        push, receive, received = self.exchange()
        per_commit = TUPLES_PER_COMMIT // BATCH
        return [*push, *receive, *self.commit([pieces[:per_commit] for pieces in received])]

    def exchange(self) -> tuple[list, list, list[list[Piece]]]:
        """Claim, register, push and receive by the scripts; and by plain SET and GET of the same bytes."""
        exchange = Exchange(self.services.redis.address)
        queries = QuerySet(2, (0,), {"q1": self.query})
        pid = self.services.redis.pid
        out, into = Stopwatch(pid), Stopwatch(pid)
        for _ in range(LOOPS):
            exchange.forget(STREAM_ID)
            exchange.lead(STREAM_ID, generation=1, epoch=1).install(
                exchange.standing(STREAM_ID, ()).server,
                install_state(queries, [Manifest(STREAM_ID, part) for part in range(PARTS)]))
            received: list[list[Piece]] = [[] for _ in range(PARTS)]
            with out:
                self._push_all(exchange)
            with into:
                for part, pieces in enumerate(received):
                    after, log = 0, exchange.log(STREAM_ID, generation=1, key_part=part, epoch=1)
                    while after < len(self.made):
                        _, found = log.receive(after, 8 << 20)
                        pieces += [Piece(e.seq, e.header, share) for e in found for share in e.shares.values()]
                        after = pieces[-1].seq
        plain, kept = floors.PlainRedis(self.services.redis.address), Stopwatch(pid)
        given = Stopwatch(pid)
        blobs = [(part, bytearray(len(part))) for *_, parts, _ in self.made for part in parts]
        for _ in range(LOOPS):
            with kept:
                for place, (blob, _) in enumerate(blobs):
                    plain.set(b"roofline%d" % place, blob)
            with given:
                for place, (_, buffer) in enumerate(blobs):
                    plain.get(b"roofline%d" % place, buffer)
        plain.close()
        tuples = self.mapper.topic.tuples * LOOPS

        def ms(seconds: float) -> float:
            return max(scaled(seconds * 1e3, tuples), 1e-3)

        size = sum(len(blob) for blob, _ in blobs) // len(self.made) >> 10
        return ([Step("claim, register, push", ms(kept.own_s), ms(out.own_s), f"SET of the {size} KiB"),
                 Step("Redis: claim to push", ms(kept.server_s), ms(out.server_s), "SET")],
                [Step("receive", ms(given.own_s), ms(into.own_s), "GET"),
                 Step("Redis: receive", ms(given.server_s), ms(into.server_s), "GET")], received)

    def _push_all(self, exchange: Exchange) -> None:
        file = {"host": "h", "path": "x" * 60, "length": 1, "crc": 1}
        for request, (start, end, done, parts, greatest) in enumerate(self.made, 1):
            claim = exchange.claim(STREAM_ID, 1, "w", request, lease_ms=10_000, most=end - start, bound=FAR, key_parts=PARTS,
                                   ends={0: self.made[-1][1]}, stay=None, allow_new=True)
            assert claim is not None
            assert (claim.start, claim.end) == (start, end)
            assert exchange.register(STREAM_ID, 1, claim, file)
            result = TaskResult("q1", parts, done.counts, done.bad_reasons)
            assert exchange.push(STREAM_ID, 1, claim, claim.tasks, greatest, entries(claim, [result], PARTS, greatest, None))

    def commit(self, received: list[list[Piece]]) -> list[Step]:
        """TUPLES_PER_COMMIT tuples merged, windows closed behind them, and committed."""
        storage, zookeeper = Storage((self.folder / "state").as_uri()), ZooKeeper(self.services.zookeeper.address)
        paths = [f"/roofline/{name}" for name in ("generation", "owner", "queries", "pointer")]
        for path in paths:
            zookeeper.ensure(path)
        files, moved = Stopwatch(), Stopwatch(self.services.zookeeper.pid)
        began = time.monotonic()
        for loop in range(LOOPS):
            for part, pieces in enumerate(received):
                with files:
                    state = QueryState.resume(self.query, self.stream, None, [])
                    for piece in pieces:
                        state.accept(piece)
                    greatest = pieces[-1].header.max_event_time
                    assert greatest is not None
                    state.close(greatest - BEHIND_S)
                    commit.prepare(storage, Manifest(STREAM_ID, part), {"q1": state}, WEEK_MS)
                with moved:
                    assert zookeeper.transact(*(("check", path, 0) for path in paths[:3]),
                                              ("set", paths[3], b"x" * 200, loop * PARTS + part))
        waited_ms = (time.monotonic() - began) / LOOPS / PARTS * 1e3
        plain, single = self._plain_files(), Stopwatch(self.services.zookeeper.pid)
        with single:
            for _ in range(LOOPS * PARTS):
                zookeeper.client.set(paths[3], b"x" * 200)
        zookeeper.stop()

        def ms(seconds: float) -> float:
            return max(scaled(seconds * 1e3 / LOOPS, TUPLES_PER_COMMIT), 1e-3)

        return [Step("merge, close, commit files", ms(plain.own_s) + self._sums_ms(received), ms(files.own_s),
                     "a sum a cell; the bytes of the files written, fsynced"),
                Step("commit transaction", ms(single.own_s), ms(moved.own_s),
                     f"one set (a commit of {TUPLES_PER_COMMIT:,} tuples takes {waited_ms:.0f} ms by the clock)"),
                Step("ZooKeeper: transaction", ms(single.server_s), ms(moved.server_s), "one set")]

    def _plain_files(self) -> Stopwatch:
        """The bytes of all commits, written and fsynced file by file."""
        watch = Stopwatch()
        for data in [path.read_bytes() for path in (self.folder / "state").rglob("*-*")]:
            with watch:
                _write(self.folder / "plain", data)
        return watch

    def _sums_ms(self, received: list[list[Piece]]) -> float:
        """Per batch: each cell's count added where its place is known."""
        wanted = schema(self.plan.aggregation, self.stream)
        counts = [decode(piece.share.cells, wanted)["n"].to_numpy() for pieces in received for piece in pieces]
        places = [np.random.default_rng(1).permutation(len(each)) for each in counts]
        sums = np.zeros(max(map(len, counts)), np.int64)
        least = least_ms(lambda: [floors.add(sums, place, each) for place, each in zip(places, counts, strict=True)])
        return scaled(least, TUPLES_PER_COMMIT)


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
