"""Windows that are ranges: of the panes that a group has, in the order of time, those from one to another."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from mars.algebra.windows.kind import Times, Windows


class Ranged(Windows):
    """What cells_ranges asks of such a kind. The group decides which windows there are, so its cells are looked at
    together; but a pane alone tells until when it is needed."""

    panes_are_windows = False
    late = "a tuple whose windows are all closed"

    @abstractmethod
    def ranges(self, ids: np.ndarray, panes: Times, above: int | None, up_to: int | None
               ) -> tuple[np.ndarray, np.ndarray, Times]:
        """(first, last, names): the windows that end in (above, up_to], of None without a bound. Window i consists of the
        panes from place first[i] to last[i]. `panes` are ordered by the groups `ids`, then ascending, each once."""
