"""How this process's C allocator treats large blocks."""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 256 * 1024 * 1024


def keep_large_blocks() -> None:
    """Let freed blocks of many megabytes be used again instead of going back to the system (glibc's mallopt).

    A worker's buffers are made and freed with every batch; without this each of their pages is faulted in anew, which
    cost a quarter of fetching. It holds for the main arena, so MALLOC_ARENA_MAX must be 1
    (api.instance.spark_session sets it). At most KEPT_BYTES of freed memory are kept. Other C libraries ignore it.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, KEPT_BYTES)
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
