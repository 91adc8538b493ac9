"""Compiles the kernels of cells ahead of time, so that no batch waits for a compiler."""

from __future__ import annotations

from mars.algebra import grouping, hashing, ordering, partials
from mars.algebra.evaluation import elementary, powers
from mars.algebra.windows import runs, sliding


def warm() -> None:
    """Compiles all kernels of this package, or loads them from the cache (mars/kernel_cache.py says where it is)."""
    grouping.warm()
    hashing.warm()
    ordering.warm()
    partials.warm()
    elementary.warm()
    powers.warm()
    runs.warm()
    sliding.warm()
