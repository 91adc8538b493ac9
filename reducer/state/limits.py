"""What a query may hold in a key part: a query that holds more stops itself, before it takes the room of others. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from mars.algebra import cells
from mars.algebra.cells_wire import compacted
from mars.config import Config
from reducer.state.merge import QueryState

WAY_OUT = ("state and results up to the last commit are kept; raise the setting and RESUME QUERY, or DROP it and CREATE it "
           "with fewer keys, shorter windows, or less WATERMARK and GRACE")


@dataclass(frozen=True)
class Verdict:
    """In words, which limit a query exceeds in its open windows and by what, '' if it exceeds none; and does it hold no more
    than it may only once its tables are merged?"""

    exceeded: str = ""
    fits_only_merged: bool = False


class Limits:
    """Remembers what was counted, so that cells of one group in several tables are not counted anew at each commit."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._counted: dict[str, tuple[int, int]] = {}  # query -> rows when they were last counted, and groups in them

    def judge(self, state: QueryState, key_part: int) -> Verdict:
        """What is to be said of a query's state in this key part."""
        exceeded = self._groups(state, key_part)
        return Verdict(exceeded) if exceeded else self._bytes(state, key_part)

    def _groups(self, state: QueryState, key_part: int) -> str:
        most, id_ = self.config.query_groups_max, state.query.id
        tables = [*state.open, *state.delta]
        rows = sum(len(table) for table in tables)
        before, groups = self._counted.get(id_, (0, 0))
        if rows < before:  # windows have closed, or cells were put together
            before, groups = 0, 0
            self._counted.pop(id_, None)
        if groups + rows - before <= most:
            return ""
        groups = len(cells.merge(state.query.plan, state.stream, tables))
        self._counted[id_] = (rows, groups)
        if groups <= most:
            return ""
        return (f"key part {key_part} holds {groups:,} groups in open windows, and query_groups_max is {most:,}; {WAY_OUT}")

    def _bytes(self, state: QueryState, key_part: int) -> Verdict:
        most = self.config.query_state_bytes_max
        # Segments may have rows of closed windows: an upper bound, and cheap.
        if sum(s.length for s in state.commit.state) + sum(table.nbytes for table in state.delta) <= most:
            return Verdict()
        tables = [*state.open, *state.delta]
        if sum(table.nbytes for table in tables) <= most:
            return Verdict()
        # The same groups may lie in each table: how many tables there are is luck, what they come to is not.
        held = compacted(cells.merge(state.query.plan, state.stream, tables)).nbytes
        if held <= most:
            return Verdict(fits_only_merged=True)
        return Verdict(f"key part {key_part} holds {held:,} bytes of cells in open windows, and query_state_bytes_max is "
                       f"{most:,}; {WAY_OUT}")
