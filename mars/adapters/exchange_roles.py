"""What owners and leaders call of the exchange. All that fences a role, from the stream to the epoch, is bound once, so that
no call gives one of these numbers for another. `Exchange.log` and `Exchange.lead` make them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mars.model.entries import Entry, decode

Call = Callable[..., Any]  # (script, stream id, generation, *arguments)


@dataclass(frozen=True, kw_only=True)
class OwnedLog:
    """The log of a key part, in the hands of its owner; `epoch` is the assignment's."""

    call: Call
    stream_id: int
    generation: int
    key_part: int
    epoch: int

    def receive(self, after: int, bytes_max: int) -> tuple[dict[str, str], list[Entry]]:
        """The leader's facts, and the entries after a SEQ in SEQ order, up to about `bytes_max`. InvariantError if one of
        them is of another version."""
        facts, entries = self.call("receive", self.stream_id, self.generation, self.key_part, after, bytes_max)
        flat = [value.decode() for value in facts]
        return (dict(zip(flat[::2], flat[1::2], strict=True)),
                [decode(int(id_.split(b"-")[0]), fields[1], fields[3]) for id_, fields in entries])

    def trim(self, seqs: list[int], positions: dict[tuple[int, str], int]) -> None:
        """Delete entries whose live tasks are all committed, and store the committed (partition, query) positions."""
        self.call("trim", self.stream_id, self.generation, self.key_part, self.epoch, json.dumps(seqs),
                  json.dumps({f"{p}:{q}": offset for (p, q), offset in positions.items()}))


@dataclass(frozen=True, kw_only=True)
class LedStream:
    """A stream in the hands of its leader; `epoch` is the leader's."""

    call: Call
    stream_id: int
    generation: int
    epoch: int

    def install(self, server: str, state: dict) -> None:
        """Recovery: everything of the stream is replaced by `state`, on the server of this name. The generation must have
        been raised before the commits were read from which `state` is made (rule 5)."""
        self._call("install", server, json.dumps(state))

    def attach(self, query: str, incarnation: int, state: dict) -> None:
        """Give an incarnation of a query its lane: cursors and stops by partition, and committed positions."""
        self._call("attach", query, incarnation, json.dumps(state))

    def detach(self, query: str, attached: dict[int, int]) -> None:
        """Take a query off the lanes where it was seen: partition -> incarnation."""
        self._call("detach", query, json.dumps(attached))

    def publish_facts(self, facts: dict[str, object]) -> None:
        """What the leader saw (rules 22, 23); values are written as text."""
        self._call("facts", *(part for field, value in facts.items() for part in (field, str(value))))

    def _call(self, script: str, *arguments: object) -> None:
        self.call(script, self.stream_id, self.generation, self.epoch, *arguments)
