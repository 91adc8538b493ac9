"""Any one statement: read it, run it, answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from api.statements import (
    alter,
    connections,
    define,
    letters,
    select_results,
    select_stream,
    show,
    sink_status,
    sinks,
    workforce,
)
from api.statements.answers import Answer
from api.statements.context import Context
from sql import statements as kinds
from sql.read.parse import parse


def execute(context: Context, sql: str, id_: str = "") -> Answer:
    """The answer to one statement; MarsError for any that is refused. `id_` names a statement that may take long, for its
    progress and to stop it."""
    statement = parse(sql, context.definitions.catalog().kind)
    if long := RUN_LONG.get(type(statement)):
        return long(context, statement, id_)
    return RUN[type(statement)](context, statement)


RUN_LONG: dict[type[kinds.Statement], Callable[[Context, Any, str], Answer]] = {
    kinds.SelectStatement: select_stream.over_stream,
    kinds.SelectFromQuery: select_results.over_queries,
    kinds.ShowLate: select_results.show_late,
    kinds.RedriveDeadLetters: letters.redrive_letters,
}
RUN: dict[type[kinds.Statement], Callable[[Context, Any], Answer]] = {
    kinds.CreateStream: define.create_stream,
    kinds.DropStream: define.drop_stream,
    kinds.CreateQuery: define.create_query,
    kinds.AlterQuery: alter.alter_query,
    kinds.DropQuery: define.drop_query,
    kinds.PauseQuery: define.pause_query,
    kinds.ResumeQuery: define.resume_query,
    kinds.ShowStreams: show.show_streams,
    kinds.ShowQueries: show.show_queries,
    kinds.ShowDeadLetters: letters.show_letters,
    kinds.Describe: show.describe,
    kinds.Peek: show.peek,
    kinds.Explain: show.explain,
    kinds.CreateConnection: connections.create_connection,
    kinds.DropConnection: connections.drop_connection,
    kinds.ShowConnections: connections.show_connections,
    kinds.CreateSink: sinks.create_sink,
    kinds.DropSink: sinks.drop_sink,
    kinds.PauseSink: sinks.pause_sink,
    kinds.ResumeSink: sinks.resume_sink,
    kinds.ReplaySink: sinks.replay_sink,
    kinds.ShowSinks: sink_status.show_sinks,
    kinds.ExplainSink: sink_status.explain_sink,
    kinds.AlterWorkers: workforce.alter_workers,
    kinds.ShowWorkers: workforce.show_workers,
}
