"""Connections: CREATE, DROP, SHOW, and what a connection is shown as."""

from __future__ import annotations

from collections.abc import Mapping

from api.statements.answers import Answer, listing, unchanged
from api.statements.context import Context
from mars.errors import RequestError
from mars.model.connections import NUMBER_MAX, OPTIONS, Connection, missing
from mars.results.formats import timestamp_text
from sql import statements as kinds
from sql.refusals import did_you_mean, refusal_at

SET_FIRST = "mars secret set {0} asks for it and keeps it"


def create_connection(context: Context, statement: kinds.CreateConnection) -> Answer:
    """Keep where a target is. The secrets that it names must be there."""
    if statement.unless_there and _is_there(context, statement.name.text):
        return unchanged("created", statement.name.text, "connection")
    known = context.secrets.list()
    for _option, secret in statement.secrets:
        if secret.text not in known:
            raise refusal_at(statement.sql, secret, f"unknown secret {secret.text}", "there is none of this name",
                             did_you_mean(secret.text, known, SET_FIRST.format(secret.text)))
    made = create(context, Connection(statement.name.text, statement.kind, dict(statement.options),
                                      {option: secret.text for option, secret in statement.secrets}))
    return Answer("created", made.name)


def create(context: Context, connection: Connection) -> Connection:
    """Keep a connection; ConflictError if the name exists."""
    return context.sink_definitions.create_connection(connection)


def of_request(context: Context, name: str, to: str, options: Mapping[str, str | int | dict]) -> Connection:
    """The connection of a request's body, in which a secret stands as {"secret": name}. RequestError if it cannot be one."""
    kind = to.upper()
    if kind not in OPTIONS:
        raise RequestError("unknown kind of connection", f"to is {to}", f"give {' or '.join(OPTIONS)}")
    plain: dict[str, str | int] = {}
    secrets: dict[str, str] = {}
    for key, value in options.items():
        option, rule = key.upper(), OPTIONS[kind].get(key.upper())
        if rule is None:
            raise RequestError(f"unknown option {key}", f"a connection to {kind} takes {', '.join(OPTIONS[kind])}",
                               did_you_mean(option, OPTIONS[kind], "leave it out"))
        if rule.secret:
            if not isinstance(value, dict):
                raise RequestError(f"a {option.lower()} does not stand in a request", "requests are kept in logs",
                                   f'mars secret set NAME keeps it; then send "{key}": {{"secret": "NAME"}}')
            secrets[option] = value["secret"]
            continue
        if isinstance(value, dict) or (rule.choices and str(value).upper() not in rule.choices) \
                or (rule.is_number and not (isinstance(value, int) and 1 <= value <= NUMBER_MAX)):
            raise RequestError(f"wrong {key}", "its value does not fit", f"give {' or '.join(rule.choices) or 'a text'}"
                               if not rule.is_number else f"give a whole number from 1 to {NUMBER_MAX}")
        plain[option] = str(value).upper() if rule.choices else value if rule.is_number else str(value)
    lacking = missing(kind, {*plain, *secrets})
    if lacking:
        raise RequestError(f"{lacking[0]} is missing", f"a connection to {kind} needs {', '.join(lacking)}", "add it")
    known = context.secrets.list()
    for secret in secrets.values():
        if secret not in known:
            raise RequestError(f"unknown secret {secret}", "there is none of this name", SET_FIRST.format(secret))
    return Connection(name, kind, plain, secrets)


def drop_connection(context: Context, statement: kinds.DropConnection) -> Answer:
    """Forget a connection that no sink uses."""
    if statement.if_there and not _is_there(context, statement.name.text):
        return unchanged("dropped", statement.name.text, None)
    return Answer("dropped", context.sink_definitions.drop_connection(statement.name.text).name)


def _is_there(context: Context, name: str) -> bool:
    return name.lower() in context.sink_definitions.read().connections


def show_connections(context: Context, _statement: kinds.ShowConnections) -> Answer:
    """One row for each connection; secrets are named."""
    lines = [(d["name"], d["kind"], d["shown"], ", ".join(d["sinks"])) for d in documents(context)]
    return Answer("rows", table=listing(dict.fromkeys(("name", "kind", "options", "sinks"), "STRING"), lines))


def documents(context: Context) -> list[dict]:
    """All connections by name, as `GET /v1/connections` shows them."""
    found = context.sinks.read()
    return [document(connection, found.users(key)) for key, connection in sorted(found.connections.items())]


def named(context: Context, name: str) -> dict:
    """The connection of that name; NotFoundError with a did-you-mean."""
    return document(context.sinks.connection(name), context.sinks.read().users(name))


def document(connection: Connection, sinks: list[str]) -> dict:
    """A connection, with secrets by their names alone."""
    secrets = {option: {"secret": secret} for option, secret in connection.secrets.items()}
    return {"name": connection.name, "kind": connection.kind, "options": {**connection.options, **secrets},
            "shown": connection.shown(), "sinks": sorted(sinks), "created": timestamp_text(connection.created_ms * 1000)}
