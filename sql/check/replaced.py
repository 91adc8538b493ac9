"""What both EMIT EVERY and rows that change need: rows that come again, each in the place of an earlier one."""

from __future__ import annotations

from mars.model.expressions import Column
from mars.model.plan import Key, Output
from sql.places import span
from sql.refusals import refusal
from sql.statements import SelectStatement


def check(select: SelectStatement, keys: tuple[Key, ...], outputs: tuple[Output, ...], *, words: str, place: tuple[int, int],
          column: str) -> None:
    """SqlError if a row could not be taken back, if nobody could tell which row another one replaces, or if the last column
    that the clause adds is there already. `words` name the clause, which is at `place`."""
    having = select.tree.args.get("having")
    if having is not None:
        raise refusal(select.sql, *span(having.this), f"HAVING does not go with {words}", "a row that was given out cannot "
                      "be taken back when it no longer meets the condition", "give the condition where results are read: "
                      "WHERE of a SELECT or of a sink")
    shown = {output.expression.name for output in outputs if isinstance(output.expression, Column)}
    for number, key in enumerate(keys):
        if f"k{number}" not in shown:
            raise refusal(select.sql, *place, f"{words} needs the key {key.name} in the SELECT list",
                          "window and keys say which row a newer one replaces", f"add {key.name} to the SELECT list")
    if any(output.name.lower() == column for output in outputs):
        raise refusal(select.sql, *place, f"the column {column} is there twice",
                      f"{words} adds a last column of this name", "give yours another name with AS")
