"""Those who follow the events of queries whose rows change (EMIT CHANGES, LATE UPDATE): what may come after what.

After a fall-back, rows of open windows are made again and numbers of revisions may be left out. What was final, and what had
a number, is the same for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import pyarrow as pa

from tests.nemesis.follower import POLL_S, REACH_S, TIMES, Follower, micros
from tests.nemesis.visitors import Visitor

Key = tuple  # window and keys of a row


class ChangingFollower(Follower):
    """Follows one query; `stamp` is the last column of its rows."""

    def __init__(self, visitor: Visitor, *given: object) -> None:
        super().__init__(*given)
        self.visitor = visitor
        self.newest: dict[Key, dict] = {}
        self.numbers: dict[Key, dict[int, dict]] = {}  # by revision

    def _take(self, data: dict) -> None:
        names = [column["name"] for column in data["columns"]]
        with self._lock:
            self.events += 1
            for values in data["rows"]:
                row = dict(zip(names, values, strict=True))
                key = self._key(row)
                row.update(zip(TIMES, key, strict=False))
                self._note(self._broken(key, row), key, row)

    def _key(self, row: dict) -> Key:
        return (*(micros(row[name]) for name in TIMES), *(row[name] for name in self.visitor.keys))

    def _note(self, what: str, key: Key, row: dict) -> None:
        if what:
            self.broken.note(f"{self.query}: {what}: {row}, after {self.newest.get(key)}")
        if self.visitor.revised:
            self.numbers.setdefault(key, {}).setdefault(row["revision"], row)
            row = max(self.numbers[key].values(), key=lambda one: one["revision"])
        self.newest[key] = row

    def _broken(self, key: Key, row: dict) -> str:
        """What is wrong with a row that comes now; '' for nothing."""
        before = self.newest.get(key)
        if before is None:
            return ""
        if self.visitor.revised:
            known = self.numbers[key].get(row["revision"])
            return "another row of the same revision" if known not in (None, row) else ""
        if before["final"] and before != row:
            return "a row came after the final one"
        return "a row has fewer tuples than before" if row["n"] < before["n"] and not self.broken.is_damaged else ""

    def check(self, rows: pa.Table, patience_s: float = REACH_S) -> None:
        """Compare with all rows of closed windows: the newest row that was told of each is that one. Stops the follower."""
        wanted = {}
        for row in rows.to_pylist():
            key = self._key(row)
            wanted[key] = {**row, **dict(zip(TIMES, key, strict=False))}
        deadline = time.monotonic() + patience_s
        while not (is_through := self._has(wanted)) and time.monotonic() < deadline:
            time.sleep(POLL_S / 3)
        self.stopping.set()
        with self._lock:
            if not is_through and self._heard_at >= deadline - patience_s:
                key = next(key for key, row in wanted.items() if self.newest.get(key) != row)
                self.broken.note(f"{self.query}: events told {self.newest.get(key)}, and pages {wanted[key]}")
            if self.visitor.revised and not self.broken.is_damaged:
                self._check_numbers()

    def _has(self, wanted: dict[Key, dict]) -> bool:
        with self._lock:
            return all(self.newest.get(key) == row for key, row in wanted.items())

    def _check_numbers(self) -> None:
        """Each revision has come, and each has more tuples than the one before."""
        for found in self.numbers.values():
            rows = [found[number] for number in sorted(found)]
            if sorted(found) != list(range(len(found))) or any(a["n"] >= b["n"] for a, b in pairwise(rows)):
                self.broken.note(f"{self.query}: the revisions of a row are {rows}")
                return


def follower_of(visitor: Visitor, api: Callable[[], str], query: str, *given: object) -> Follower | None:
    """Who follows its events, if they tell more than its pages."""
    if not visitor.is_followed:
        return None
    return Follower(api, query, *given) if visitor.emits_ms else ChangingFollower(visitor, api, query, *given)
