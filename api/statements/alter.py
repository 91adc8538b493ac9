"""ALTER QUERY and CREATE OR REPLACE QUERY: a query shows the cells that it keeps in another way, those of its past too."""

from __future__ import annotations

from api.statements import define
from api.statements.answers import Answer
from api.statements.context import Context
from mars import computing
from mars.errors import ConflictError
from mars.model.identifiers import identifier
from mars.model.plan import QueryPlan, Stream
from mars.model.registry import Query
from sql import statements as kinds
from sql.check.alter import altered
from sql.refusals import refusal


def alter_query(context: Context, statement: kinds.AlterQuery) -> Answer:
    """Change what a query shows, if that follows from what it keeps; at once, and also of windows that are closed. SqlError
    if it does not follow, ConflictError if the query has sinks or keeps rows."""
    asked = kinds.CreateQuery(statement.name, None, statement.select, statement.sql)
    if statement.or_create and context.definitions.catalog().kind(statement.name.text) is None:
        return define.create_query(context, asked)
    stream, query = context.definitions.query(statement.name.text)
    asked_of, plan = define.compile_query(context, asked)
    if asked_of.id != stream.id:
        raise _refused(statement, query, f"the stream ({stream.name})")
    _require_cells(context, stream, query)

    def made(query: Query) -> QueryPlan:
        return _altered(statement, stream, query, plan)

    changed = context.definitions.alter_query(statement.name.text, made, context.sink_definitions.require_none)
    return Answer("altered", changed.name, notes=["Its closed windows are shown in the new way, too. Cursors and event ids "
                                                  "from before are no longer valid."])


def _altered(statement: kinds.AlterQuery, stream: Stream, query: Query, plan: QueryPlan) -> QueryPlan:
    if reason := computing.refusal(query.plan, stream):
        raise ConflictError("this Mars would change the query's answers", reason, f"see `DESCRIBE {query.name}`")
    elsewhere = statement.select.clauses.start is not None and plan.start != query.plan.start
    found = altered(query.plan, plan, elsewhere)
    if isinstance(found, str):
        raise _refused(statement, query, found)
    return found


def _refused(statement: kinds.AlterQuery, query: Query, what: str) -> Exception:
    name, verb = statement.name, "CREATE OR REPLACE" if statement.or_create else "ALTER QUERY"
    return refusal(statement.sql, name.start, name.end, f"{verb} cannot change {what}",
                   f"it changes what is shown of the cells that {query.name} keeps, and they do not hold this",
                   "CREATE QUERY under another name, and DROP this one once the new one has read as far")


def _require_cells(context: Context, stream: Stream, query: Query) -> None:
    """ConflictError if closed windows are kept as rows, which cannot be shown in another way."""
    snapshot = context.snapshots.read(stream, query)
    kept = (result for part in snapshot.committed() for result in context.tables.segments(part))
    if query.plan.aggregation.grows or any(result.rows and not result.are_cells for result in kept):
        why = "count(DISTINCT ..) and its like keep rows, because their cells grow with the tuples" \
            if query.plan.aggregation.grows else "an earlier version of Mars wrote them"
        raise ConflictError("the query keeps rows of closed windows, and no cells", why,
                            f"CREATE QUERY under another name, and DROP QUERY {identifier(query.name)} later")
