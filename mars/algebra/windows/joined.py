"""Windows that the tuples of a group decide together: which windows a tuple is in depends on the others.

Cells have a column `last`, the greatest time in them, and a window is known only from all cells of its group
(mars/algebra/cells_joined.py).
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from mars.algebra.windows.kind import Times, Windows


class Joined(Windows):
    """What cells_joined asks of such a kind. A cell or window is named by its first time."""

    panes_are_windows = False
    gap: int  # tuples of a group that are further apart are in different windows
    shortest: int  # no window ends earlier behind its first and its last tuple

    @abstractmethod
    def windows_of(self, ids: np.ndarray, first: Times, last: Times) -> tuple[Times, Times]:
        """The start and the end of the window that each of these cells is in, if there are no others. `ids` int32[n] tell
        the groups."""
