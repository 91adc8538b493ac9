"""`mars sql`: statements from an option, a file or stdin; the shell when there are none."""

from __future__ import annotations

import sys
from pathlib import Path

from api import runfile
from api.client import Client
from api.commands.instance import settings
from api.render import render
from mars.errors import MarsError
from sql import split_statements


def sql(data: Path | None, api: str | None, text: str | None, script: str | None, format_: str | None) -> None:
    """Run statements one after the other and stop at the first that fails."""
    interactive = text is None and script is None and sys.stdin.isatty()
    if text is None and not interactive:
        text = read(script or "-")
    with connect(data, api) as client:
        if interactive:
            from api.shell import Shell

            Shell(client, format_ or "table").run()
            return
        format_ = format_ or ("table" if sys.stdout.isatty() else "csv")
        for statement in split_statements(text):
            show(client.sql(statement), format_)


def connect(data: Path | None, api: str | None) -> Client:
    """A client of the API that was named, else of the instance on the folder."""
    config = settings(data)
    return Client(api or runfile.require(config.data).api, config.api_token)


def read(script: str) -> str:
    """The text of a file, or of stdin for `-`."""
    try:
        return sys.stdin.read() if script == "-" else Path(script).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise MarsError(f"{script} cannot be read", str(error)) from None


def show(answer: dict, format_: str, expanded: bool = False) -> None:
    """Rows to stdout; what else an answer says to stderr."""
    if "rows" in answer and answer["kind"] in ("rows", "plan"):
        sys.stdout.buffer.write(render(answer, format_, expanded))
        sys.stdout.buffer.flush()
    for note in notes(answer):
        print(note, file=sys.stderr)


def notes(answer: dict) -> list[str]:
    """The sentences that belong to an answer but are no rows."""
    found = []
    if answer["kind"] not in ("rows", "plan"):
        found.append(f"{answer['kind']} {answer.get('name') or ''}".rstrip())
    if answer.get("truncated"):
        found.append(f"only the first {len(answer['rows']):,} rows; LIMIT says otherwise")
    found += [answer[name] for name in ("note", "warning", "reason") if answer.get(name)]
    return found + list(answer.get("notes") or [])
