"""Readers of a query's results, each a process, that say when they saw what: clients of the API and of nothing else.

`partial` asks for the probes in committed windows, open ones too, by a schedule of POLL_MS; `closed` listens to the
stream of closed windows. Both write JSON lines until they are terminated: {"ms": when the answer was read whole,
"asked_ms", "seen": [[window start in ms, sip, count], ...]}, and {"ms", "windows": {window start in ms: tuples in the
rows that came}}.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path

import httpx
import orjson

from benchmarks.pacer_batches import PROBE

POLL_MS = 50.0
BACK_S = 8


def start(kind: str, url: str, query: str, out: Path) -> BaseProcess:
    """A reader process that runs until it is terminated."""
    context = multiprocessing.get_context("spawn")
    process = context.Process(target={"partial": partial, "closed": closed}[kind], args=(url, query, out),
                              name=f"watch-{kind}", daemon=True)
    process.start()
    return process


def partial(url: str, query: str, out: Path) -> None:
    """Ask for the probes' counts of the last seconds, every POLL_MS; a late answer delays only the next question."""
    latest: dict[str, int] = {}
    due = time.time() * 1000
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client, out.open("wb", buffering=0) as sink:
        while True:
            due = max(due + POLL_MS, time.time() * 1000)
            time.sleep(max(0.0, due / 1000 - time.time()))
            asked = time.time() * 1000
            since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(since_s(asked, latest)))
            answer = client.get(f"/v1/queries/{query}/results", params={
                "partial": "true", "where": f"type = '{PROBE}'", "from": since, "limit": 10_000})
            answer.raise_for_status()
            seen = _seen(orjson.loads(answer.content))
            latest.update((sip, max(start, latest.get(sip, start))) for start, sip, _ in seen)
            sink.write(orjson.dumps({"asked_ms": asked, "seen": seen, "ms": time.time() * 1000}) + b"\n")


def since_s(asked_ms: float, latest_ms: Mapping[str, int]) -> float:
    """From which window on to ask: BACK_S before now, or before the latest window of the probe that is seen least far."""
    return min([asked_ms, *latest_ms.values()]) / 1000 - BACK_S


def closed(url: str, query: str, out: Path) -> None:
    """Listen to the closed windows."""
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client, out.open("wb", buffering=0) as sink, \
            client.stream("GET", f"/v1/queries/{query}/results/stream") as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            if line.startswith("data: "):
                windows: dict[str, int] = {}
                for window, _, count in _seen(orjson.loads(line[6:])):
                    windows[str(window)] = windows.get(str(window), 0) + count
                sink.write(orjson.dumps({"windows": windows, "ms": time.time() * 1000}) + b"\n")


def _seen(body: dict) -> list[list]:
    """The rows of an answer as (window start in ms, sip, count)."""
    at = {column["name"]: place for place, column in enumerate(body["columns"])}
    return [[row[at["timestamp"]], row[at["sip"]], row[at["count"]]] for row in body["rows"]]
