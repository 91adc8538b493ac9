"""Unique names for columns."""

from __future__ import annotations

from collections.abc import Iterable


class FreeNames:
    """Gives each column a name of its own: a repeated one gets _2."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {name.lower() for name in taken}

    def take(self, name: str) -> str:
        """The name, or the first of name_2, name_3, ... that is free, in any case."""
        free, number = name, 1
        while free.lower() in self._taken:
            number += 1
            free = f"{name}_{number}"
        self._taken.add(free.lower())
        return free
