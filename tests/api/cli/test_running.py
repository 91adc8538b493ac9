"""How `mars sql` waits for a statement, and what Ctrl-C does at any moment."""

import signal
import threading
import time

import pytest

from api.cli import running
from mars.errors import SqlError


class Api:
    """Answers `sql` when `answer` is called; notes which thread called it for what."""

    def __init__(self) -> None:
        self.called: list[tuple[str, bool]] = []
        self.told = threading.Event()
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

    def cancel(self, id_: str) -> None:
        self._note("cancel")
        self.told.set()


@pytest.fixture
def api(ctrl_c):
    made = Api()
    yield made
    made.answered.set()


def test_a_long_statement_is_answered(api):
    threading.Timer(0.1, api.answered.set).start()
    assert running.run(api, "SELECT 1") == {"kind": "rows"}
    assert [name for name, _ in api.called] == ["sql"]


def test_a_refusal_is_raised_as_it_is(api):
    api.outcome = SqlError("no such column", "it is not there")
    threading.Timer(0.1, api.answered.set).start()
    with pytest.raises(SqlError, match="no such column"):
        running.run(api, "SELECT 1")


def test_ctrl_c_stops_the_statement_at_the_api(api):
    def interrupt() -> None:
        time.sleep(0.1)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        running.run(api, "SELECT 1")
    assert api.told.is_set()
    # The main thread, where Ctrl-C is raised, never calls the API.
    assert {name for name, _ in api.called} >= {"sql", "cancel"}
    assert not any(is_main for _, is_main in api.called)
