"""All models, and every way to take safeguards from them."""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.altering import Altering
from tests.model.changing import Changing
from tests.model.claims import Claims
from tests.model.explore import Model
from tests.model.fetching import Fetching
from tests.model.lanes import Lanes
from tests.model.owners import Owners
from tests.model.poison import Poison
from tests.model.recovery import Recovery, RollBack
from tests.model.truncating import Truncating
from tests.model.visibility import Visibility
from tests.model.watermarks import DeposedLeader, NewLeader, NewPartitions, Watermarks

MODELS: tuple[type[Model], ...] = (Claims, Fetching, Truncating, Recovery, RollBack, Owners, Lanes, Watermarks,
                                   NewPartitions, NewLeader, DeposedLeader, Visibility, Changing, Poison, Altering)


def whole() -> list[Model]:
    """The models as they are, and without each safeguard that is only a second line of defence: all of them hold."""
    return [model() for model in MODELS] + [model(name) for model in MODELS for name in model.spare]


def removals() -> Iterator[Model]:
    """Each model without each safeguard, together with those that would cover for it: none of them holds."""
    for model in MODELS:
        for name in model.safeguards:
            if name not in model.spare:
                yield model(name, *model.backed.get(name, ()))
