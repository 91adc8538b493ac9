"""Memory for large responses, used again once nobody holds anything of the response that lay in it.

The system clears each page of fresh memory before it hands it out, which cost a mapper as much as receiving into it.
"""

from __future__ import annotations

import weakref

import numpy as np

KEPT_MAX = 4  # buffers that wait to be used again: a mapper has about as many answers at work
KEPT_BYTES_MAX = 32 << 20  # of one; what is larger is rare
STEP_BYTES = 4 << 20  # answers to the same question differ by less; what is not written to takes no memory


class Buffers:
    """Buffers of this process; any thread may take one."""

    def __init__(self) -> None:
        self._kept: list[np.ndarray] = []

    def take(self, size: int) -> memoryview:
        """So many bytes, of which nobody knows the content, to be written to. They are used again once this memoryview and
        all that were made of it are gone."""
        try:
            whole = self._kept.pop()
        except IndexError:
            whole = None
        if whole is None or len(whole) < size:
            whole = np.empty(-(-size // STEP_BYTES) * STEP_BYTES, np.uint8)
        part = whole[:size]
        weakref.finalize(part, self._give_back, whole).atexit = False
        return part.data  # which holds `part`, as no array that is made of `part` would

    def _give_back(self, whole: np.ndarray) -> None:
        if len(whole) <= KEPT_BYTES_MAX and len(self._kept) < KEPT_MAX:
            self._kept.append(whole)


BUFFERS = Buffers()
