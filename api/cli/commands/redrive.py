"""`mars redrive`: the statement REDRIVE DEAD LETTERS with its progress."""

from __future__ import annotations

from pathlib import Path

from api.cli.commands.load import say
from api.cli.commands.sql import connect
from api.cli.running import notes, run


def redrive(stream: str, topic: str | None, reason: str | None, where: str | None, dry_run: bool, data: Path | None,
            api: str | None, ca: Path | None) -> None:
    """Send the letters and say what was sent; see `mars redrive --help`."""
    with connect(data, api, ca) as client:
        answer = run(client, statement(stream, topic, reason, where, dry_run))
    for note in notes(answer):
        say(note)


def statement(stream: str, topic: str | None, reason: str | None, where: str | None, dry_run: bool) -> str:
    """The statement that these options mean."""
    conditions = [f"contains(reason, {_text(reason)})"] if reason is not None else []
    conditions += [f"({where})"] if where is not None else []
    parts = [f"REDRIVE DEAD LETTERS FROM `{stream}`", f"INTO {_text(topic)}" if topic is not None else "",
             f"WHERE {' AND '.join(conditions)}" if conditions else "", "DRY RUN" if dry_run else ""]
    return " ".join(filter(None, parts))


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
