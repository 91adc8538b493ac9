"""The demo's own part: when it waits, when it gives up, and what it says when it is interrupted."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from api.demo import command
from api.demo.view import View
from api.instance import runfile
from api.instance.runfile import Process, Run
from mars.errors import MarsError

OPTIONS = {"file": None, "topic": None, "kafka": None, "rate": 1, "seconds": 1, "into": None}


class Clock:
    """Time that passes while the demo waits, and for no thread beside it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=self.pass_))

    def pass_(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def watched(monkeypatch):
    """Watches a query with this many messages left at each look; gives the seconds that it took."""
    def run(*left: int, state: str = "RUNNING") -> float:
        clock, looks = Clock(monkeypatch), iter(left)
        document = {"counters": {"tuples": 1}, "lag": None, "watermark": None, "state": state, "reason": "why"}
        client = SimpleNamespace(get=lambda path, **_: document if path == "/v1/queries/q" else {"columns": [], "rows": []})
        source = SimpleNamespace(name="q", sent=1, goal=1, done=lambda: True, left=lambda _document: next(looks))
        with View() as view:
            command.watch(client, source, view)
        return clock.now

    return run


def test_it_waits_as_long_as_something_is_read(watched):
    looks = [n for n in range(1_000, 0, -1) for _ in range(100)]
    assert watched(*looks, 0) == len(looks) * command.LOOK_S


def test_it_gives_up_when_nothing_is_read_any_more(watched):
    with pytest.raises(MarsError, match="7 messages are not committed"):
        watched(*[8] * 100, *[7] * 1_000)
    with pytest.raises(MarsError, match="DATA_LOSS"):
        watched(8, 0, state="DATA_LOSS")


@pytest.mark.parametrize("runs", [True, False])
def test_interrupted_it_says_that_mars_runs_only_if_it_does(tmp_path, monkeypatch, capsys, runs):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "instance", interrupted)
    if runs:
        Run(Process.of(os.getpid()), runfile.READY).save(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        command.demo(tmp_path, stop=False, **OPTIONS)
    said = capsys.readouterr().err
    assert "interrupted" in said
    assert ("Mars still runs" in said) == runs
