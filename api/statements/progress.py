"""The progress of running ad-hoc statements, by the id that the client chose."""

from __future__ import annotations

import threading


class ProgressBoard:
    """Thread-safe; an entry lives as long as its statement runs."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, int]] = {}
        self._cancelled: set[str] = set()
        self._lock = threading.Lock()

    def report(self, id_: str, done: int, total: int) -> bool:
        """`done` of `total` parts of the statement are finished. False if somebody has asked it to stop."""
        with self._lock:
            self._entries[id_] = (done, total)
            return id_ not in self._cancelled

    def read(self, id_: str) -> tuple[int, int] | None:
        """(done, total), or None if no such statement runs."""
        with self._lock:
            return self._entries.get(id_)

    def cancel(self, id_: str) -> bool:
        """Ask a running statement to stop. False if there is none of that id."""
        with self._lock:
            if id_ in self._entries:
                self._cancelled.add(id_)
            return id_ in self._entries

    def is_cancelled(self, id_: str) -> bool:
        """Has somebody asked the statement to stop?"""
        with self._lock:
            return id_ in self._cancelled

    def end(self, id_: str) -> None:
        """The statement is over."""
        with self._lock:
            self._entries.pop(id_, None)
            self._cancelled.discard(id_)
