"""A hunt for each planted bug: the faults and the load that show it, step by step, on a small stream of its own.

A hunt gets a `Scene`, brings about the one interleaving that its bug needs, and ends with `conclude`. Its docstring says
which one. With the bug it must go red by what is missing, twice, torn or gone back; on the code as it is, by nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tests.nemesis.oracle import Verdict
from tests.nemesis.scene import Scene

NO_RECOVERY = "not all was read"  # says nothing of what is wrong


@dataclass(frozen=True)
class Hunt:
    """What happens, and the stream that it needs."""

    run: Callable[[Scene], Verdict]
    partitions: int
    idle: str


HUNTS: dict[str, Hunt] = {}


def hunt(function: Callable[[Scene], Verdict], partitions: int = 1, idle: str = "IDLE OFF") -> Callable[[Scene], Verdict]:
    """Enters a hunt under its function's name, which is its bug's."""
    HUNTS[function.__name__] = Hunt(function, partitions, idle)
    return function


def needs(**of_the_stream: object) -> Callable:
    """The same for a hunt whose stream has `partitions`, or is `idle` at times."""
    return partial(hunt, **of_the_stream)


def load() -> dict[str, Hunt]:
    """All of them."""
    from tests.nemesis.hunts import commits, exchange, mappers, recovery, windows  # noqa: F401
    return HUNTS
