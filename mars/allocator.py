"""How this process's C allocator treats large blocks."""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 256 * 1024 * 1024


def keep_large_blocks() -> None:
    """Reuse freed blocks of many megabytes instead of returning them to the system (glibc's mallopt).

    A worker makes and frees its buffers with every batch. Without this, the system maps each of their pages again every
    time, which cost a quarter of fetching. It works only for the main arena, so MALLOC_ARENA_MAX must be 1
    (api.instance.spark_session sets it). At most KEPT_BYTES of freed memory are kept. Other C libraries ignore it.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, KEPT_BYTES)
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
