"""First pages that many readers ask for: made once for each state of a query, as long as it stays."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from mars.results.partial_pages import PartialPages
from mars.results.snapshot import Same, Snapshot
from mars.runtime.shared import Shared
from mars.runtime.system import SYSTEM, Runtime

KEPT_BYTES = 64 * 1024 * 1024  # of the server's memory
STATE_BYTES = 16 * 1024  # of the commits that each kept page holds on to
T = TypeVar("T")


@dataclass(frozen=True)
class FirstPage(Generic[T]):
    """What was made of a page, and its size. `open_id` names the open windows that later pages need, if any; `lasts`: does
    it depend on nothing but what it was asked for?"""

    made: T
    bytes: int
    open_id: str
    lasts: bool


class FirstPages:
    """Shares first pages among the readers of one process. Each reader has looked for the newest commits itself, and is
    given a page of these and of no others, so it sees what it would see alone."""

    def __init__(self, partial_pages: PartialPages, runtime: Runtime = SYSTEM) -> None:
        self._partial_pages = partial_pages
        self._pages: Shared[tuple, FirstPage[Any]] = Shared(KEPT_BYTES, lambda page: page.bytes + STATE_BYTES, runtime)

    def get(self, snapshot: Snapshot, asked: Hashable, make: Callable[[], FirstPage[T]]) -> T:
        """What `make` makes of a page of this snapshot. `asked` is all else that the page depends on."""
        query = snapshot.query
        key = (query.shown_id, query.state, query.reason, Same(snapshot.parts), asked)
        return cast(T, self._pages.get(key, make, self._is_good).made)

    def _is_good(self, page: FirstPage[Any]) -> bool:
        """Whoever gets the page may ask for the next one, as long after this as after any first page."""
        return page.lasts and (not page.open_id or self._partial_pages.renew(page.open_id))
