"""What the hook changes in Mars's workers: clocks that can jump, nodes that can be cut off, threads that rest where they are
told to, and a planted bug."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Callable
from functools import lru_cache, wraps
from importlib import resources
from pathlib import Path

TIME = "redis.call('TIME')"
JUMPED = "(function() local now = redis.call('TIME') now[1] = now[1] + ({jump_s}) return now end)()"
LOOK_S, RESTS_S = 0.1, 0.01
SERVER_LOOK_S = 0.2
CLONE_NEWNET = 0x40000000


def install(switches: str, nodes: list[str]) -> None:
    """Change the classes of this process, which forks the workers. `nodes`: files of network namespaces."""
    folder = Path(switches)
    _jump_redis_clock(lambda: _read(folder / "redis_clock_s"))
    _jump_workers_clock(lambda: _read(folder / "workers_clock_s"))
    _rest_at_points(folder)
    _prepare_workers(folder, nodes)


def plant_when_told(folder: Path) -> None:
    """In the server: plant its bug as soon as the switch names one."""
    def look() -> None:
        while not plant(folder, in_server=True):
            time.sleep(SERVER_LOOK_S)

    threading.Thread(target=look, daemon=True).start()


def plant(folder: Path, in_server: bool) -> bool:
    """Plant the bug that the switch names, in this process. True if it has been."""
    from tests.nemesis.bugs import BUGS
    with contextlib.suppress(FileNotFoundError):
        bug = BUGS[(folder / "bug").read_text()]
        if bug.in_server == in_server:
            bug.plant()
            return True
    return False


def _jump_redis_clock(jump_s: Callable[[], int]) -> None:
    """Scripts that ask for the time get another one."""
    from mars.adapters.exchange import Exchange
    call = Exchange._call

    @lru_cache(maxsize=64)
    def jumped(name: str, seconds: int) -> str:
        text = resources.files("mars").joinpath(f"lua/{name}.lua").read_text()
        return text.replace(TIME, JUMPED.format(jump_s=seconds))

    @wraps(call)
    def called(exchange: Exchange, script: str, *arguments: object) -> object:
        seconds = jump_s() if script in ("claim", "renew") else 0
        if not seconds:
            return call(exchange, script, *arguments)
        key = f"{script}{seconds:+d}"
        if key not in exchange._scripts:
            exchange._scripts[key] = exchange.redis.register_script(jumped(script, seconds))
        return call(exchange, key, *arguments)

    Exchange._call = called


def _jump_workers_clock(jump_s: Callable[[], int]) -> None:
    real = time.time
    time.time = lambda: real() + jump_s()


def _rest_at_points(folder: Path) -> None:
    """A thread that comes to a crash point, or has just read the commits to recover by, rests there if a file
    `rest.<point>.<pid>` or `rest.<point>` says so: it is renamed to `resting.<point>.<pid>`, and the rest ends when it goes.
    All other threads of the process go on, so that its sessions and leases live: a disk, or a call, that takes long."""
    from mars import faults
    from reducer.leading.lead import Leader
    point, manifests = faults.point, Leader._manifests

    def point_and_rest(name: str) -> None:
        point(name)
        _rest(folder, name)

    def manifests_and_rest(leader: Leader, view: object) -> object:
        found = manifests(leader, view)
        _rest(folder, "leader.manifests_read")
        return found

    faults.point, Leader._manifests = point_and_rest, manifests_and_rest


def _rest(folder: Path, name: str) -> None:
    resting = f"{folder}/resting.{name}.{os.getpid()}"
    for order in (f"{folder}/rest.{name}.{os.getpid()}", f"{folder}/rest.{name}"):
        with contextlib.suppress(FileNotFoundError):
            os.rename(order, resting)
            while os.path.exists(resting):
                time.sleep(RESTS_S)


def _prepare_workers(folder: Path, nodes: list[str]) -> None:
    """Each worker gets the planted bug, and enters a network namespace before it opens its first connection to a service:
    mapper 0 and reducer 0 that of the first node, mapper 1 that of the second, reducer 1 that of the third, and so on."""
    import mapper.job
    import reducer.job

    def prepared(run: Callable[[str, int], None], shift: int) -> Callable[[str, int], None]:
        def run_prepared(config_json: str, slot: int) -> None:
            if nodes:
                descriptor = os.open(nodes[(slot + (shift if slot else 0)) % len(nodes)], os.O_RDONLY)
                if ctypes.CDLL(None).setns(descriptor, CLONE_NEWNET):
                    raise OSError("cannot enter the network namespace")
            plant(folder, in_server=False)
            run(config_json, slot)

        return run_prepared

    mapper.job.run_mapper = prepared(mapper.job.run_mapper, 0)
    reducer.job.run_reducer = prepared(reducer.job.run_reducer, 1)


_seen: dict[Path, tuple[float, int]] = {}


def _read(switch: Path) -> int:
    """The number that the switch holds, 0 if there is none; looked up now and then."""
    looked_at, value = _seen.get(switch, (-1.0, 0))
    if time.monotonic() - looked_at > LOOK_S:
        try:
            value = int(switch.read_text())
        except (OSError, ValueError):
            value = 0
        _seen[switch] = (time.monotonic(), value)
    return value
