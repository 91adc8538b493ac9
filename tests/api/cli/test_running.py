"""How `mars sql` waits for a statement: the progress it shows, and what Ctrl-C does at any moment."""

import signal
import sys
import threading
import time

import pytest
from rich.progress import Progress

from api.cli import running
from mars.errors import NotReadyError, SqlError

HIDDEN, SHOWN = "\x1b[?25l", "\x1b[?25h"


class Api:
    """Answers `sql` when `answer` is called; notes which thread called it for what."""

    def __init__(self) -> None:
        self.called: list[tuple[str, bool]] = []
        self.told = threading.Event()
        self.looked = threading.Event()
        self.answered = threading.Event()
        self.outcome: dict | Exception = {"kind": "rows"}

    def _note(self, name: str) -> None:
        self.called.append((name, threading.current_thread() is threading.main_thread()))

    def sql(self, statement: str, id_: str) -> dict:
        self._note("sql")
        self.answered.wait(30)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def get(self, path: str) -> dict:
        self._note("get")
        if len(self.called) > 3:
            self.looked.set()
        if len(self.called) % 2:
            raise NotReadyError("The API does not answer")
        return {"done": 30, "total": 120}

    def cancel(self, id_: str) -> None:
        self._note("cancel")
        self.told.set()


@pytest.fixture
def api(monkeypatch):
    monkeypatch.setattr(running, "PROGRESS_AFTER_S", 0.01)
    monkeypatch.setattr(running, "PROGRESS_EVERY_S", 0.01)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    made = Api()
    yield made
    made.answered.set()
    signal.signal(signal.SIGINT, handler)


@pytest.fixture(params=[True, False], ids=["terminal", "pipe"])
def on_terminal(request, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: request.param)
    return request.param


def wait_for_the_bar(api: Api, on_terminal: bool) -> None:
    if on_terminal:
        assert api.looked.wait(20)
    else:
        time.sleep(0.1)


def test_a_long_statement_is_followed_and_answered(api, on_terminal):
    def end() -> None:
        wait_for_the_bar(api, on_terminal)
        api.answered.set()

    threading.Thread(target=end, daemon=True).start()
    assert running.run(api, "SELECT 1") == {"kind": "rows"}
    assert ("get" in [name for name, _ in api.called]) == on_terminal
    is_quiet_from = len(api.called) + 1  # one look may be on its way
    time.sleep(0.1)
    assert len(api.called) <= is_quiet_from


def test_a_refusal_is_raised_as_it_is(api, on_terminal):
    api.outcome = SqlError("no such column", "it is not there")
    threading.Timer(0.1, api.answered.set).start()
    with pytest.raises(SqlError, match="no such column"):
        running.run(api, "SELECT 1")


def test_ctrl_c_stops_the_statement_at_the_api(api, on_terminal):
    def interrupt() -> None:
        wait_for_the_bar(api, on_terminal)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        running.run(api, "SELECT 1")
    assert api.told.is_set()
    # The main thread, where Ctrl-C is raised, never calls the API.
    assert {name for name, _ in api.called} >= {"sql", "cancel"}
    assert not any(is_main for _, is_main in api.called)


def test_the_cursor_is_shown_again_even_if_the_bar_has_only_begun(api, monkeypatch, capsys):
    def interrupted(bar: Progress) -> None:
        bar.console.show_cursor(False)
        raise KeyboardInterrupt

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(Progress, "__enter__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        running.run(api, "SELECT 1")
    told = capsys.readouterr().err
    assert -1 < told.rfind(HIDDEN) < told.rfind(SHOWN)
