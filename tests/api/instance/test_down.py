"""Stopping: a process that is ours, an instance by its folder, and never a folder that somebody holds."""

import errno
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from api.cli.program import mars
from api.instance import processes, runfile, up
from api.instance.runfile import Process, Run
from api.instance.supervisor import ServerProcess
from mars.config import load
from mars.errors import ConflictError, MarsError

SLEEPER = "import subprocess, time; print(subprocess.Popen(['sleep', '60']).pid, flush=True); time.sleep(60)"
# Asked to end, it does not: so that it has to be killed.
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEPER
HOLDER = ("import sys, time; from pathlib import Path; from api.instance import runfile; runfile.lock(Path(sys.argv[1])); "
          "print(flush=True); time.sleep(60)")


def child_of(program: str, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            cwd=Path(up.__file__).parents[2])


def set_clock(monkeypatch) -> None:
    """As if the wall clock had been set an hour ahead."""
    told = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: told(self) + 3600)


@pytest.fixture
def held(tmp_path):
    """A data folder, and a process that holds it."""
    holder = child_of(HOLDER, str(tmp_path))
    holder.stdout.readline()
    yield tmp_path, holder
    holder.kill()
    holder.communicate()


@pytest.mark.parametrize("program", [SLEEPER, STUBBORN], ids=["willing", "stubborn"])
@pytest.mark.timeout(30)
def test_the_server_process_ends_with_its_children_though_the_clock_was_set(tmp_path, monkeypatch, program):
    monkeypatch.setattr(processes, "spawn", lambda *_: child_of(program))
    monkeypatch.setattr(ServerProcess, "_listen", lambda _: None)
    server = ServerProcess(load({"data": tmp_path}, environment={}), lambda *_: None)
    grandchild = psutil.Process(int(server.process.stdout.readline()))
    set_clock(monkeypatch)
    server.stop(0.5)
    assert server.ended()
    assert not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE
    server.stop(0.5)
    server.process.stdin.close()
    server.process.stdout.close()


def test_an_instance_is_stopped_though_the_clock_was_set(held, monkeypatch):
    data, holder = held
    Run(Process.of(holder.pid), runfile.READY).save(data)
    set_clock(monkeypatch)
    assert up.down(data)
    holder.wait(5)
    assert not (data / "run.json").exists()
    assert not up.down(data)


@pytest.mark.parametrize("flags", [[], ["--purge"]])
def test_nothing_is_deleted_while_somebody_holds_the_folder(held, flags):
    data, holder = held
    Run(replace(Process.of(holder.pid), started=1), runfile.READY).save(data)
    done = CliRunner().invoke(mars, ["down", *flags, "--data", str(data)])
    assert isinstance(done.exception, ConflictError), done.output
    assert str(holder.pid) in done.exception.detail
    assert "was not running" not in done.output
    assert holder.poll() is None
    assert (data / "run.json").exists()


def test_down_makes_no_folder(tmp_path):
    assert not up.down(tmp_path / "none")
    assert not up.down(tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.fixture
def stopped(tmp_path):
    """A data folder on which nothing runs, with what an instance leaves."""
    data = tmp_path / "data"
    (data / "kafka" / "topics").mkdir(parents=True)
    (data / "lost+found").mkdir()
    for name in ("run.lock", "run.json", "ports.json", "kafka/topics/meta.properties"):
        (data / name).touch()
    (data / "elsewhere").symlink_to(tmp_path, target_is_directory=True)
    return data


def purge(data: Path):
    return CliRunner().invoke(mars, ["down", "--purge", "--data", str(data)])


def test_purge_deletes_the_folder(stopped):
    (stopped / "lost+found").rmdir()
    (stopped / "elsewhere").unlink()
    done = purge(stopped)
    assert (done.exit_code, f"{stopped} is deleted" in done.output) == (0, True), done.output
    assert list(stopped.parent.iterdir()) == []


def test_purge_empties_what_a_link_names(stopped, tmp_path):
    (stopped / "elsewhere").unlink()
    link = tmp_path / "link"
    link.symlink_to(stopped, target_is_directory=True)
    done = purge(link)
    assert (done.exit_code, f"{link} is empty" in done.output) == (0, True), done.output
    assert [path.name for path in link.iterdir()] == ["lost+found"]
    runfile.make_folder(link)  # so it can be used again


def test_purge_empties_a_folder_that_cannot_be_deleted(stopped, monkeypatch):
    """As a mount point, or one whose parent is another user's."""
    (stopped / "lost+found").rmdir()
    (stopped / "elsewhere").unlink()
    deny(monkeypatch, "rmdir", stopped)
    done = purge(stopped)
    assert (done.exit_code, f"{stopped} is empty" in done.output) == (0, True), done.output
    assert list(stopped.iterdir()) == []


def test_purge_names_what_it_cannot_delete_and_goes_on_the_next_time(stopped, monkeypatch):
    with monkeypatch.context() as patch:
        deny(patch, "rmdir", stopped / "kafka" / "topics")
        done = purge(stopped)
        assert type(done.exception) is MarsError, done.output
        assert f"{stopped / 'kafka'}: [Errno 13] Permission denied" in done.exception.detail
    assert purge(stopped).exit_code == 0
    assert sorted(path.name for path in stopped.iterdir()) == ["elsewhere", "lost+found"]


def test_purge_leaves_what_is_not_of_our_making(stopped):
    """A folder of theirs in which somebody has started Mars once lost all its files."""
    (stopped / "src").mkdir()
    (stopped / "src" / "a.py").write_text("theirs")
    done = purge(stopped)
    assert (done.exit_code, "files that Mars did not make (elsewhere, src)" in done.output) == (0, True), done.output
    assert sorted(path.name for path in stopped.iterdir()) == ["elsewhere", "lost+found", "src"]
    assert (stopped / "src" / "a.py").read_text() == "theirs"


@pytest.mark.parametrize("command", ["up", "down", "status", "sql"])
def test_no_command_takes_an_empty_name_for_the_current_folder(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(mars, [command, "--data", ""])
    assert (done.exit_code, "the name is empty" in done.output) == (2, True), done.output
    assert list(tmp_path.iterdir()) == []


def deny(patch, name: str, place: Path) -> None:
    """Root, whom no permission stops, runs the tests too."""
    real = getattr(os, name)

    def denied(path, *arguments, **options) -> None:
        if Path(path).name == place.name:
            raise PermissionError(errno.EACCES, "Permission denied", str(place))
        real(path, *arguments, **options)

    patch.setattr(os, name, denied)
