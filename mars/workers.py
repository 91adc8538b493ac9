"""The kinds of workers of an instance. Each worker is one long Spark task, and is registered in ZooKeeper while it lives.

Everything that starts, counts or shows workers uses this table. A further kind is a line in it, and a setting that says
how many there are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from mars.model import names


@dataclass(frozen=True)
class Kind:
    """`job` names the module and function that such a worker runs. It is called with the configuration as JSON and the
    number of the slot, and returns when the worker is to end. Live ones have a znode each in `folder`. A kind with
    `needed_by` is started while that znode has children. The number of a kind that `is_scaled` may change while Mars
    runs, up to the setting `<plural>_max`."""

    name: str
    job: tuple[str, str]
    folder: str
    needed_by: str | None = None
    is_scaled: bool = False

    @property
    def plural(self) -> str:
        """Their name in the plural; the setting of this name says how many there are."""
        return f"{self.name}s"

    def load(self) -> Callable[[str, int], None]:
        """Import what such a worker runs."""
        module, function = self.job
        return getattr(importlib.import_module(module), function)


KINDS = (
    Kind("mapper", ("mapper.job", "run_mapper"), names.MAPPERS, is_scaled=True),
    Kind("reducer", ("reducer.job", "run_reducer"), names.REDUCERS, is_scaled=True),
    Kind("publisher", ("mars.publisher.job", "run_publisher"), names.PUBLISHERS, names.SINKS),
)
SCALED = tuple(kind for kind in KINDS if kind.is_scaled)
