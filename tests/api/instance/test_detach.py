"""What `mars up --detach` says when its supervisor ends before all is ready."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from api.instance import processes, up
from api.instance.services.paths import log_dir
from mars.config import Config
from mars.errors import MarsError


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Start with a supervisor of this code; the error's title and detail."""
    def with_code(code: str) -> tuple[str, str]:
        def spawn(_module: str, data: Path, log: str) -> subprocess.Popen:
            with open(log_dir(data) / f"{log}.log", "ab") as errors:
                return subprocess.Popen([sys.executable, "-c", f"import sys; sys.stdin.read(); {code}"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)

        monkeypatch.setattr(processes, "spawn", spawn)
        with pytest.raises(MarsError) as caught:
            up.detach(Config().model_copy(update={"data": tmp_path}), lambda *_: None)
        return caught.value.title, caught.value.detail

    return with_code


def test_one_that_was_stopped_says_so(start) -> None:
    assert start("sys.exit(0)")[0] == "Mars was stopped while it started"


def test_one_that_ended_shows_its_own_last_words_and_none_of_an_earlier_start(start, tmp_path: Path) -> None:
    assert "first words" in start("sys.exit('first words')")[1]
    title, detail = start("sys.exit(3)")
    assert (title, detail.splitlines()[1:]) == ("The supervisor ended", ["nothing was written"])
    assert "code 3" in detail
    assert "first words" in (tmp_path / "logs" / "supervisor.log").read_text()
