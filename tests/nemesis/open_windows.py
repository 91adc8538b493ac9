"""Readers of open windows and of the topic itself: pages after pages, by several at once, and statements given alone.

A row of an open window counts tuples that its closed window counts too: it never says more than that in the end. One answer,
over all of its pages, has a row of a group once. What a statement counts in the topic only grows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import httpx
import pyarrow as pa

from mars.errors import MarsError
from tests.nemesis.refusals import Broken
from tests.nemesis.tuples import Statistic

PAGE, POLL_S, ALONE_S = 40, 0.2, 20.0
GONE = 410  # a page that was kept for a minute, or by an API that has ended since
ARROW = {"Accept": "application/vnd.apache.arrow.stream"}


class OpenWindows:
    """`READERS` threads that share the API's caches, each with the queries in an order of its own, and one that counts."""

    READERS = 3

    def __init__(self, api: Callable[[], str], names: dict[str, str], statistics: tuple[Statistic, ...], topic: str,
                 broken: Broken, stopping: threading.Event) -> None:
        self.api, self.names, self.topic = api, names, topic
        self.broken, self.stopping = broken, stopping
        self.reads = self.counted = 0
        self._most: dict[str, dict[tuple, int]] = {statistic.name: {} for statistic in statistics}
        self._lock = threading.Lock()  # of all that was seen
        turns = [i % len(statistics) for i in range(self.READERS)]
        orders = [statistics[turn:] + statistics[:turn] for turn in turns]
        work = [*((self._look, order) for order in orders), (self._count, statistics[:1])]
        self.threads = [threading.Thread(target=self._follow, args=one, daemon=True) for one in work]

    def check(self, statistic: Statistic, rows: pa.Table) -> None:
        """Compare what was seen of open windows with all rows of the closed ones."""
        final = {_key(statistic, row): row["n"] for row in rows.to_pylist()}
        last = max((key[0] for key in final), default=None)
        for key, n in self._most[statistic.name].items():
            if last is not None and key[0] < last and n > final.get(key, 0):
                self.broken.note(f"{statistic.name}: {key} must be at most {final.get(key, 0)}, was {n} while it was open")
                return

    def _follow(self, look: Callable[[httpx.Client, Statistic], None], order: tuple[Statistic, ...]) -> None:
        while not self.stopping.wait(POLL_S):
            try:
                with httpx.Client(base_url=self.api(), timeout=30, trust_env=False) as http:
                    while not self.stopping.wait(POLL_S):
                        for statistic in order:
                            look(http, statistic)
            except (httpx.HTTPError, MarsError):
                continue
            except (KeyError, TypeError, ValueError) as error:
                self.broken.note(f"an answer of open windows does not read: {type(error).__name__}: {error}")

    def _look(self, http: httpx.Client, statistic: Statistic) -> None:
        """All open windows of a query, page by page."""
        query, cursor, seen = self.names[statistic.name], None, {}
        document = http.get(f"/v1/queries/{query}")
        if not self.broken.is_given(query, "its document", document) or document.json()["watermark"] is None:
            return
        while not self.stopping.is_set():
            answer = http.get(f"/v1/queries/{query}/results", headers=ARROW, params={"cursor": cursor} if cursor else {
                "partial": "true", "limit": PAGE, "from": document.json()["watermark"]})
            if answer.status_code == GONE or not self.broken.is_given(query, "its open windows", answer):
                return
            for row in pa.ipc.open_stream(answer.content).read_all().to_pylist():
                key = _key(statistic, row)
                if key in seen:
                    self.broken.note(f"{statistic.name}: twice in one answer of open windows: {key}")
                seen[key] = row["n"]
            cursor = answer.headers.get("Mars-Next")
            if not cursor:
                break
        with self._lock:
            self.reads += 1
            most = self._most[statistic.name]
            for key, n in seen.items():
                most[key] = max(n, most.get(key, 0))

    def _count(self, http: httpx.Client, _: Statistic) -> None:
        """How many tuples a statement finds in the topic."""
        answer = http.post("/v1/sql", json={"sql": f"SELECT count(*) AS n FROM {self.topic}"}, timeout=60)
        if answer.status_code == httpx.codes.OK:
            [[n]] = answer.json()["rows"]
            if n < self.counted:
                self.broken.note(f"a statement counted {n} tuples, and {self.counted} before: it went back")
            self.counted = max(n, self.counted)
        self.stopping.wait(ALONE_S)


def _key(statistic: Statistic, row: dict) -> tuple:
    return row["window_start"], *(row[name] for name in statistic.keys)
