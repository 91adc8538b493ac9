"""A child is ready, fails, and ends as told, and never outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from api.instance.services.process import Child
from mars.errors import NotReadyError

PARENT = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from api.instance.services.process import Child
with ThreadPoolExecutor(1) as pool:  # a thread that has ended long before the child
    child = pool.submit(Child, "sleeper", ["sleep", "600"], Path(sys.argv[1]), way=sys.argv[2]).result()
time.sleep(0.3)
print(child.pid, flush=True)
time.sleep(600)
"""

WAYS = ["watcher"] + (["kernel"] if sys.platform == "linux" else [])


def gone(pid: int, within_s: float = 60.0) -> bool:
    """Whether the process ends in time; a zombie, which nobody here reaps, has ended."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("way", WAYS)
def test_a_child_dies_when_its_parent_is_killed(tmp_path: Path, way: str) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path / "log"), way], stdout=subprocess.PIPE,
                          cwd=os.getcwd()) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert psutil.Process(pid).name() == "sleep"
        parent.kill()
    assert gone(pid)


@pytest.mark.parametrize("way", WAYS)
def test_stop_ends_the_child_and_its_children(tmp_path: Path, way: str) -> None:
    child = Child("shell", ["sh", "-c", "sleep 601 & echo started; wait"], tmp_path / "log", way=way)
    child.wait_ready(lambda: "started" in (tmp_path / "log").read_text(), 60)
    family = psutil.Process(child.pid).children(recursive=True)
    child.stop()
    assert child.exit_code() is not None
    assert all(gone(member.pid) for member in family)
    child.stop()


def test_a_child_that_will_not_end_is_killed(tmp_path: Path) -> None:
    deaf = "trap '' TERM; echo started; while :; do sleep 0.1; done"
    child = Child("deaf", ["sh", "-c", deaf], tmp_path / "log")
    child.wait_ready(lambda: "started" in (tmp_path / "log").read_text(), 60)
    child.stop(timeout_s=0.2)
    assert child.exit_code() == -signal.SIGKILL


def test_a_child_that_ends_early_tells_its_last_lines(tmp_path: Path) -> None:
    child = Child("broken", ["sh", "-c", "echo cannot bind; exit 3"], tmp_path / "log")
    with pytest.raises(NotReadyError, match=r"(?s)broken ended with exit code 3.*log:\ncannot bind"):
        child.wait_ready(lambda: False, 60)


def test_what_a_child_said_last_outlives_the_next_start(tmp_path: Path) -> None:
    log, before = tmp_path / "log", tmp_path / "log.1"
    for text in ("first", "second", "", "third"):
        child = Child("once", ["sh", "-c", f"printf '{text}'"], log)
        with pytest.raises(NotReadyError):
            child.wait_ready(lambda: False, 60)
        assert log.read_text() == text
        assert (before.read_text() if before.exists() else None) == {"first": None, "second": "first"}.get(text, "second")


def test_a_child_that_never_answers_is_named(tmp_path: Path) -> None:
    child = Child("mute", ["sleep", "600"], tmp_path / "log")
    with pytest.raises(NotReadyError, match="mute did not get ready in 0 s"):
        child.wait_ready(lambda: False, 0.1)
    child.stop()
