"""What a query may hold in a key part. A query that holds more stops before it takes the room of others. Pure."""

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
    """Which limit a query exceeds in its open windows, and by how much, in words; '' if none. And whether it keeps the
    limits only once its tables are merged."""

    exceeded: str = ""
    fits_only_merged: bool = False


class Limits:
    """Remembers what was counted, so that cells of one group in several tables are not counted again at each commit."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._counted: dict[str, tuple[int, int]] = {}  # query -> rows when they were last counted, and groups in them

    def judge(self, state: QueryState, key_part: int) -> Verdict:
        """The verdict on a query's state in this key part."""
        exceeded = self._groups(state, key_part)
        return Verdict(exceeded) if exceeded else self._bytes(state, key_part)

    def _groups(self, state: QueryState, key_part: int) -> str:
        id_, beside = state.query.id, sum(map(len, state.held_beside()))
        most = self.config.query_groups_max - beside
        tables = [*state.open, *state.delta]
        rows = sum(len(table) for table in tables)
        before, groups = self._counted.get(id_, (0, 0))
        if rows < before:  # windows have closed, or cells were merged
            before, groups = 0, 0
            self._counted.pop(id_, None)
        if groups + rows - before <= most:
            return ""
        groups = len(cells.merge(state.query.plan.aggregation, state.stream, tables))
        self._counted[id_] = (rows, groups)
        if groups <= most:
            return ""
        return (f"key part {key_part} holds {groups + beside:,} groups in {_where(beside)}, and query_groups_max is "
                f"{most + beside:,}; {WAY_OUT}")

    def _bytes(self, state: QueryState, key_part: int) -> Verdict:
        beside = sum(table.nbytes for table in state.held_beside())
        most = self.config.query_state_bytes_max - beside
        # Segments may still have rows of closed windows, so this is only an upper bound; but it is cheap.
        if sum(s.length for s in state.commit.state) + sum(table.nbytes for table in state.delta) <= most:
            return Verdict()
        tables = [*state.open, *state.delta]
        if sum(table.nbytes for table in tables) <= most:
            return Verdict()
        # Each table may have the same groups. How many tables there are is luck; the size of the merged tables is not, so
        # that decides.
        held = compacted(cells.merge(state.query.plan.aggregation, state.stream, tables)).nbytes
        if held <= most:
            return Verdict(fits_only_merged=True)
        return Verdict(f"key part {key_part} holds {held + beside:,} bytes of cells in {_where(beside)}, and "
                       f"query_state_bytes_max is {most + beside:,}; {WAY_OUT}")


def _where(beside: int) -> str:
    return "open windows and those that LATE UPDATE keeps" if beside else "open windows"
