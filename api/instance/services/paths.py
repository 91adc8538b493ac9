"""The folders for things that are not the user's data: the cache of fetched files, and the logs of an instance."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import BinaryIO


def cache_dir() -> Path:
    """The user's cache for Mars; its content can be deleted at any time and is made again by `make setup`."""
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "mars"


def log_dir(data_dir: Path) -> Path:
    """The folder for the log files of the instance in `data_dir`; made if it is missing."""
    folder = data_dir / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def take(file: Path, make: bool = True) -> int | None:
    """A descriptor that holds the file until it is closed or this process ends; None if another process holds it. Makes the
    file if it is missing, or raises FileNotFoundError."""
    descriptor = os.open(file, os.O_RDWR | (os.O_CREAT if make else 0), 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def begin(log: Path) -> BinaryIO:
    """The log file, empty. The previous one is kept beside it as `.1`, because Mars is usually started again before
    somebody looks for the reason of a crash."""
    if log.exists() and log.stat().st_size:
        log.replace(log.with_name(f"{log.name}.1"))
    return log.open("wb")


def tail(file: Path, lines: int = 12, start: int = 0) -> str:
    """The last lines of a text file from the byte `start` on, at most 16 KiB of it; empty if there is no such file."""
    try:
        with file.open("rb") as source:
            source.seek(max(start, file.stat().st_size - 16 * 1024))
            text = source.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
