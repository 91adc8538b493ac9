"""Running statements and showing their answers, for scripts and for the shell."""

from __future__ import annotations

import contextlib
import sys
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue

from api.cli.client import Client
from api.cli.render import CELL_WIDTH, render
from mars.errors import MarsError

CANCEL_S = 2.0
SIGNAL_S = 0.5


def run(client: Client, statement: str) -> dict:
    """The answer to one statement. Ctrl-C stops it at the API too, and waits for no answer of an API that is silent."""
    id_ = uuid.uuid4().hex
    answers: SimpleQueue[Future] = SimpleQueue()
    try:
        _beside("statement", _ask, client, statement, id_, answers)
        return _first(answers).result()
    except KeyboardInterrupt:
        _beside("cancel", _cancel, client, id_).join(CANCEL_S)
        raise


def _beside(name: str, do: Callable[..., None], *arguments: object) -> threading.Thread:
    """A started thread that calls the API. While a statement runs, the main thread never calls it, and waits only in one
    C call. The reason is Ctrl-C: it is raised in whatever line the main thread has reached, and inside the HTTP client it
    would be swallowed or leave the pool locked. The thread is a daemon, because the process must not wait for it at its
    end."""
    thread = threading.Thread(target=do, args=arguments, name=name, daemon=True)
    thread.start()
    return thread


def _first(answers: SimpleQueue[Future]) -> Future:
    """The first answer. Python notes a signal when a C call ends. One that comes between its last look and the call's wait
    would be seen only when the answer comes, so no wait is long."""
    while True:
        with contextlib.suppress(Empty):
            return answers.get(timeout=SIGNAL_S)


def _ask(client: Client, statement: str, id_: str, answers: SimpleQueue[Future]) -> None:
    answer: Future = Future()
    try:
        answer.set_result(client.sql(statement, id_))
    except BaseException as error:
        answer.set_exception(error)
    answers.put(answer)


def _cancel(client: Client, id_: str) -> None:
    with contextlib.suppress(Exception):  # the client may be closed meanwhile, because nobody waits long for this
        client.cancel(id_)


def read(script: str) -> str:
    """The text of a file, or of stdin for `-`."""
    try:
        return sys.stdin.read() if script == "-" else Path(script).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise MarsError(f"{script} cannot be read", str(error)) from None


def show(answer: dict, format_: str, expanded: bool = False) -> None:
    """Rows to stdout; everything else in an answer to stderr."""
    if "rows" in answer and answer["kind"] in ("rows", "plan"):
        # A reader of a pipe or a file wants whole values; a reader of a screen wants aligned columns.
        sys.stdout.buffer.write(render(answer, format_, expanded, CELL_WIDTH if sys.stdout.isatty() else None))
        sys.stdout.buffer.flush()
    for note in notes(answer):
        print(note, file=sys.stderr)


def notes(answer: dict) -> list[str]:
    """The sentences that belong to an answer but are not rows."""
    found = []
    if answer["kind"] not in ("rows", "plan"):
        found.append(f"{answer['kind']} {answer.get('name') or ''}".rstrip())
    if answer.get("truncated"):
        found.append(f"only the first {len(answer['rows']):,} rows are shown; LIMIT gives more")
    found += [answer[name] for name in ("note", "warning", "reason") if answer.get(name)]
    return found + list(answer.get("notes") or [])
