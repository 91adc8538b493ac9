"""The application over real services, and commits made by hand for what it reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from api.rest.app import create_app
from api.statements.context import Context, connect
from mars.adapters.kafka.admin import KafkaAdmin
from mars.config import Config
from mars.model import names
from mars.model.commits import Manifest, Pointer, QueryCommit, ResultSegment, dump_index
from mars.model.plan import Stream
from mars.model.registry import Query
from mars.results.schema import schema_of


@pytest.fixture(scope="session")
def context(stack) -> Iterator[Context]:
    """What the application works with; no Spark."""
    made = Context(stack.config, connect(stack.config))
    made.storage.root.mkdir(parents=True, exist_ok=True)  # as a start does
    yield made
    made.close()


@pytest.fixture(scope="session")
def client(context) -> TestClient:
    """A client of the application; what the application raises comes as an answer."""
    return TestClient(create_app(context), "http://localhost", raise_server_exceptions=False)


class _With:
    """A context with another configuration."""

    def __init__(self, context: Context, config: Config) -> None:
        self._context, self.config = context, config

    def __getattr__(self, name: str) -> object:
        return getattr(self._context, name)


@pytest.fixture
def client_with(context) -> Callable[..., TestClient]:
    """Makes clients of the application with other settings."""
    def make(**settings: object) -> TestClient:
        config = Config(**{**context.config.model_dump(), **settings})
        return TestClient(create_app(_With(context, config)), "http://localhost")

    return make


@pytest.fixture(scope="session")
def kafka(context) -> KafkaAdmin:
    """For making topics."""
    return context.kafka


class Committer:
    """Plays the reducers of one query: each call commits key parts by hand."""

    def __init__(self, context: Context, stream: Stream, query: Query) -> None:
        self.context, self.stream, self.query = context, stream, query
        self.commits = {part: QueryCommit(query.incarnation) for part in range(stream.key_parts)}

    def commit(self, part: int, rows: list[dict] = (), **changes: object) -> None:
        """Commit closed rows (window_start as epoch seconds) and changed fields of one key part."""
        commit = dataclasses.replace(self.commits[part], **changes)
        if rows:
            commit.results = [*commit.results, self._segment(rows)]
        commit.commits += 1
        self.commits[part] = commit
        manifest = Manifest(self.stream.id, part, commit.commits, queries={self.query.id: commit})
        segment, = self.context.storage.write(f"test-{self.stream.id}", "manifest", [manifest.dump()])
        path = names.pointer(self.stream.id, part)
        self.context.zk.client.set(path, Pointer(segment, commit.commits).dump())
        self.context.snapshots.cache.forget()

    def forget(self, part: int, until: int) -> None:
        """Commit a key part without its rows of windows that end at or before `until`, as when their retention is over."""
        blank = ResultSegment(self.write("index", self._blob(schema_of(self.query.plan).empty_table())), 0,
                              *[until * 1_000_000] * 3, 0)
        kept = [result for result in self.commits[part].results if result.last_end_us > until * 1_000_000]
        self.commit(part, results=[], results_index=self.write("index", dump_index([blank, *kept])))

    def write(self, kind: str, blob: bytes):
        """A file of committed state."""
        return self.context.storage.write(f"test-{self.stream.id}", kind, [blob])[0]

    def _segment(self, rows: list[dict]) -> ResultSegment:
        seconds = pa.array([row["start"] for row in rows], pa.int64())
        size = self.query.plan.aggregation.window.size_ms // 1000
        ends = pa.array([row["start"] + size for row in rows], pa.int64())
        schema = schema_of(self.query.plan)
        columns = [s.cast(pa.timestamp("s")).cast(pa.timestamp("us")).cast(schema.field(0).type) for s in (seconds, ends)]
        columns += [pa.array([row[field.name] for row in rows], field.type) for field in list(schema)[2:]]
        table = pa.Table.from_arrays(columns, schema=schema)
        starts = [row["start"] * 1_000_000 for row in rows]
        return ResultSegment(self.write("results", self._blob(table)), len(rows), min(starts), max(starts),
                             max(starts) + size * 1_000_000, 0, min(starts) + size * 1_000_000)

    @staticmethod
    def _blob(table: pa.Table) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue().to_pybytes()


@pytest.fixture
def new_query(context, client, kafka, fresh_name) -> Callable[..., Committer]:
    """Makes topic, stream and query; gives a Committer for the query."""
    def make(select: str = "SELECT sip, count(*), sum(bytes) AS b FROM {s} GROUP BY sip WINDOWING 60 s",
             partitions: int = 1) -> Committer:
        topic, stream, query = fresh_name("t"), fresh_name("s"), fresh_name("q")
        kafka.create(topic, partitions)
        for sql in (f"CREATE STREAM {stream} (sip STRING, bytes BIGINT, time BIGINT) FROM KAFKA '{topic}' FORMAT CSV "
                    "TIMESTAMP time UNIT s", f"CREATE QUERY {query} AS {select.format(s=stream)}"):
            answer = client.post("/v1/sql", json={"sql": sql})
            assert answer.status_code == 200, answer.text
        return Committer(context, *context.catalog.query(query))

    return make
