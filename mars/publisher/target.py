"""What a target of sinks is, and which rows fit in one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from mars.adapters.target_errors import FencedError, ProgressLostError, TargetRefusesError
from mars.config import Config
from mars.model.connections import POSTGRES
from mars.model.expressions import Column
from mars.model.plan import QueryPlan
from mars.model.sinks import WEBHOOK, Into, Mark
from mars.results.emitted import is_emitted
from mars.results.schema import columns_of

WINDOW = ("window_start", "window_end")
BATCH_ROWS = 20_000


@dataclass(frozen=True)
class Pace:
    """When the rows that a delivery holds go to the target: once the first of them has waited `every_s`, or with so many
    rows or bytes, whatever comes first. Rows and bytes may be exceeded by one block of the result."""

    every_s: float = 0.0
    rows_max: int = BATCH_ROWS
    bytes_max: int = 64 << 20


@dataclass(frozen=True)
class Shape:
    """The rows of a result: (name, type) of each column; `keys` are the columns of the query's keys, `hidden` the keys that
    no column shows; `is_changelog`: rows may come again, and the newest one of window and keys counts;
    `is_emitted`: because of EMIT EVERY."""

    columns: tuple[tuple[str, str], ...]
    keys: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    is_changelog: bool = False
    is_emitted: bool = False

    @staticmethod
    def of(plan: QueryPlan) -> Shape:
        """The shape of a query's result."""
        shown: dict[str, str] = {}
        for output in plan.presentation.outputs:
            if isinstance(output.expression, Column):
                shown.setdefault(output.expression.name, output.name)
        keys = [shown.get(f"k{i}") for i in range(len(plan.aggregation.keys))]
        return Shape(tuple(columns_of(plan)), tuple(key for key in keys if key is not None),
                     tuple(plan.aggregation.keys[i].name for i, key in enumerate(keys) if key is None),
                     is_emitted(plan) or plan.aggregation.is_changelog, is_emitted(plan))


class Target(Protocol):
    """One sink's way into its target. Every method raises TargetAwayError, TargetRefusesError or FencedError; after any
    error it can only be closed. Used from one thread. If it does not keep the mark, ZooKeeper's copy is all there is: it is
    written after each `deliver`, before the next one."""

    pace: Pace
    keeps_mark: bool

    def prepare(self, may_make: bool) -> bool:
        """Make the table or topic if it is missing, or check that rows fit in it; True if it was made. ProgressLostError if
        it is missing and may not be made, TargetRefusesError, which names the column, if rows do not fit."""

    def claim(self, fresh: Mark, is_known: bool) -> Mark:
        """Shut out every other owner of a lower epoch, and read the mark: the target's own, under the epoch of `fresh`; or
        `fresh`, which is written, if the target has none. ProgressLostError in its place if a mark `is_known` to have been
        there. FencedError if an owner of a higher epoch has been there."""

    def deliver(self, rows: pa.Table, mark: Mark) -> None:
        """Write rows and the mark behind them, both or neither. RowsRefusedError names the first row that is refused."""

    def close(self) -> None:
        """End the connection, and undo what is not committed."""


@dataclass(frozen=True)
class Way:
    """What it takes to reach targets: the configuration, the secrets by name, and the instance's id."""

    config: Config
    secret: Callable[[str], str]
    instance: str


def lost(detail: str) -> ProgressLostError:
    """The error for a target without a mark that reads, though there was one."""
    return ProgressLostError("the target has lost how far the sink is", detail)


def under(mark: Mark, fresh: Mark) -> Mark:
    """The mark of a target under the epoch of `fresh`. FencedError if an owner of a higher epoch has written it."""
    if mark.epoch > fresh.epoch:
        raise FencedError("another publisher has the sink", f"its epoch is {mark.epoch}, and ours {fresh.epoch}")
    return replace(mark, epoch=fresh.epoch)


def key_columns(into: Into, shape: Shape) -> tuple[str, ...]:
    """The columns of a message's key."""
    if into.key is not None:
        return into.key
    return (*(name for name, _ in shape.columns if name == WINDOW[0]), *shape.keys)


def check_shape(into: Into, shape: Shape) -> None:
    """TargetRefusesError, which names the column, if the rows of a result can be in no such target, whatever it holds."""
    names = [name for name, _ in shape.columns]
    for key in into.key or ():
        if key not in names:
            raise TargetRefusesError(f"no column {key}", f"the result has {', '.join(names)}", "name one of them in KEY")
    for name, type_ in shape.columns:
        if type_ == "VOID":
            raise TargetRefusesError(f"column {name} has no type", "it is NULL in every row", "CAST it to a type")
    if into.kind == WEBHOOK and shape.is_emitted:
        raise TargetRefusesError("a webhook does not take rows of EMIT EVERY yet", "its messages are told apart by their "
                                 "windows, which come again", "name another target, or write EMIT FINAL")
    if into.kind == POSTGRES and shape.hidden:
        raise TargetRefusesError(f"key {shape.hidden[0]} is not in the result", "without it rows of one window cannot be "
                                 "told apart in a table", f"add {shape.hidden[0]} to the SELECT list")
