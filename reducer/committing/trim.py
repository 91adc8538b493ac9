"""What the log still holds for a key part, and which committed positions Redis knows (rules 8, 14)."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from mars.adapters.exchange_roles import OwnedLog
from mars.errors import NotReadyError
from mars.model.entries import Entry, Header

log = logging.getLogger("mars.reducer")
TELL_ALL_S = 1.0
AGAIN_S = 0.1

Positions = dict[tuple[int, str], int]


@dataclass
class Trim:
    """`undone` maps the SEQ of each entry that is still in the log to its header; `told` are the positions that Redis has
    heard; `is_due` says that there is something to tell or to delete before the next commit."""

    undone: dict[int, Header] = field(default_factory=dict)
    told: Positions = field(default_factory=dict)
    is_due: bool = True
    _told_all_at: float = -math.inf
    _again_at: float = -math.inf

    def note(self, entry: Entry, is_done: Callable[[Header], bool]) -> None:
        """An entry was received. It may be done already: then it is to be deleted."""
        self.undone[entry.seq] = entry.header
        self.is_due = self.is_due or is_done(entry.header)

    def may_tell(self) -> bool:
        """Is there something to tell, and has Redis not just been away?"""
        return self.is_due and time.monotonic() >= self._again_at

    def tell(self, owned: OwnedLog, positions: Positions, is_done: Callable[[Header], bool]) -> None:
        """Tell Redis the committed positions that are new, now and then all, and delete the entries whose headers are done.
        What Redis does not hear now stays due: no other commit may follow, as claims wait for these positions (rule 8)."""
        new = dict(positions.items() - self.told.items())
        if time.monotonic() - self._told_all_at >= TELL_ALL_S:
            new, self._told_all_at = positions, time.monotonic()
        done = [seq for seq, header in self.undone.items() if is_done(header)]
        try:
            owned.trim(done, new)
        except NotReadyError as error:
            log.warning("positions are told later: %s", error)
            self.is_due, self._told_all_at, self._again_at = True, -math.inf, time.monotonic() + AGAIN_S
            return
        self.told, self.is_due = positions, False
        for seq in done:
            del self.undone[seq]
