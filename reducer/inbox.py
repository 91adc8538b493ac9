"""What the owner of a key part has heard by way of Redis: entries of the log, and what the leader has seen."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from mars.adapters.exchange_roles import OwnedLog
from mars.model.entries import Entry
from reducer.state.close import Facts

RECEIVE_BYTES = 8 * 1024 * 1024
RECEIVE_S = 0.25
FACTS_AGE_S = 5.0


@dataclass
class Inbox:
    """`after` is the SEQ of the last entry that was received; `has_more`: the log has probably more than that already;
    `facts` are the leader's last ones, of which a check has ended at `done_at`."""

    after: int = 0
    has_more: bool = False
    facts: Facts = Facts()
    done_at: float = 0.0
    _received_at: float = -math.inf
    _asked: int = -1

    def is_due(self) -> bool:
        """Is it worth a look, though nobody said so? A message that was lost costs RECEIVE_S."""
        return self.has_more or time.monotonic() - self._received_at > RECEIVE_S

    def look_soon(self) -> None:
        """Something else has changed: look without waiting for a message."""
        self._received_at = -math.inf

    def receive(self, log: OwnedLog) -> list[Entry]:
        """The entries that came since, in SEQ order; the facts are noted."""
        raw, entries = log.receive(self.after, RECEIVE_BYTES)
        self._received_at = time.monotonic()
        self.has_more = sum(entry.cells_bytes for entry in entries) > RECEIVE_BYTES // 2
        facts = Facts.parse(raw)
        if facts.done != self.facts.done:
            self.done_at = self._received_at
        self.facts = facts
        if entries:
            self.after = entries[-1].seq
        return entries

    def fresh_facts(self) -> Facts | None:
        """The facts, if a check of the leader's has ended lately; None leaves no partition out as idle."""
        return self.facts if time.monotonic() - self.done_at < FACTS_AGE_S else None

    def may_ask(self) -> bool:
        """May a check be asked for? Once, as long as none has begun since; that counts as asking."""
        asks, self._asked = self._asked != self.facts.begun, self.facts.begun
        return asks
