"""What the log still holds for a key part, and which committed positions Redis knows (rules 8, 14)."""

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
TELL_ALL_S = 1.0  # Redis may have forgotten positions that do not move, and claims wait for them
AGAIN_S = 0.1  # after Redis did not answer

Positions = dict[tuple[int, str], int]


@dataclass
class Trim:
    """`undone` maps the SEQ of each entry that is still in the log to its header; `told` are the positions that Redis has
    heard; `is_due` says that there is something to tell or to delete before the next commit."""

    clock: Clock = SYSTEM.clock
    undone: dict[int, Header] = field(default_factory=dict)
    told: Positions = field(default_factory=dict)
    is_due: bool = True

    def __post_init__(self) -> None:
        self._all, self._rest = Every(TELL_ALL_S, self.clock), Every(AGAIN_S, self.clock)

    def note(self, entry: Entry, is_done: Callable[[Header], bool]) -> None:
        """An entry was received. It may be done already: then it is to be deleted."""
        self.undone[entry.seq] = entry.header
        self.is_due = self.is_due or is_done(entry.header)

    def may_tell(self) -> bool:
        """Is there something to tell, and has Redis not just been away?"""
        return self.is_due and self._rest.is_due()

    def tell(self, owned: OwnedLog, positions: Positions, is_done: Callable[[Header], bool]) -> None:
        """Tell Redis the committed positions that are new, now and then all, and delete the entries whose headers are done.
        What Redis does not hear now stays due: no other commit may follow, as claims wait for these positions (rule 8)."""
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
