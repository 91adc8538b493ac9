"""Readers that look at the results all the time, as users do, and remember: nothing may go back, no closed window change.

One thread asks each query for its commit, watermark, counters and newest closed windows; one follows a query's events and
resumes by the last id. While the API is away they wait.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import datetime

import httpx
import pyarrow as pa
import pyarrow.compute as pc

from mars.errors import MarsError
from tests.nemesis.tuples import Statistic

POLL_S = 0.3
BACK_MS = 20_000
SPAN_MS = 10_000
FALL_BACK_S = 30.0
GIVEN_OUT = ("commit", "watermark")


class Readers:
    """Reads the queries of one stream, from `start` to `stop`; `broken` gets a line for each broken promise."""

    def __init__(self, api: Callable[[], str], names: dict[str, str], statistics: tuple[Statistic, ...]) -> None:
        """`api` gives the URL as it is now; `names` maps a statistic to its query. The last one's events are followed."""
        self.api, self.names, self.statistics, self.followed = api, names, statistics, statistics[-1].name
        self.broken: list[str] = []
        self.reads = self.events = 0
        self.stopping = threading.Event()
        self._last: dict[str, dict] = {}
        self._windows: dict[str, dict[int, str]] = {name: {} for name in names}
        self._may_go_back_until = 0.0
        self._told: dict[int, int] = {}
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._poll, self._follow)]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def fell_back(self) -> None:
        """Positions and counters may have gone back by right, as a commit was damaged; nothing else may."""
        for name, known in self._last.items():
            self._last[name] = {what: value for what, value in known.items() if what in GIVEN_OUT}
        self._may_go_back_until = time.monotonic() + FALL_BACK_S

    def stop(self) -> None:
        """End; nothing is noted any more when this returns."""
        self.stopping.set()
        for thread in self._threads:
            thread.join(20)

    # -- pages ----------------------------------------------------------------------------------------------------

    def _poll(self) -> None:
        while not self.stopping.wait(POLL_S):
            try:
                with httpx.Client(base_url=self.api(), timeout=10, trust_env=False) as http:
                    while not self.stopping.wait(POLL_S):
                        for statistic in self.statistics:
                            self._look(http, statistic)
            except (httpx.HTTPError, MarsError, KeyError, ValueError):
                continue

    def _look(self, http: httpx.Client, statistic: Statistic) -> None:
        """One look at a query: its document, then its newest closed windows."""
        path = f"/v1/queries/{self.names[statistic.name]}"
        answer = http.get(path)
        if answer.status_code != 200:
            return
        document = answer.json()
        watermark = _us(document["watermark"])
        positions = {f"position {p}": offset for p, offset in document["positions"].items()}
        self._never_back(statistic.name, {"commit": document["commit"], "watermark": watermark,
                                          "tuples": document["counters"]["tuples"], **positions})
        if watermark is None:
            return
        newest_ms = watermark // 1000 - BACK_MS
        answer = http.get(f"{path}/results", params={"from": str(newest_ms - SPAN_MS), "limit": 100_000},
                          headers={"Accept": "application/vnd.apache.arrow.stream"})
        if answer.status_code == 200 and "Mars-Next" not in answer.headers:
            # Mars-Watermark says which windows this very answer shows whole.
            self._compare(statistic, pa.ipc.open_stream(answer.content).read_all(), newest_ms - SPAN_MS,
                          _us(answer.headers["Mars-Watermark"]))

    def _never_back(self, name: str, now: dict[str, int | None]) -> None:
        """I5: each of these numbers only grows."""
        if time.monotonic() < self._may_go_back_until:
            now = {what: value for what, value in now.items() if what in GIVEN_OUT}
        for what, before in self._last.get(name, {}).items():
            if what in now and before is not None and (now[what] is None or now[what] < before):
                self.broken.append(f"{name}: {what} went back from {before} to {now[what]}")
        self._last[name] = now
        self.reads += 1

    def _compare(self, statistic: Statistic, rows: pa.Table, first_ms: int, watermark_us: int) -> None:
        """A closed window that was seen before has the same rows now; one that was seen empty stays empty."""
        starts = pc.cast(rows["window_start"], pa.int64())
        known = self._windows[statistic.name]
        length_us = statistic.length_ms * 1000
        start = -(-first_ms * 1000 // length_us) * length_us
        while start + length_us + statistic.grace_ms * 1000 <= watermark_us:
            window = rows.filter(pc.equal(starts, start))
            found = json.dumps([sorted(map(str, window.to_pylist()))])
            if known.setdefault(start, found) != found:
                self.broken.append(f"{statistic.name}: the closed window {start} changed from {known[start][:300]} "
                                   f"to {found[:300]}")
            start += length_us
        for old in sorted(known)[:-100]:
            del known[old]

    # -- events ---------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        last_id = ""
        while not self.stopping.wait(POLL_S):
            try:
                headers = {"Last-Event-ID": last_id} if last_id else {}
                url = f"{self.api()}/v1/queries/{self.names[self.followed]}/results/stream"
                with httpx.stream("GET", url, headers=headers, timeout=httpx.Timeout(15), trust_env=False) as answer:
                    event: dict[str, str] = {}
                    for line in answer.iter_lines():
                        if self.stopping.is_set():
                            return
                        name, _, value = line.partition(": ")
                        if line:
                            event[name] = value
                            continue
                        if event.get("event") == "result":
                            self._event(json.loads(event["data"]))
                            last_id = event["id"]
                        event = {}
            except (httpx.HTTPError, MarsError, ValueError):
                time.sleep(POLL_S)

    def _event(self, data: dict) -> None:
        """Count the rows of each window: at the end they must be those of the pages. An event that is broken off before its
        id has come was not delivered, so none comes twice here."""
        self.events += 1
        at = [column["name"] for column in data["columns"]].index("window_start")
        for row in data["rows"]:
            start = _us(row[at])
            self._told[start] = self._told.get(start, 0) + 1

    def check_events(self, rows: pa.Table) -> None:
        """Compare the events with the final table of the followed query, for the windows that they have reached."""
        counts = rows.group_by("window_start").aggregate([([], "count_all")]).to_pylist()
        pages = {int(row["window_start"].timestamp() * 1e6): row["count_all"] for row in counts}
        last = max(self._told, default=0)
        for start in sorted(pages.keys() | self._told.keys()):
            if start < last and pages.get(start, 0) != self._told.get(start, 0):
                self.broken.append(f"{self.followed}: events told {self._told.get(start, 0)} rows of the window {start}, "
                                   f"pages {pages.get(start, 0)}")
                return


def _us(text: str | None) -> int | None:
    """Microseconds of an instant of the API."""
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond

