"""A condition over the columns of existing rows, with the meaning that it has in WHERE."""

from __future__ import annotations

from functools import lru_cache

from mars.errors import SqlError
from mars.model.expressions import Expression
from mars.model.plan import Stream, StreamColumn
from sql.check.compile import NO_AGGREGATE, plan_of
from sql.check.scopes import SEE_COLUMNS
from sql.read.parse import parse
from sql.statements import SelectStatement

HEAD = "SELECT * FROM result WHERE\n"
ONE = ("expressions", "from_", "where")
KEPT = 256
ALONE = "compare a column: a condition looks at each row alone"


def compile_condition(text: str, columns: tuple[tuple[str, str], ...], see_columns: str) -> Expression:
    """The BOOLEAN expression of one condition over (name, type) columns; SqlError, with its place in the text, unless it
    is exactly one condition and names only these columns. `see_columns` is the hint that says where the columns are
    listed."""
    if not text.strip():
        raise SqlError("the condition is empty", hint="write, for example: count > 10", sql=text, line=1, column=1)
    rows = Stream("result", 0, "", "", tuple(StreamColumn(name, type_) for name, type_ in columns), "CSV", "")
    try:
        statement = parse(HEAD + text)
        assert isinstance(statement, SelectStatement), statement
        more = [name for name, part in statement.tree.args.items() if part and name not in ONE]
        if more or statement.clauses.places:
            raise SqlError("this is more than a condition", f"{', '.join(more) or 'a clause'} after it",
                           "a condition is an expression, for example: count > 10")
        condition = plan_of(statement, rows, continuous=False).aggregation.where
        assert condition is not None, text  # a WHERE without one does not parse
        return condition
    except SqlError as error:
        line = error.line - HEAD.count("\n")
        place = (line, error.column) if line > 0 else (1, 1)
        # Hints for a SELECT over a stream do not help here, so they are replaced.
        hint = {NO_AGGREGATE: ALONE, SEE_COLUMNS: see_columns}.get(error.hint, error.hint)
        raise SqlError(error.title, error.detail, hint, sql=text, line=place[0], column=place[1],
                       length=error.length) from None


@lru_cache(KEPT)
def result_condition(text: str, columns: tuple[tuple[str, str], ...]) -> Expression:
    """The same over the columns of a query's result. It is cached, because each page and each look of a reader has it
    again."""
    return compile_condition(text, columns, "DESCRIBE the query, or read it without where, to see its columns")
