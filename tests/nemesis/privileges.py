"""What needs root: a mount namespace of our own, and small file systems in it. Nothing outside this process is touched."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x00020000, 0x4000, 1 << 18
_libc = ctypes.CDLL(None, use_errno=True)


def enter_mount_namespace() -> bool:
    """Give this thread, and all that it starts, mounts of its own, which end with them. False without the right to."""
    return (_libc.unshare(CLONE_NEWNS) == 0
            and _libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0)


def mount_tmpfs(place: Path, size_mb: int) -> None:
    """A file system of this size over the folder."""
    if _libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, f"size={size_mb}m".encode()):
        raise OSError(ctypes.get_errno(), "cannot mount", str(place))


def unmount(place: Path) -> None:
    """Take it away."""
    _libc.umount2(os.fsencode(place), 2)  # MNT_DETACH
