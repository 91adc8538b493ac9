"""Readers that look at the results all the time, as users do, and remember: nothing may go back, no closed window change.

One thread asks each query for its commit, watermark, counters and newest closed windows; one follows a query's events
(follower.py). While the API is away they wait; what it refuses must have a cause (refusals.py).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import httpx
import pyarrow as pa
import pyarrow.compute as pc

from mars.errors import MarsError
from tests.nemesis.follower import Follower, micros
from tests.nemesis.open_windows import OpenWindows
from tests.nemesis.refusals import Broken
from tests.nemesis.tuples import Statistic

POLL_S = 0.3
BACK_MS = 20_000
SPAN_MS = 10_000
FALL_BACK_S = 30.0
GIVEN_OUT = ("commit", "watermark")


class Readers:
    """Reads the queries of one stream, from `start` to `stop`; `broken` gets a line for each broken promise."""

    def __init__(self, api: Callable[[], str], names: dict[str, str], statistics: tuple[Statistic, ...],
                 topic: str = "") -> None:
        """`api` gives the URL as it is now; `names` maps a statistic to its query. The last one's events are followed.
        `topic`: the stream whose open windows are read too."""
        self.api, self.names, self.statistics, self.followed = api, names, statistics, statistics[-1].name
        self.notes, self.reads, self.stopping = Broken(), 0, threading.Event()
        self.follower = Follower(api, names[self.followed], self.notes, self.stopping)
        self._last: dict[str, dict] = {}
        self._windows: dict[str, dict[int, str]] = {name: {} for name in names}
        self._may_go_back_until = 0.0
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._poll, self.follower.follow)]
        self.open_windows = OpenWindows(api, names, statistics, topic, self.notes, self.stopping) if topic else None
        self._threads += self.open_windows.threads if topic else []

    @property
    def broken(self) -> list[str]:
        """What they have seen so far."""
        return self.notes.lines

    @property
    def events(self) -> int:
        """How many have arrived."""
        return self.follower.events

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def fell_back(self) -> None:
        """Positions and counters may have gone back by right, as a commit was damaged; nothing else may."""
        for name, known in self._last.items():
            self._last[name] = {what: value for what, value in known.items() if what in GIVEN_OUT}
        self.notes.is_damaged = True
        self._may_go_back_until = time.monotonic() + FALL_BACK_S

    def dropped(self, query: str) -> None:
        """A user drops it: from now on it may be unknown."""
        self.notes.dropped.add(query)

    def check_open(self, statistic: Statistic, rows: pa.Table) -> None:
        """Compare what open windows were with the final table of a query."""
        if self.open_windows and not self.notes.is_damaged:  # else another tail may be late now
            self.open_windows.check(statistic, rows)

    def check_events(self, rows: pa.Table) -> None:
        """Compare the events with the final table of the followed query, and end."""
        self.follower.check(rows)
        self.stop()

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
            except (httpx.HTTPError, MarsError):
                continue
            except (KeyError, TypeError, ValueError) as error:
                self.notes.note(f"an answer does not read: {type(error).__name__}: {error}")

    def _look(self, http: httpx.Client, statistic: Statistic) -> None:
        """One look at a query: its document, then its newest closed windows."""
        query = self.names[statistic.name]
        answer = http.get(f"/v1/queries/{query}")
        if not self.notes.is_given(query, "its document", answer):
            return
        document = answer.json()
        if document["commit"] is None:  # an API that knew of none yet, and whose first one does not read
            self.notes.expect_damage(query, "its document", document["reason"])
            return
        watermark = micros(document["watermark"])
        positions = {f"position {p}": offset for p, offset in document["positions"].items()}
        self._never_back(statistic.name, {"commit": document["commit"], "watermark": watermark,
                                          "tuples": document["counters"]["tuples"], **positions})
        if watermark is None:
            return
        newest_ms = watermark // 1000 - BACK_MS
        answer = http.get(f"/v1/queries/{query}/results", params={"from": str(newest_ms - SPAN_MS), "limit": 100_000},
                          headers={"Accept": "application/vnd.apache.arrow.stream"})
        if self.notes.is_given(query, "its page", answer) and "Mars-Next" not in answer.headers:
            # Mars-Watermark says which windows this very answer shows whole.
            self._compare(statistic, pa.ipc.open_stream(answer.content).read_all(), newest_ms - SPAN_MS,
                          micros(answer.headers["Mars-Watermark"]))

    def _never_back(self, name: str, now: dict[str, int | None]) -> None:
        """I5: each of these numbers only grows."""
        if time.monotonic() < self._may_go_back_until:
            now = {what: value for what, value in now.items() if what in GIVEN_OUT}
        for what, before in self._last.get(name, {}).items():
            if what in now and before is not None and (now[what] is None or now[what] < before):
                self.notes.note(f"{name}: {what} went back from {before} to {now[what]}")
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
                self.notes.note(f"{statistic.name}: the closed window {start} changed from {known[start][:300]} "
                                   f"to {found[:300]}")
            start += length_us
        for old in sorted(known)[:-100]:
            del known[old]
