"""Any one statement: read it, run it, answer."""

from __future__ import annotations

from api import statements_define, statements_letters, statements_results, statements_select, statements_show
from api.answers import Answer
from api.context import Context
from sql import statements as kinds
from sql.parse import parse


def execute(context: Context, sql: str, id_: str = "") -> Answer:
    """The answer to one statement; MarsError for any that is refused. `id_` is what progress is reported under, and what a
    statement that may take long is stopped by."""
    statement = parse(sql, context.definitions.catalog().kind)
    if long := RUN_LONG.get(type(statement)):
        return long(context, statement, id_)
    return RUN[type(statement)](context, statement)


RUN_LONG = {
    kinds.SelectStatement: statements_select.over_stream,
    kinds.SelectFromQuery: statements_results.over_queries,
    kinds.RedriveDeadLetters: statements_letters.redrive_letters,
}
RUN = {
    kinds.CreateStream: statements_define.create_stream,
    kinds.DropStream: statements_define.drop_stream,
    kinds.CreateQuery: statements_define.create_query,
    kinds.DropQuery: statements_define.drop_query,
    kinds.PauseQuery: statements_define.pause_query,
    kinds.ResumeQuery: statements_define.resume_query,
    kinds.ShowStreams: statements_show.show_streams,
    kinds.ShowQueries: statements_show.show_queries,
    kinds.ShowDeadLetters: statements_letters.show_letters,
    kinds.Describe: statements_show.describe,
    kinds.Peek: statements_show.peek,
    kinds.Explain: statements_show.explain,
}
