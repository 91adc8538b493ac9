"""The composition root: one instance's supervisor, from its start to its end.

Runs inside `mars up`, or as `python -m api.instance.up` for `mars up --detach`: then it takes its configuration as one
JSON line on stdin, reports as JSON lines on stdout, and closes stdout once it is ready.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from api.instance import processes, runfile
from api.instance.runfile import Run
from api.instance.services.paths import log_dir, tail
from api.instance.supervisor import Report, Supervisor
from mars import config as configuration
from mars.config import Config
from mars.errors import MarsError


class Terminated(BaseException):
    """SIGTERM came: stop, as asked."""


def serve(config: Config, report: Report, ready: Callable[[Run], None]) -> None:
    """Run an instance in this process until a signal or a fault; stop it whole in any case.

    Raises MarsError with the reason for an end that nobody asked for, KeyboardInterrupt after SIGINT; returns
    after SIGTERM or SIGHUP."""
    descriptor = runfile.lock(config.data)
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, _terminate)
    supervisor = Supervisor(config, report)
    try:
        ready(supervisor.start())
        supervisor.watch()
    except Terminated:
        pass
    finally:
        supervisor.stop()
        os.close(descriptor)


def detach(config: Config, report: Report) -> Run:
    """Start an instance that outlives this process; return when it is ready.

    Raises MarsError with its reason when it cannot start; it has then stopped what it had started."""
    runfile.make_folder(config.data)
    log = log_dir(config.data) / "supervisor.log"
    written = log.stat().st_size if log.exists() else 0
    child = processes.spawn("api.instance.up", config.data, "supervisor")
    inbox, outbox = processes.pipes(child)
    try:
        processes.tell(inbox, {"config": config.to_json()})
        inbox.close()
        for event in processes.hear(outbox):
            if "ready" in event:
                report(event["ready"], event["detail"], event["seconds"])
            elif "error" in event:
                child.wait()
                raise processes.error(event)
            elif "done" in event:
                outbox.close()
                child.returncode = 0  # it is meant to outlive us, so Popen need not warn that it does
                return runfile.require(config.data)
        if child.wait() in (0, -signal.SIGTERM):
            raise MarsError("Mars was stopped while it started", "by `mars down`, or by a signal to its supervisor",
                            "give `mars up` again if it is to run")
        told = tail(log, start=written) or "nothing was written"
        raise MarsError("The supervisor ended", f"with code {child.returncode}, and its last words in {log}:\n{told}")
    except KeyboardInterrupt:
        child.terminate()
        child.wait()
        raise


def down(data: Path, patience: float = 20.0, purge: bool = False) -> bool:
    """Stop the instance on this folder, and whatever a killed supervisor left behind; with `purge` delete the folder then.
    True if anything ran. ConflictError, and nothing is deleted, if somebody has the folder still or again; MarsError if
    something cannot be deleted."""
    run = runfile.read(data)
    named = [run.supervisor, *run.processes.values()] if run else []
    ran = [process for process in named if process.find()]
    for process in ran:
        processes.stop(process, patience if run and process is run.supervisor else 1.0)
    with runfile.stopped(data):
        runfile.remove(data)
        if purge:
            _purge(data)
    return bool(ran)


def _purge(data: Path) -> None:
    """Delete what instances have put into the folder, and the folder itself if nothing else is there and it may be; a
    symbolic link stays, with the folder that it names. MarsError if something cannot be deleted; the same command goes on
    with it."""
    folder = path = data.resolve()
    try:
        # By its lock the folder is known as one of ours, and nobody starts on it: that goes last.
        others = runfile.foreign(folder)
        for path in sorted(folder.iterdir(), key=lambda path: path.name == runfile.LOCK):
            if path.name in others:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    except OSError as error:
        raise MarsError(f"Mars is stopped, but {data} is not deleted", f"{path}: {error}",
                        "mend that and give the same command again") from None
    if not data.is_symlink():
        with contextlib.suppress(OSError):  # a mount point, or in a folder that is not ours
            folder.rmdir()


def _terminate(number: int, frame: object) -> None:
    raise Terminated


def main() -> None:
    """The detached supervisor."""
    message = next(processes.hear(sys.stdin.buffer))
    config = configuration.Config.from_json(message["config"])
    stream = processes.take_stdout()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s")

    def report(name: str, detail: str, seconds: float) -> None:
        processes.tell(stream, {"ready": name, "detail": detail, "seconds": seconds})

    def ready(run: Run) -> None:
        processes.tell(stream, {"done": run.api})
        stream.close()

    try:
        serve(config, report, ready)
    except MarsError as error:
        if stream.closed:
            raise
        processes.tell(stream, processes.event(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
