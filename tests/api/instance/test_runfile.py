"""The run file and its lock: who runs, who is gone, who comes second."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace

import psutil
import pytest

from api.cli.commands import status
from api.cli.commands.status import collect
from api.instance import runfile
from api.instance.runfile import Process, Run
from mars.config import load
from mars.errors import ConfigurationError, ConflictError, MarsError, NotReadyError


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


@pytest.mark.parametrize(("error", "told"), [
    (NotReadyError("not ready", "state folder: /state has 7 bytes left", "wait a moment, then see `mars status`"),
     "not ready: state folder: /state has 7 bytes left"),
    (MarsError("wrong token", hint="set MARS_API_TOKEN"), "wrong token (set MARS_API_TOKEN)")])
def test_what_does_not_answer_stands_in_the_status_after_what_has_ended(tmp_path, monkeypatch, error, told):
    def no_answer(*_):
        raise error

    monkeypatch.setattr(status, "workers", no_answer)
    for troubles in ([], ["kafka: kafka ended with exit code -9; start 8 is due in 60 s"]):
        Run(Process.of(os.getpid()), runfile.READY, api="http://127.0.0.1:1", troubles=troubles).save(tmp_path)
        found = collect(load({"data": tmp_path}, environment={}))
        assert (found["state"], found["reason"]) == ("degraded", "; ".join([*troubles, told]))


def test_the_status_asks_whether_all_is_ready(tmp_path, monkeypatch):
    class Unready:
        def __init__(self, *_):
            self.asked = []

        def __enter__(self):
            return self

        def __exit__(self, *_):
            assert self.asked == ["/v1/queries", "/v1/sinks", "/v1/workers", "/readyz"]

        def get(self, path):
            self.asked.append(path)
            if path == "/readyz":
                raise NotReadyError("not ready", "state folder: /state has 7 bytes left")
            return {"/v1/queries": {"queries": [{"name": "q"}]}, "/v1/sinks": {"sinks": [{"name": "s"}]},
                    "/v1/workers": {"mappers": {"wanted": 2, "scaled": True}, "publishers": {"wanted": 1, "scaled": False}}
                    }[path]

    monkeypatch.setattr(status, "workers", lambda *_: {"mappers": [{"id": "m"}], "reducers": []})
    monkeypatch.setattr(status.Client, "of", Unready)
    Run(Process.of(os.getpid()), runfile.READY, api="http://127.0.0.1:1").save(tmp_path)
    found = collect(load({"data": tmp_path}, environment={}))
    assert (found["state"], found["reason"]) == ("degraded", "not ready: state folder: /state has 7 bytes left")
    assert (found["queries"], found["sinks"], found["mappers"]) == ([{"name": "q"}], [{"name": "s"}], [{"id": "m"}])
    assert found["wanted"] == {"mappers": 2}


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
    assert replace(mine, started=mine.started - 100).find() is None
    assert replace(mine, boot="another start of the machine").find() is None


def test_a_clock_that_is_set_hides_nobody(tmp_path, monkeypatch):
    Run(Process.of(os.getpid()), runfile.READY).save(tmp_path)
    set_clock(monkeypatch)
    assert runfile.running(tmp_path)


def test_a_name_with_spaces_and_parentheses_does_not_move_the_fields(tmp_path):
    program = tmp_path / "a) b (c 1 2 3"
    shutil.copy("/bin/sleep", program)
    child = subprocess.Popen([program, "60"])
    try:
        mine = Process.of(child.pid)
        began_s = psutil.boot_time() + mine.started / os.sysconf("SC_CLK_TCK")
        assert mine.find().create_time() == pytest.approx(began_s, abs=0.1)
    finally:
        child.kill()
        child.wait()


def set_clock(monkeypatch) -> None:
    """As if the wall clock had been set an hour ahead: the system tells a start by what the clock says now."""
    told = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: told(self) + 3600)


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
    with pytest.raises(ConflictError, match=r"http://127\.0\.0\.1:1"):
        runfile.lock(tmp_path)
    os.close(descriptor)
    os.close(runfile.lock(tmp_path))


@pytest.mark.parametrize("letter", [",", "\n", "\udcff"])
def test_a_path_that_no_service_can_be_given_is_refused(tmp_path, letter):
    with pytest.raises(ConfigurationError) as refused:
        runfile.lock(tmp_path / f"a{letter}b")
    assert ascii(letter) in refused.value.detail
    assert "symbolic link" in refused.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_something_else_is_refused_and_stays_as_it_is(tmp_path):
    for name in ("README.md", "src", ".git", "demo"):
        (tmp_path / name).mkdir()
    with pytest.raises(ConfigurationError) as refused:
        runfile.lock(tmp_path)
    assert refused.value.detail == "it holds something else: README.md, src"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", "README.md", "demo", "src"]


@pytest.mark.parametrize("there", [("lost+found", "demo", ".keep"), ("state",), ("run.lock", "notes.txt")])
def test_a_mount_point_and_a_folder_that_is_ours_already_are_taken(tmp_path, there):
    for name in there:
        (tmp_path / name).touch() if "." in name else (tmp_path / name).mkdir()
    os.close(runfile.lock(tmp_path))
