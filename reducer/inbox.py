"""What the owner of a key part has heard by way of Redis: entries of the log, and what the leader has seen."""

from __future__ import annotations

from dataclasses import dataclass

from mars.adapters.exchange_roles import OwnedLog
from mars.model.entries import Entry
from mars.runtime.periods import Every
from mars.runtime.system import SYSTEM, Clock
from reducer.state.close import Facts

RECEIVE_BYTES = 8 * 1024 * 1024  # of one answer of the log: other key parts wait while it is merged
RECEIVE_S = 0.25  # a message that was lost costs no more
FACTS_AGE_S = 5.0  # the leader checks each second: what is older may be of one that is gone


@dataclass
class Inbox:
    """`after` is the SEQ of the last entry that was received; `has_more`: the log has probably more than that already;
    `facts` are the leader's last ones."""

    clock: Clock = SYSTEM.clock
    after: int = 0
    has_more: bool = False
    facts: Facts = Facts()
    _asked: int = -1

    def __post_init__(self) -> None:
        self._looks, self._checked = Every(RECEIVE_S, self.clock), Every(FACTS_AGE_S, self.clock)

    def is_due(self) -> bool:
        """Is it worth a look, though nobody said so? A message that was lost costs RECEIVE_S."""
        return self.has_more or self._looks.is_due()

    def look_soon(self) -> None:
        """Something else has changed: look without waiting for a message."""
        self._looks.end()

    def receive(self, log: OwnedLog) -> list[Entry]:
        """The entries that came since, in SEQ order; the facts are noted."""
        raw, entries = log.receive(self.after, RECEIVE_BYTES)
        self._looks.begin()
        self.has_more = sum(entry.cells_bytes for entry in entries) > RECEIVE_BYTES // 2
        facts = Facts.parse(raw)
        if facts.done != self.facts.done:
            self._checked.begin()
        self.facts = facts
        if entries:
            self.after = entries[-1].seq
        return entries

    def fresh_facts(self) -> Facts | None:
        """The facts, if a check of the leader's has ended lately; None leaves no partition out as idle."""
        return None if self._checked.is_due() else self.facts

    def may_ask(self) -> bool:
        """May a check be asked for? Once, as long as none has begun since; that counts as asking."""
        asks, self._asked = self._asked != self.facts.begun, self.facts.begun
        return asks
