"""Free ports of this machine, remembered in the data folder so that a restart has the same addresses."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from api.instance.services.paths import cache_dir, take
from mars.errors import MarsError

# Below the range from which Linux and macOS take ports for outgoing connections, which could take a port before us.
_FIRST, _LAST = 20_000, 32_000
_LOCK = Lock()


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a server could listen there now. Ports in TIME_WAIT count as free."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def reserve(port: int) -> int | None:
    """A descriptor that keeps other instances of this user from picking the port until it is closed or this process
    ends; None if another holds it. For a port that is bound only long after it was picked."""
    folder = cache_dir() / "ports"
    folder.mkdir(parents=True, exist_ok=True)
    return take(folder / str(port))


def pick(data_dir: Path, name: str, preferred: int = 0, usable: Callable[[int], bool] = is_free) -> int:
    """The port of `name` in this instance: the remembered one if it is usable, else `preferred` if it is given
    and usable, else any usable one; then remembered. Nothing is reserved: the caller binds it soon.

    Safe for threads of one process; one instance has one process that picks.
    """
    with _LOCK:
        file = data_dir / "ports.json"
        ports = _read(file)
        taken = {port for other, port in ports.items() if other != name}
        candidates = [ports.get(name, 0), preferred]
        candidates += random.sample(range(_FIRST, _LAST), 200)
        for port in candidates:
            if port and port not in taken and usable(port):
                _remember(file, ports, name, port)
                return port
    raise MarsError("No free port was found", f"tried 200 between {_FIRST} and {_LAST} for {name}")


def remember(data_dir: Path, name: str, port: int) -> None:
    """The port of `name` is this one, also the next time."""
    with _LOCK:
        file = data_dir / "ports.json"
        _remember(file, _read(file), name, port)


def _remember(file: Path, ports: dict[str, int], name: str, port: int) -> None:
    """Nothing is written that is there already, and a full disk leaves the file as it was: whoever reads from the addresses
    of an instance cannot follow it to others."""
    if ports.get(name) == port:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.new")
    draft.write_text(json.dumps({**ports, name: port}))
    draft.replace(file)


def _read(file: Path) -> dict[str, int]:
    """What is remembered; a damaged file is as good as none."""
    try:
        ports = json.loads(file.read_text())
        return {str(name): int(port) for name, port in ports.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
