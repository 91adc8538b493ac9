"""What queries that have the very same cells share: each step over these cells is done once. Pure.

Queries with equal aggregations get the same cells from each entry, as one object, and whatever is made of it is one object
too. So their states consist of the same tables as long as they have merged the same. No query knows of another: each has its
own positions and counters, and is paused, dropped or stopped alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar, cast

from mars.model.plan import Aggregation

T = TypeVar("T")


class Once:
    """Results of steps over tables that never change, until `forget`. A step is known by its name, by the aggregation, by
    the objects that it takes, each of which must be the same object, and by `how`, which must be equal."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], tuple[object, tuple[object, ...]]] = {}

    def get(self, step: str, aggregation: Aggregation, of: Iterable[object], make: Callable[[], T], how: object = None) -> T:
        """What `make` gives for this step, made at the first call. What is given must not be changed."""
        held = tuple(of)
        key = (step, aggregation.cells_name, how, *map(id, held))
        found = self._made.get(key)
        if found is None:
            # Whoever is kept here keeps its id, so that no other object can be taken for it.
            found = self._made[key] = (make(), held)
        return cast(T, found[0])

    def forget(self) -> None:
        """Let go of everything."""
        self._made = {}
