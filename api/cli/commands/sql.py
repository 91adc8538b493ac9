"""`mars sql`: statements from an option, a file or stdin; the shell when there are none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from api.cli.client import Client
from api.cli.commands.instance import settings
from api.cli.running import read, run, show
from api.instance import runfile
from api.tls import Trust
from mars.errors import SqlError
from sql.read.parse import split_statements


def sql(data: Path | None, api: str | None, ca: Path | None, text: str | None, script: str | None,
        format_: str | None) -> None:
    """Run statements one after the other and stop at the first that fails."""
    if text is None and (script is not None or not sys.stdin.isatty()):
        text = read(script or "-")
    with connect(data, api, ca) as client:
        if text is None:
            from api.cli.shell import Shell

            Shell(client, format_ or "table").run()
            return
        format_ = format_ or ("table" if sys.stdout.isatty() else "csv")
        for statement, at in placed(text):
            try:
                answer = run(client, statement)
            except SqlError as error:
                raise in_script(error, text, at) from None
            show(answer, format_)


def placed(script: str) -> Iterator[tuple[str, int]]:
    """The statements of a script, and the place where each begins."""
    at = 0
    for statement in split_statements(script):
        at = script.index(statement, at)
        yield statement, at
        at += len(statement)


def in_script(error: SqlError, script: str, at: int) -> SqlError:
    """The refusal of the statement that begins at script[at], with its place in the script."""
    line_start = script.rfind("\n", 0, at) + 1
    line, column = error.line and error.line + script.count("\n", 0, at), error.column
    if error.line == 1:
        column += at - line_start
    return SqlError(error.title, error.detail, error.hint, sql=script, line=line, column=column, length=error.length)


def connect(data: Path | None, api: str | None, ca: Path | None) -> Client:
    """A client of the named API, which trusts the authorities of `ca` if that is given; or else of the instance on the
    folder."""
    config = settings(data)
    if api is None:
        return Client.of(runfile.require(config.data), config.api_token)
    return Client(api, config.api_token, trust=Trust.given(ca) if ca else None)
