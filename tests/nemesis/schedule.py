"""Which faults come, by seed: each kind once, then by chance single ones and pairs in turn. Pure."""

from __future__ import annotations

import random

from tests.nemesis.faults import Fault, every


def choose(seed: int, index: int, kinds: dict[str, type[Fault]]) -> list[type[Fault]]:
    """The faults of place `index`: one, or two at the same time. The same again for the same seed and kinds."""
    names = sorted(kinds)
    if index < len(names):
        random.Random(seed).shuffle(names)
        return [kinds[names[index]]]
    rng = chance(seed, index)
    weights = [kinds[name].weight for name in names]
    first = rng.choices(names, weights)[0]
    if index % 2 or len(names) == 1:
        return [kinds[first]]
    others = [name for name in names if name != first]
    return [kinds[first], kinds[rng.choices(others, [kinds[name].weight for name in others])[0]]]


def chance(seed: int, index: int) -> random.Random:
    """What the faults of a place decide by."""
    return random.Random(f"{seed}:{index}")


def possible(rights: frozenset[str], only: tuple[str, ...] = ()) -> tuple[dict[str, type[Fault]], dict[str, str]]:
    """The kinds that can be inflicted here, and for each other one what it lacks. `only`: these, if any are named."""
    wanted = {name: kind for name, kind in every().items() if not only or name in only}
    lacking = {name: ", ".join(sorted(kind.needs - rights)) for name, kind in wanted.items() if kind.needs - rights}
    return {name: kind for name, kind in wanted.items() if name not in lacking}, lacking
