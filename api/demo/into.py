"""`mars demo --into postgres`: the results of the demo's query in a Postgres of its own, by one statement, compared with
those that Mars has. The server lives as long as the demo."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from api.cli.client import Client
from api.cli.commands.secret import store
from api.demo.check import Verdict
from api.demo.postgres import Postgres
from api.demo.view import say
from mars.config import Config
from mars.errors import MarsError
from mars.results.formats import rows as json_rows
from sql.guess.stream import name_text

NAME, SECRET = "demo_postgres", "demo_postgres_password"
LOOK_S, SETTLE_S = 0.2, 120.0


class Into:
    """The connection, which is there while the block of `opened` runs, and the sink of one query."""

    def __init__(self, client: Client, server: Postgres) -> None:
        self.client, self.server = client, server
        self.table = ""

    def deliver(self, query: str) -> None:
        """Make the sink: one statement."""
        self.table = query
        statement = f"CREATE SINK {NAME} FROM {name_text(query)} INTO POSTGRES {NAME} TABLE 'public.{query}'"
        say(f"  sink    {statement}\n")
        self.client.sql(statement)

    def verdict(self) -> Verdict:
        """Wait until all closed windows are delivered, then compare each row."""
        deadline = time.monotonic() + SETTLE_S
        while (sink := self.client.get(f"/v1/sinks/{NAME}"))["behind_s"] != 0:
            if sink["state"] not in ("STARTING", "DELIVERING", "WAITING") or time.monotonic() > deadline:
                raise MarsError(f"The sink is {sink['state']}", str(sink["reason"]),
                                f"mars sql -c 'EXPLAIN SINK {NAME} WHY' says more")
            time.sleep(LOOK_S)
        results = pa.concat_tables(self.client.pages(self.table))
        there = self.server.table(self.table).select(results.column_names).cast(results.schema)
        wanted, found = Counter(json_rows(results)), Counter(json_rows(there))
        if wanted != found:
            first = next(iter((wanted - found) or (found - wanted)))
            return Verdict(0, 0, difference=f"{len(results):,} rows in the results, {len(there):,} in Postgres; the first "
                           f"that differs is {first}")
        say(f"Postgres has all {len(results):,} rows of the closed windows, each once")
        return Verdict(0, 0)


@contextmanager
def opened(config: Config, client: Client) -> Iterator[Into]:
    """A Postgres with a connection to it. Afterwards connection, sink and server are gone."""
    forget(config, client)
    server = Postgres(secrets.token_urlsafe(16))
    try:
        say(f"  postgres on 127.0.0.1:{server.port}, while the demo runs")
        with store(config.data) as kept:
            kept.set(SECRET, server.password.encode())
        client.sql(f"CREATE CONNECTION {NAME} TO POSTGRES (HOST '127.0.0.1', PORT {server.port}, "
                   f"DATABASE {server.database}, USER {server.user}, PASSWORD SECRET {SECRET})")
        yield Into(client, server)
    finally:
        try:
            forget(config, client)
        finally:
            server.close()


def forget(config: Config, client: Client) -> None:
    """Drop what this demo, or one that was killed, has made."""
    for kind in ("sinks", "connections"):
        if any(found["name"] == NAME for found in client.get(f"/v1/{kind}")[kind]):
            client.sql(f"DROP {kind[:-1].upper()} {NAME}")
    with store(config.data) as kept:
        if SECRET in kept.list():
            kept.drop(SECRET)
