"""Tuples of one batch that count for the same aggregations, and what is computed of them, each thing once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mars.algebra.cells_wire import compact
from mars.algebra.evaluate import Columns, evaluate
from mars.algebra.evaluation.arrays import single, taken
from mars.algebra.evaluation.function import Value
from mars.algebra.grouping import key_codes
from mars.algebra.partials import Order
from mars.model.expressions import Call, Expression
from mars.runtime.byte_lru import ByteLru

FEW = 5_000  # tuples need few values of a dictionary that knows many
KNOWN_BYTES_MAX = 64 << 20  # of values that may be asked for again
Codes = list[tuple[np.ndarray, int]]
T = TypeVar("T")


@dataclass(frozen=True)
class Given:
    """The tuples that a FILTER lets through: their numbers (None: all), both arguments of each, and their order."""

    rows: np.ndarray | None
    values: pa.Array | None
    second: pa.Array | None
    order: Order

    @property
    def nbytes(self) -> int:
        """The memory that it holds besides what others hold."""
        return sum(part.nbytes for part in (self.rows, self.values, self.second) if part is not None)


def known_values() -> ByteLru[object, object]:
    """An empty cache of what was computed of some tuples."""
    return ByteLru(KNOWN_BYTES_MAX, size_of)


def size_of(value: object) -> int:
    """Bytes of a cached value."""
    if isinstance(value, list):
        return sum(codes.nbytes for codes, _ in value)
    return int(getattr(value, "nbytes", 64))


@dataclass(frozen=True)
class Slots:
    """To which of `count` slots each of the tuples belongs; those of a slot stand together, in the order of the slots."""

    numbers: np.ndarray
    count: int


class Tuples:
    """The tuples with the numbers `rows` (None: all) of a batch, by its columns and order. With `slots`, cells are made of
    each slot by itself. Evaluation takes it for the columns by name."""

    def __init__(self, columns: Columns, order: Order, rows: np.ndarray | None = None, slots: Slots | None = None) -> None:
        self._columns, self._order, self._rows, self.slots = columns, order, rows, slots
        self.time = order.time if rows is None else order.time[rows]
        self._taken: dict[str, pa.Array] = {}
        self._known = known_values()

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, name: str, /) -> pa.Array:
        found = self._taken.get(name)
        if found is None:
            whole = single(self._columns[name])
            found = self._taken[name] = whole if self._rows is None else taken(whole, self._rows)
        return found

    @cached_property
    def order(self) -> Order:
        """Their order."""
        return self._order if self._rows is None else self._order.take(self._rows)

    def value(self, expression: Expression) -> pa.Array:
        """The expression's value of each."""
        return evaluate(expression, self, len(self), self)

    def get(self, call: Call, /) -> Value | None:
        """What is known of them already (mars/algebra/evaluate.Known)."""
        return cast(Value | None, self._known.get(call))

    def put(self, call: Call, value: Value, /) -> None:
        """Keeps what was computed of them."""
        self._known.put(call, value)

    def key(self, expression: Expression) -> pa.Array:
        """The value of a key."""
        return self._once(("key", expression), lambda: self._key(expression))

    def given(self, argument: Expression | None, second: Expression | None, filter_: Expression | None) -> Given:
        """What partials are made of."""
        if filter_ is None:
            values, others = (None if part is None else self.value(part) for part in (argument, second))
            return Given(None, values, others, self.order)
        return self._once(("given", argument, second, filter_), lambda: self._given(argument, second, filter_))

    def codes(self, argument: Expression, filter_: Expression | None) -> Codes:
        """The values of an argument as codes (grouping.key_codes), of the tuples that a FILTER lets through."""
        return self._once(("codes", argument, filter_), lambda: self._codes(argument, filter_))

    def greatest_size(self, argument: Expression) -> int:
        """No value of an integer argument is further from 0."""
        return self._once(("size", argument), lambda: self._greatest_size(argument))

    def _once(self, name: object, make: Callable[[], T]) -> T:
        found = cast(T | None, self._known.get(name))
        if found is None:
            found = make()
            self._known.put(name, found)
        return found

    def _key(self, expression: Expression) -> pa.Array:
        value = self.value(expression)
        return value if len(value) > FEW else compact(value)

    def _given(self, argument: Expression | None, second: Expression | None, filter_: Expression) -> Given:
        holds = self.value(filter_).fill_null(False).to_numpy(zero_copy_only=False)
        if holds.all():
            return self.given(argument, second, None)
        rows = np.flatnonzero(holds)
        values, others = (None if part is None else self.value(part).take(pa.array(rows)) for part in (argument, second))
        return Given(rows, values, others, self.order.take(rows))

    def _codes(self, argument: Expression, filter_: Expression | None) -> Codes:
        values = self.given(argument, None, filter_).values
        assert values is not None, argument
        return list(key_codes(values if len(values) > FEW else compact(values)))

    def _greatest_size(self, argument: Expression) -> int:
        found = pc.min_max(self.value(argument)).as_py()
        return max(abs(found["min"] or 0), abs(found["max"] or 0))
