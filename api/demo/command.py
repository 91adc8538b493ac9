"""`mars demo`: from nothing to exact live results. Start, feed, query, watch, check, and say what to do
next."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from api.cli.client import Client
from api.cli.commands.instance import reporter, settings
from api.demo.check import Verdict
from api.demo.source import PaperSource, Source
from api.demo.view import View, say
from api.instance import runfile, up
from mars.adapters.kafka.security import security_of
from mars.config import Config
from mars.errors import ConflictError, MarsError

LOOK_S = 0.5
ROWS_SHOWN = 8
# How long nothing may be committed once everything was sent.
SETTLE_S = 120.0


def demo(data: Path | None, stop: bool, **options: Any) -> None:
    """Run the demo; exit code 1 if the results are not exact. See `mars demo --help`."""
    config = settings(data)
    if data is None:
        config = settings(config.data / "demo")
    began = time.monotonic()
    try:
        run = instance(config, options["kafka"])
        with Client.of(run, config.api_token) as client:
            source = choose(config, run, options)
            verdict = deliver(config, client, source, began) if options["into"] else play(client, source, began)
        tell(verdict)
        if stop:
            up.down(config.data)
            say(f"\nMars has stopped; its data stays in {config.data}")
        else:
            next_steps(config, run, source, data)
    except KeyboardInterrupt:
        # If the start is interrupted, it stops what it has started.
        runs = runfile.running(config.data) is not None
        say("\ninterrupted" + f"; Mars still runs on {config.data}: stop it with `mars down --data {config.data}`" * runs)
        raise
    if verdict.difference:
        sys.exit(1)


def instance(config: Config, kafka: str | None) -> runfile.Run:
    """The instance that runs on the demo's folder, else a new one."""
    run = runfile.running(config.data)
    if run is not None:
        say(f"Mars is already running on {config.data} at {run.api}")
        if kafka and kafka != run.kafka:
            raise ConflictError("This instance reads another Kafka", f"{run.kafka}, not {kafka}",
                                "stop it with `mars down`, or give another folder with --data")
        return runfile.require(config.data)
    say(f"Starting Mars, data in {config.data}")
    wanted = config.model_copy(update={"kafka_address": kafka}) if kafka else config
    return up.detach(wanted, reporter())


def choose(config: Config, run: runfile.Run, options: dict) -> Source:
    """The source: the user's own file or topic if one is named, else the paper's tuples."""
    if options["file"] or options["topic"]:
        from api.demo.own import FileSource, TopicSource

        way = run.kafka, security_of(config)
        return FileSource(*way, options["file"], options) if options["file"] else TopicSource(*way, options)
    return PaperSource(config, run.kafka, options["rate"], options["seconds"])


def deliver(config: Config, client: Client, source: Source, began: float) -> Verdict:
    """As `play`, with the results delivered into a Postgres, which are checked too."""
    from api.demo.into import opened

    with opened(config, client) as into:
        verdict = play(client, source, began, into.deliver)
        delivered = into.verdict()
    return verdict if verdict.difference or not delivered.difference else delivered


def play(client: Client, source: Source, began: float, created: Callable[[str], None] = lambda _query: None) -> Verdict:
    """Create, feed and watch until everything that was sent is in the committed results; then check. `created` is told the
    query's name."""
    try:
        source.prepare()
        say(f"  topic   {source.topic}: {source.about}")
        create(client, source)
        created(source.name)
        source.start()
        with View() as view:
            watch(client, source, view)
        if view.first_rows_s is not None:
            say(f"first rows {view.began - began + view.first_rows_s:.1f} s after the command")
        return source.verdict(client)
    finally:
        source.stop()


def create(client: Client, source: Source) -> None:
    """Create the stream and the query. A stream that an earlier demo created with the same text is used again; the query
    is created anew. Nothing else is touched: ConflictError if something else has the name."""
    found = existing(client, "streams", source.stream)
    if found is None or found["sql"].strip() != source.stream_sql().strip():
        client.sql(source.stream_sql())
    stream = existing(client, "streams", source.stream)
    assert stream is not None, "it was there, or has just been made"
    query, found = source.query_sql(stream), existing(client, "queries", source.name)
    say(f"  stream  {source.stream_sql()}\n  query   {query}\n")
    if found and found["sql"].strip() == query.split(" AS ", 1)[1].strip():
        client.sql(f"DROP QUERY {source.name}")
    client.sql(query)


def existing(client: Client, kind: str, name: str) -> dict | None:
    """The stream or query as the API shows it, None if there is none of that name."""
    return next((found for found in client.get(f"/v1/{kind}")[kind] if found["name"].lower() == name.lower()), None)


def watch(client: Client, source: Source, view: View) -> None:
    """Show the progress until everything that was sent is committed. MarsError if it stands still or the query stops."""
    left, deadline = 0, 0.0
    while True:
        sent_all = source.done()
        document = client.get(f"/v1/queries/{source.name}")
        before, left = left, source.left(document) if sent_all else -1
        newest = client.get(f"/v1/queries/{source.name}/results", limit=ROWS_SHOWN, order="desc")
        view.show(source, document, newest, last=left == 0)
        if left == 0:
            return
        if document["state"] != "RUNNING":
            raise MarsError(f"The query is {document['state']}", str(document["reason"]))
        if left < 0 or left != before:
            deadline = time.monotonic() + SETTLE_S
        if time.monotonic() > deadline:
            raise MarsError("The results did not catch up", f"{left:,} messages are not committed, and none was in the last "
                            f"{SETTLE_S:.0f} s", "the logs are in the data folder under logs/")
        time.sleep(LOOK_S)


def tell(verdict: Verdict) -> None:
    """The verdict, on stdout."""
    still_open = f"; {verdict.open_windows} of the windows still open" if verdict.open_windows else ""
    if verdict.difference:
        print(f"NOT EXACT: {verdict.difference}", flush=True)
    elif verdict.doubt:
        print(f"NOT FULLY CHECKED: nothing wrong was found in {verdict.tuples:,} tuples; but {verdict.doubt}", flush=True)
    elif verdict.groups:
        print(f"EXACT: {verdict.tuples:,} tuples in {verdict.groups:,} groups; the sum and every group are equal to an "
              f"independent count of what was sent{still_open}", flush=True)
    else:
        print(f"COMPLETE: all {verdict.tuples:,} tuples are accounted for; nothing was counted a second time", flush=True)


def next_steps(config: Config, run: runfile.Run, source: Source, data: Path | None) -> None:
    """What to type next, what still runs, where the data is, how to stop."""
    here = f"--data {config.data}"
    say(f"""
Try next:
  mars sql {here} -c "SELECT * FROM {source.name} ORDER BY window_start DESC LIMIT 5"
  curl -s '{run.api}/v1/queries/{source.name}/results?limit=3'
  mars sql {here}
Mars still runs: API {run.api}, Kafka {run.kafka}, and query {source.name} keeps reading topic {source.topic}.
Its data is in {config.data}
  mars down {here}            stops it and keeps the data
  mars down {here} --purge    stops it and deletes the data""")
