"""One who follows the events of a query through every fault, and resumes by the last id. Events must add up to the pages."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime

import httpx
import pyarrow as pa

from mars.errors import MarsError
from tests.nemesis.refusals import Broken

POLL_S, SILENCE_S = 0.3, 15.0  # the API says something each ten seconds
REACH_S = 30.0
TIMES = ("window_start", "window_end")


class Follower:
    """Follows one query; `follow` is what its thread does. `events` counts what has arrived."""

    def __init__(self, api: Callable[[], str], query: str, broken: Broken, stopping: threading.Event) -> None:
        self.api, self.query, self.broken, self.stopping = api, query, broken, stopping
        self.events = 0
        self._lock = threading.Lock()  # of what was told
        self._told: dict[int, Counter[tuple]] = defaultdict(Counter)
        self._last_id = ""
        self._heard_at = 0.0

    def follow(self) -> None:
        """Until it is told to stop. While the API is away it waits."""
        while not self.stopping.wait(POLL_S):
            try:
                headers = {"Last-Event-ID": self._last_id} if self._last_id else {}
                url = f"{self.api()}/v1/queries/{self.query}/results/stream"
                with httpx.stream("GET", url, headers=headers, timeout=SILENCE_S, trust_env=False) as answer:
                    self._heard_at = time.monotonic()
                    if self.broken.is_given(self.query, "the stream of events", answer):
                        self._read(answer)
            except (httpx.HTTPError, MarsError):
                time.sleep(POLL_S)
            except (KeyError, TypeError, ValueError) as error:
                self.broken.note(f"{self.query}: an event does not read: {type(error).__name__}: {error}")

    def _read(self, answer: httpx.Response) -> None:
        """An event that is broken off before its id has come was not delivered, so none comes twice here."""
        event: dict[str, str] = {}
        for line in answer.iter_lines():
            self._heard_at = time.monotonic()
            if self.stopping.is_set():
                return
            name, _, value = line.partition(": ")
            if line:
                event[name] = value
                continue
            if event.get("event") == "result":
                self._take(json.loads(event["data"]))
                self._last_id = event["id"]
            elif event.get("event") == "error":
                self.broken.expect_damage(self.query, "the stream of events", event["data"])
            elif event.get("event") == "dropped" and self.query not in self.broken.dropped:
                self.broken.note(f"{self.query}: events say that it was dropped")
            event = {}

    def _take(self, data: dict) -> None:
        names = [column["name"] for column in data["columns"]]
        rows = [_plain(dict(zip(names, row, strict=True))) for row in data["rows"]]
        with self._lock:
            self.events += 1
            for start, row in rows:
                self._told[start][row] += 1

    def check(self, rows: pa.Table, patience_s: float = REACH_S) -> None:
        """Compare the events with all rows of the query: each closed window must come in them, with the same rows. Stops
        the follower. Where nobody answers it all the while, the windows before the last one that came must do."""
        pages: dict[int, Counter[tuple]] = defaultdict(Counter)
        for start, row in map(_plain, rows.to_pylist()):
            pages[start][row] += 1
        began = time.monotonic()
        while not (is_through := self._has_told(pages)) and time.monotonic() - began < patience_s:
            time.sleep(POLL_S / 3)
        self.stopping.set()
        with self._lock:
            # Later windows may have closed after the pages were read; of the last one that came there may be more.
            last = max(pages, default=0) if is_through or self._heard_at >= began else max(self._told, default=0) - 1
            for start in sorted(start for start in pages.keys() | self._told.keys() if start <= last):
                told, shown = self._told.get(start, Counter()), pages.get(start, Counter())
                if told != shown:
                    self.broken.note(f"{self.query}: events told {told.total()} rows of the window {start}, pages "
                                     f"{shown.total()}; by events alone {list((told - shown).items())[:3]}, by pages alone "
                                     f"{list((shown - told).items())[:3]}")
                    return

    def _has_told(self, pages: dict[int, Counter[tuple]]) -> bool:
        """Have all rows of the pages come?"""
        with self._lock:
            return all(start in self._told and self._told[start].total() >= rows.total() for start, rows in pages.items())


def _plain(row: dict) -> tuple[int, tuple]:
    """The begin of a row's window, and the row in a form that is the same whether it comes as JSON or as Arrow."""
    times = tuple(micros(row[name]) for name in TIMES)
    return times[0], (times[1], *(f"{name}={row[name]}" for name in sorted(row.keys() - set(TIMES))))


def micros(moment: str | datetime | None) -> int | None:
    """Microseconds of an instant of the API."""
    if not moment:
        return None
    moment = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond
