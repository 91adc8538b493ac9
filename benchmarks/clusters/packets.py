"""Drops every packet to and from the sockets of a control group's processes, loopback too. Linux, as root.

Two eBPF programs of two instructions each (return 0: drop) are attached to a control group of version 2. A socket belongs
to the group in which its process was when it made the socket, so a process is put there before it runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
from functools import lru_cache
from pathlib import Path

CALLS = {"x86_64": 321, "aarch64": 280}
LOAD, ATTACH, DETACH = 5, 8, 9
CGROUP_SKB, INGRESS, EGRESS = 8, 0, 1
DROP = struct.pack("<BBhi", 0xB7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)  # r0 = 0; exit
ATTRIBUTES_BYTES = 128


class Group:
    """A control group, made when this is, that is or is not cut off. Raises OSError where that cannot be had."""

    def __init__(self, name: str) -> None:
        root = mounted()
        if root is None:
            raise OSError("no control groups of version 2 are mounted")
        self.folder = root / name
        self.folder.mkdir()
        self.held: list[tuple[int, int]] = []

    @property
    def members(self) -> Path:
        """The file that takes the number of a process to put it into the group."""
        return self.folder / "cgroup.procs"

    def cut(self) -> None:
        """From now on nothing comes in and nothing goes out."""
        for kind in (EGRESS, INGRESS):
            program = _load(kind)
            try:
                self._call(ATTACH, kind, program)
            except OSError:
                os.close(program)
                raise
            self.held.append((kind, program))

    def heal(self) -> None:
        """Undo `cut`; harmless where nothing is cut."""
        for kind, program in self.held:
            self._call(DETACH, kind, program)
            os.close(program)
        self.held.clear()

    def remove(self) -> None:
        """Forget the group, whose processes have ended."""
        self.heal()
        with contextlib.suppress(OSError):  # one that ends just now still counts
            self.folder.rmdir()

    def _call(self, command: int, kind: int, program: int) -> None:
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            _bpf(command, struct.pack("<IIII", folder, program, kind, 0))
        finally:
            os.close(folder)


@lru_cache(maxsize=1)
def mounted() -> Path | None:
    """Where control groups of version 2 are."""
    try:
        lines = Path("/proc/mounts").read_text().splitlines()
    except OSError:
        return None
    return next((Path(fields[1]) for fields in map(str.split, lines) if fields[2] == "cgroup2"), None)


def why_not() -> str:
    """Empty where nodes can be cut off in this way, else the reason."""
    try:
        group = Group(f"mars-probe-{os.getpid()}")
        try:
            group.cut()
        finally:
            group.remove()
    except OSError as error:
        return str(error)
    return ""


def _load(kind: int) -> int:
    code, license_ = ctypes.create_string_buffer(DROP), ctypes.create_string_buffer(b"GPL")
    return _bpf(LOAD, struct.pack("<IIQQIIQII16sII", CGROUP_SKB, len(DROP) // 8, ctypes.addressof(code),
                                  ctypes.addressof(license_), 0, 0, 0, 0, 0, b"cut", 0, kind))


def _bpf(command: int, attributes: bytes) -> int:
    call = CALLS.get(platform.machine())
    if call is None or platform.system() != "Linux":
        raise OSError(f"no eBPF on {platform.system()} {platform.machine()}")
    block = ctypes.create_string_buffer(attributes, ATTRIBUTES_BYTES)
    answer = ctypes.CDLL(None, use_errno=True).syscall(call, command, block, len(block))
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"bpf: {os.strerror(ctypes.get_errno())}")
    return answer
