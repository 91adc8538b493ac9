"""Has a query counted what the log does not hold any more? The leader tells the epochs of the logs, commits have those
that were read (mars.model.log_epochs). Pure.
"""

from __future__ import annotations

from mars.model.log_epochs import Epochs, compare, truncated
from reducer.state.close import Facts
from reducer.state.merge import QueryState


class Logs:
    """The epochs of a stream's partitions as the leader has told them last."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._epochs: dict[int, Epochs] = {}

    def replaced(self, states: dict[str, QueryState], facts: Facts) -> dict[str, str]:
        """Query -> which offsets it has counted that are other records now, in words. Looks only at partitions of which a
        query has read more, or whose epochs are new; again at those where something was found."""
        new = {p for p, text in facts.logs.items() if self._texts.get(p) != text}
        self._epochs |= {p: Epochs.load(facts.logs[p]) for p in new}
        self._texts |= {p: facts.logs[p] for p in new}
        reasons = {}
        for id_, state in states.items():
            if (read_on := state.must_compare(new)) and (reason := self._compare(state, read_on)):
                reasons[id_] = reason
        return reasons

    def _compare(self, state: QueryState, read_on: set[int]) -> str | None:
        """Compares what the query has read on; a partition where the log was replaced stays to be compared."""
        reason, left = None, set()
        for partition in sorted(read_on):
            noted, epochs = state.commit.leader_epochs.get(partition), self._epochs.get(partition)
            if epochs is None or not noted:
                continue
            first = compare(noted, epochs)
            if first is not None:
                reason = truncated(partition, first, max(offset for _, offset in noted))
                left.add(partition)
        state.has_compared(left)
        return reason
