"""Which tasks of a batch have what in common: the same tuples, the same groups of them, the same cells. It follows from the
queries, and from which columns have bad values; pure, and found once for all batches that are alike in this.

Tasks that differ by the constant alone of `column = constant` are of one shape. What they filter is divided by the values of
the column in one pass, and their cells are made together (mars/algebra/common).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from mars.algebra.cells_layout import schema
from mars.algebra.common.wanted import Wanted, finest
from mars.model.expressions import Call, Column, Constant, Expression, Literal
from mars.model.plan import Aggregation, Stream

DIVIDED = frozenset(("STRING", "INT", "BIGINT"))  # types of columns whose equality is that of their values
COMMON_SHARE = 0.5  # of the constants of other tasks: a shape that has fewer of them is not made together with those


@dataclass(frozen=True)
class Filter:
    """A WHERE as two parts: `column` is one of `constants`, and `rest` is true. Without a column there is no first part."""

    column: Column | None
    constants: tuple[Constant, ...]
    rest: Expression | None


@dataclass(frozen=True, eq=False)
class Shape:
    """What one task or several want of their tuples. `aggregation` is that of one of them."""

    aggregation: Aggregation
    wanted: Wanted
    schema: pa.Schema


@dataclass(eq=False)
class Choice:
    """Tuples that the same tasks count: those that are not bad by `bad` columns, nor future by this limit, and pass the
    filter. If `is_divided`, each of the constants has a slot of its own; else their tuples are together."""

    bad: tuple[str, ...]
    max_ahead_ms: int | None
    filter: Filter
    is_divided: bool
    tops: list[Wanted] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Task:
    """A task: its tuples, which of their slots, and what it wants of them."""

    choice: Choice
    slot: int
    shape: Shape


@dataclass
class Sharing:
    """All tasks of a batch, by the names of their cells; those that have something in common stand together. `constants`
    are all that the filters compare a column with."""

    tasks: dict[bytes, Task]
    constants: dict[Column, tuple[Constant, ...]]


def sharing_of(aggregations: Sequence[Aggregation], stream: Stream, bad: frozenset[str]) -> Sharing:
    """What these have in common, which are all different; `bad` are the columns with bad values."""
    wheres = {one.cells_name: list(conjuncts(one.where)) for one in aggregations}
    constants = _constants(part for parts in wheres.values() for part in parts)
    shapes: dict[tuple, list[tuple[Filter, Aggregation]]] = defaultdict(list)
    for one in aggregations:
        found = _filter(one.where, wheres[one.cells_name], constants)
        columns = tuple(name for name in one.columns if name in bad and name != stream.time_column)
        wanted = Wanted.of(one, stream)
        # Tasks whose groups are not made by keys and panes alone, or that take several constants, have their own tuples.
        alone = None if found.column is None or (len(found.constants) == 1 and wanted.is_plain) else found.constants
        shapes[columns, one.max_ahead_ms, found.column, found.rest, alone, wanted, one.partials].append((found, one))
    tasks = dict(_tasks(shapes, stream))
    return Sharing(tasks, {column: tuple(found) for column, found in constants.items()})


def conjuncts(condition: Expression | None) -> Iterator[Expression]:
    """The conditions of which all must be true."""
    match condition:
        case None:
            return
        case Call("and", arguments, _):
            for argument in arguments:
                yield from conjuncts(argument)
        case _:
            yield condition


def conjunction(parts: Sequence[Expression]) -> Expression:
    """The condition that all of these are true; there is one at least. It is no deeper than it must be."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return Call("and", (conjunction(parts[:middle]), conjunction(parts[middle:])), "BOOLEAN")


def _compared(part: Expression) -> tuple[Column, tuple[Constant, ...]] | None:
    """(column, constants) if it is true for tuples with one of these values, and for no others."""
    match part:
        case Call("eq", (Column() as column, Literal() as one), _) | Call("eq", (Literal() as one, Column() as column), _):
            members: Sequence[Expression] = (one,)
        case Call("in", (Column() as column, *members), _):
            pass
        case _:
            return None
    if column.type not in DIVIDED:
        return None
    values = [one.value for one in members if isinstance(one, Literal) and one.type == column.type]
    if None in values or len(values) < len(members):
        return None
    return column, tuple(dict.fromkeys(values))


def _constants(conditions: Iterable[Expression]) -> dict[Column, dict[Constant, None]]:
    """Of each column the constants with which it is compared, if there are several, the column with most of them first."""
    found: dict[Column, dict[Constant, None]] = defaultdict(dict)
    for part in conditions:
        if compared := _compared(part):
            found[compared[0]] |= dict.fromkeys(compared[1])
    some = [column for column in found if len(found[column]) > 1]
    return {column: found[column] for column in sorted(some, key=lambda column: -len(found[column]))}


def _filter(where: Expression | None, parts: list[Expression], constants: dict[Column, dict[Constant, None]]) -> Filter:
    """How a task's tuples are found: by the column that divides most."""
    places = {compared[0]: (place, compared[1]) for place, part in enumerate(parts) if (compared := _compared(part))}
    for column in constants:
        if column in places:
            place, own = places[column]
            rest = [*parts[:place], *parts[place + 1:]]
            return Filter(column, own, conjunction(rest) if rest else None)
    return Filter(None, (), where)


def _tasks(shapes: dict[tuple, list[tuple[Filter, Aggregation]]], stream: Stream) -> Iterator[tuple[bytes, Task]]:
    """Each task under the name of its cells."""
    alike: dict[tuple, list[tuple]] = defaultdict(list)
    for (bad, ahead, column, rest, alone, wanted, partials), members in shapes.items():
        alike[bad, ahead, column, rest, alone].append((wanted, partials, members))
    for (bad, ahead, column, rest, alone), found in alike.items():
        for constants, some in _chosen(found, column is not None and alone is None):
            slots = {constant: slot for slot, constant in enumerate(constants)}
            choice = Choice(bad, ahead, Filter(column, alone or constants, rest), len(constants) > 1)
            choice.tops = finest([wanted for wanted, _, _ in some])
            # Finer groups come first, so that the others are made of them.
            for wanted, _, members in sorted(some, key=lambda one: (-len(one[0].keys), one[0].step or 0)):
                shape = Shape(members[0][1], wanted, schema(members[0][1], stream))
                for filter_, one in members:
                    slot = slots[filter_.constants[0]] if choice.is_divided else 0
                    yield one.cells_name, Task(choice, slot, shape)


def _chosen(found: list[tuple], divided: bool) -> Iterator[tuple[tuple[Constant, ...], list[tuple]]]:
    """(constants, shapes) whose cells are made together. All constants of these get cells of each shape, so that shapes
    without most of them are better made apart."""
    if not divided:
        yield (), found
        return
    made: list[tuple[dict[Constant, None], list[tuple]]] = []
    for shape in sorted(found, key=lambda one: -len(one[2])):
        own = dict.fromkeys(filter_.constants[0] for filter_, _ in shape[2])
        for constants, shapes in made:
            if len(own) >= COMMON_SHARE * len(constants) and own.keys() <= constants.keys():
                shapes.append(shape)
                break
        else:
            made.append((own, [shape]))
    for constants, shapes in made:
        yield tuple(constants), shapes
