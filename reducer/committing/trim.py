"""Knows what the log still holds for a key part, and which committed positions Redis has (rules 8, 14)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from mars.adapters.exchange_roles import OwnedLog
from mars.errors import NotReadyError
from mars.model.entries import Entry, Header
from mars.runtime.periods import Every
from mars.runtime.system import SYSTEM, Clock

log = logging.getLogger("mars.reducer")
TELL_ALL_S = 1.0  # all positions are sent again this often: Redis may have forgotten some, and claims wait for them
AGAIN_S = 0.1  # the pause after Redis did not answer

Positions = dict[tuple[int, str], int]


@dataclass
class Trim:
    """`undone` maps the SEQ of each entry that is still in the log to its header; `told` are the positions that Redis
    has; `is_due` says that there is something to send or to delete before the next commit."""

    clock: Clock = SYSTEM.clock
    undone: dict[int, Header] = field(default_factory=dict)
    told: Positions = field(default_factory=dict)
    is_due: bool = True

    def __post_init__(self) -> None:
        self._all, self._rest = Every(TELL_ALL_S, self.clock), Every(AGAIN_S, self.clock)

    def note(self, entry: Entry, is_done: Callable[[Header], bool]) -> None:
        """Note a received entry. If it is done already, it is to be deleted."""
        self.undone[entry.seq] = entry.header
        self.is_due = self.is_due or is_done(entry.header)

    def may_tell(self) -> bool:
        """Is there something to send, and has Redis not just been away?"""
        return self.is_due and self._rest.is_due()

    def tell(self, owned: OwnedLog, positions: Positions, is_done: Callable[[Header], bool]) -> None:
        """Send Redis the new committed positions (now and then all of them), and delete the entries whose headers are
        done. What Redis does not get now stays due, because perhaps no other commit follows: claims wait for these
        positions (rule 8)."""
        new = dict(positions.items() - self.told.items())
        if self._all.is_due():
            new = positions
            self._all.begin()
        done = [seq for seq, header in self.undone.items() if is_done(header)]
        try:
            owned.trim(done, new)
        except NotReadyError as error:
            log.warning("positions are told later: %s", error)
            self.is_due = True
            self._all.end()
            self._rest.begin()
            return
        self.told, self.is_due = positions, False
        for seq in done:
            del self.undone[seq]
