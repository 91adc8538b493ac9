"""The faults of the nemesis, a file for each family. A fault is inflicted, held for a while, and healed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from tests.nemesis.instance import Instance
    from tests.nemesis.loaded import LoadedStream


class WrongError(Exception):
    """The fault has itself seen that something is wrong."""


@dataclass
class World:
    """What a fault may touch: the instance, the stream under load, and the seeded chance."""

    instance: Instance
    stream: LoadedStream
    rng: random.Random


class Fault:
    """One kind of fault. `inflict` may note what `heal` needs on itself; `heal` must also work if `inflict` failed
    halfway. `needs` are words like 'root': where one is lacking, the fault is skipped with that word. `has_struck` turns
    False where `inflict` finds nothing that it can strike: such a fault was not survived.
    """

    number: ClassVar[str] = ""  # in the table of docs/reliability.md
    weight: ClassVar[float] = 1.0
    hold_s: ClassVar[tuple[float, float]] = (1.0, 4.0)
    needs: ClassVar[frozenset[str]] = frozenset()
    has_struck = True
    heals_by_api: ClassVar[bool] = False  # then it is healed once the instance is up again

    def __init__(self, world: World) -> None:
        self.world, self.instance, self.stream, self.rng = world, world.instance, world.stream, world.rng

    @property
    def name(self) -> str:
        """As the journal and the totals name it."""
        return type(self).__name__

    def inflict(self) -> None:
        """Do it."""
        raise NotImplementedError

    def took_effect(self) -> bool:
        """Has it happened? Asked once it was held, before anything is healed."""
        return self.has_struck

    def heal(self) -> None:
        """Undo what does not end by itself."""


def every() -> dict[str, type[Fault]]:
    """All kinds by name, family by family."""
    from tests.nemesis.faults import clock, disk, instances, kafka, network, processes, queries, redis, sinks
    found = {}
    for family in (processes, network, redis, kafka, disk, clock, queries, sinks, instances):
        for kind in vars(family).values():
            if isinstance(kind, type) and issubclass(kind, Fault) and kind.__module__ == family.__name__ \
                    and not kind.__name__.startswith("_"):
                found[kind.__name__] = kind
    return found
