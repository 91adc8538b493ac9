"""Where compiled kernels are kept, and how kernels are declared; imported before numba by every kernel module.

A kernel is a free function over numpy arrays. It is compiled once per machine and kept on disk, and it releases the
interpreter lock, so that several of them run beside fetching and pushing.
"""

from __future__ import annotations

import os
from pathlib import Path

CACHE_HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE_HOME / "mars" / "kernels"))

import numba  # noqa: E402  (numba reads its cache folder once, when it is imported)

kernel = numba.njit(nogil=True, cache=True)
