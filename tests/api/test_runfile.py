"""The run file and its lock: who runs, who is gone, who comes second."""

import os
import subprocess
import sys

import pytest

from api import runfile
from api.commands.status import collect, not_ready
from api.runfile import Process, Run
from mars.config import load
from mars.errors import ConflictError, NotReadyError


def test_an_instance_is_found_while_its_supervisor_lives(tmp_path):
    Run(Process.of(os.getpid()), runfile.READY, api="http://127.0.0.1:1", processes={"me": Process.of(os.getpid())}
        ).save(tmp_path)
    assert runfile.require(tmp_path).api == "http://127.0.0.1:1"
    assert runfile.require(tmp_path).processes["me"].find().pid == os.getpid()


def test_what_is_being_started_again_stands_in_the_status(tmp_path):
    trouble = "server: ZooKeeper does not answer; start 3 is due in 2 s"
    Run(Process.of(os.getpid()), runfile.STARTING, troubles=[trouble]).save(tmp_path)
    found = collect(load({"data": tmp_path}, environment={}))
    assert (found["state"], found["reason"]) == ("starting", trouble)
    with pytest.raises(runfile.NotRunningError, match=trouble):
        runfile.require(tmp_path)


def test_what_is_not_ready_stands_in_the_status():
    class Unready:
        def get(self, path):
            assert path == "/readyz"
            raise NotReadyError("not ready", "state folder: /state has 7 bytes left")

    assert not_ready(Unready()) == {"state": "degraded", "reason": "not ready: state folder: /state has 7 bytes left"}


def test_a_killed_supervisor_counts_as_nothing_running(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    Run(Process.of(child.pid), runfile.READY).save(tmp_path)
    assert runfile.running(tmp_path)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie now
    assert runfile.running(tmp_path) is None
    child.communicate()
    assert runfile.running(tmp_path) is None
    assert runfile.read(tmp_path)


def test_a_number_that_another_process_got_is_not_taken_for_ours():
    mine = Process.of(os.getpid())
    assert Process(mine.pid, mine.started - 100).find() is None


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"supervisor": 3}'])
def test_a_damaged_run_file_is_none(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    assert runfile.read(tmp_path) is None


def test_nothing_and_half_a_start_are_not_running(tmp_path):
    with pytest.raises(runfile.NotRunningError, match="not running"):
        runfile.require(tmp_path)
    Run(Process.of(os.getpid())).save(tmp_path)
    with pytest.raises(runfile.NotRunningError, match="starting"):
        runfile.require(tmp_path)


def test_a_folder_is_locked_once_and_free_again_afterwards(tmp_path):
    Run(Process.of(os.getpid()), runfile.READY, api="http://127.0.0.1:1").save(tmp_path)
    descriptor = runfile.lock(tmp_path)
    with pytest.raises(ConflictError, match="http://127.0.0.1:1"):
        runfile.lock(tmp_path)
    os.close(descriptor)
    os.close(runfile.lock(tmp_path))
