"""The kinds of windows, one file each. Who wants to know anything of a query's windows asks `of`, and nobody computes a
window's start or end by himself."""

from __future__ import annotations

from mars.algebra.windows.kind import NEVER, Windows
from mars.algebra.windows.tumbling import Tumbling
from mars.algebra.windows.whole import Whole
from mars.model.plan import QueryPlan, Stream

__all__ = ["KINDS", "NEVER", "Windows", "of"]

KINDS: dict[str | None, type[Windows]] = {None: Whole, "tumbling": Tumbling}


def of(plan: QueryPlan, stream: Stream) -> Windows:
    """The windows of a plan over its stream."""
    return KINDS[plan.window.kind if plan.window else None](plan.window, stream, plan.grace_ms)
