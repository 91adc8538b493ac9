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

PROGRESS_AFTER_S, PROGRESS_EVERY_S = 0.5, 0.3
CANCEL_S = 2.0


def run(client: Client, statement: str) -> dict:
    """The answer to one statement. A long one shows a progress bar on a terminal. Ctrl-C also stops it at the API, and
    does not wait for an API that is silent."""
    id_ = uuid.uuid4().hex
    answers: SimpleQueue[Future] = SimpleQueue()
    _beside("statement", _ask, client, statement, id_, answers)
    try:
        with contextlib.suppress(Empty):
            return answers.get(timeout=PROGRESS_AFTER_S).result()
        return (follow(client, id_, answers) if sys.stderr.isatty() else answers.get()).result()
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


def follow(client: Client, id_: str, answers: SimpleQueue[Future]) -> Future:
    """Show the progress of a running statement on the terminal until its answer comes, and return that."""
    from rich.console import Console
    from rich.progress import Progress

    found, over, console = {}, threading.Event(), Console(stderr=True)
    _beside("progress", _look, client, id_, found, over)
    try:
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task("running", total=None)
            while True:
                bar.update(task, completed=found.get("done"), total=found.get("total") or None)
                with contextlib.suppress(Empty):
                    return answers.get(timeout=PROGRESS_EVERY_S)
    finally:
        over.set()
        console.show_cursor()  # Ctrl-C may come after the bar has hidden the cursor but before it has begun


def _look(client: Client, id_: str, found: dict, over: threading.Event) -> None:
    """Put what the API says about the statement into `found`."""
    while not over.is_set():
        with contextlib.suppress(Exception):  # without an answer, the bar stays as it is
            found.update(client.get(f"/v1/sql/{id_}"))
        over.wait(PROGRESS_EVERY_S)


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
