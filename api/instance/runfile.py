"""The run file: what runs for one data folder, and at which addresses.

Only the supervisor writes `<data>/run.json`, and it removes it when everything has stopped. It holds `<data>/run.lock`
while it lives, so a folder never has two. If a run file's supervisor is gone, nothing counts as running.
"""

from __future__ import annotations

import contextlib
import json
import os
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from api.instance.processes import Process
from api.instance.services.paths import take
from mars.errors import ConfigurationError, ConflictError, NotReadyError

STARTING, READY = "starting", "ready"
LOCK = "run.lock"  # held by the process that has the folder; this file shows that a folder is ours
OWN = frozenset({LOCK, "run.json", "ports.json", "ports.json.new", "expected.arrow", "kafka", "logs", "redis", "spark",
                 "secret.key", "spill", "state", "zookeeper"})
BESIDE = ("demo", "lost+found")  # the demo's own folder in the default one, and what file systems make


class NotRunningError(NotReadyError):
    """No instance runs on a data folder."""


@dataclass
class Run:
    """One running instance. Addresses are host:port, `api` is a URL that this machine reaches; empty until known.
    `api_certificate` is the file of the API's certificate, if it has one, `api_name` a host name in it. `processes` has
    the processes that the supervisor started, by name; `troubles` says why each part that is not up is not, and what
    comes next."""

    supervisor: Process
    state: str = STARTING
    api: str = ""
    api_certificate: str = ""
    api_name: str = ""
    kafka: str = ""
    redis: str = ""
    zookeeper: str = ""
    processes: dict[str, Process] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)

    def save(self, data: Path) -> None:
        """Write the run file, so that a reader sees either all of the old one or all of the new one."""
        draft = data / f"run.json.{os.getpid()}"
        draft.write_text(json.dumps(asdict(self), indent=1))
        os.replace(draft, _path(data))


_RUN = TypeAdapter(Run)


def read(data: Path) -> Run | None:
    """The run file's content, even if its supervisor has ended; None without a readable run file."""
    try:
        return _RUN.validate_json(_path(data).read_bytes())
    except (OSError, ValueError):
        return None


def running(data: Path) -> Run | None:
    """The instance that runs on this folder, or None."""
    run = read(data)
    return run if run and run.supervisor.find() else None


def require(data: Path) -> Run:
    """The instance that runs on this folder and is ready; NotRunningError says how to start one."""
    run = running(data)
    if run is None:
        raise NotRunningError("Mars is not running", f"on {data}", "start it with `mars up`; --data names another folder")
    if run.state != READY and run.troubles:
        raise NotRunningError("Mars is being started again", f"on {data}; {'; '.join(run.troubles)}",
                              "wait a moment; `mars status` says how far it is")
    if run.state != READY:
        raise NotRunningError("Mars is still starting", f"on {data}", "wait for `mars up` to say that it is ready")
    return run


def remove(data: Path) -> None:
    """Record that nothing runs here any longer."""
    _path(data).unlink(missing_ok=True)


def foreign(data: Path) -> list[str]:
    """The names in a data folder that an instance has not made, in order."""
    return sorted(entry.name for entry in os.scandir(data)
                  if entry.name not in OWN and not entry.name.startswith("run.json.")) if data.is_dir() else []


def make_folder(data: Path) -> None:
    """Make the data folder if it is missing; ConfigurationError if it cannot be made or written to, if it holds something
    else, or if a service cannot take its path."""
    # Kafka and Spark take a path with a comma for several paths; bytes that are not text cannot be written into a
    # settings file.
    unfit = next((letter for letter in str(data) if letter == "," or unicodedata.category(letter) in ("Cc", "Cs")), "")
    if unfit:
        raise ConfigurationError(f"{str(data)!r} cannot be the data folder", f"Kafka and Spark do not take {unfit!a} "
                                 "in a path", "give a folder without it, with --data or MARS_DATA; a symbolic link will do")
    others = [name for name in foreign(data) if name not in BESIDE and not name.startswith(".")]
    if others and not (data / LOCK).exists():
        raise ConfigurationError(f"{data} cannot be the data folder", f"it holds something else: {', '.join(others[:3])}"
                                 + (" and more" if len(others) > 3 else ""), "give a folder of its own, with --data or "
                                 "MARS_DATA")
    try:
        data.mkdir(parents=True, exist_ok=True)
        os.close(os.open(data / LOCK, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise ConfigurationError(f"{data} cannot be the data folder", error.strerror or str(error),
                                 "give a folder that you may write to, with --data or MARS_DATA") from None


def lock(data: Path) -> int:
    """Take the folder for this process, until the returned descriptor is closed or the process ends.

    Raises ConflictError, with the address of the instance that has it, ConfigurationError as make_folder."""
    make_folder(data)
    descriptor = take(data / LOCK)
    if descriptor is not None:
        return descriptor
    run = running(data)
    where = f"{data} at {run.api}" if run and run.api else str(data)
    raise ConflictError("Mars runs already", f"on {where}", "stop it with `mars down`, or give another folder with --data")


def holders(data: Path) -> list[int]:
    """The numbers of the processes that hold the folder; empty if the system does not report them."""
    try:
        inode = str((data / LOCK).stat().st_ino)
        locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    except OSError:
        return []
    # A line is: 1: FLOCK ADVISORY WRITE pid major:minor:inode first last; one that only waits has an arrow in second place.
    return [int(lock[4]) for lock in locks if lock[1] == "FLOCK" and lock[5].rpartition(":")[2] == inode]


@contextlib.contextmanager
def stopped(data: Path) -> Iterator[None]:
    """Nothing runs on this folder, and nothing starts on it until the block ends.

    ConflictError if somebody holds it, ConfigurationError if that cannot be seen; makes no folder and no file."""
    try:
        descriptor = take(data / LOCK, make=False)
    except (FileNotFoundError, NotADirectoryError):
        yield  # a folder without this file has never had an instance
        return
    except OSError as error:
        raise ConfigurationError(f"{data} is not ours to stop", error.strerror or str(error),
                                 "stop it as the user that started it") from None
    if descriptor is None:
        who = ", ".join(map(str, holders(data)))
        raise ConflictError("Mars is not stopped", f"process {who or 'of unknown number'} holds {data / 'run.lock'}, and "
                            "run.json does not name it",
                            "if an instance is just starting, try again; else end that process")
    try:
        yield
    finally:
        os.close(descriptor)


def _path(data: Path) -> Path:
    return data / "run.json"
