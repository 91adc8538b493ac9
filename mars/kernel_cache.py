"""Where compiled kernels are kept, and how kernels are declared; imported before numba by every kernel module.

A kernel is a free function over numpy arrays. It is compiled once per machine and kept on disk, and it releases the
interpreter lock, so that several of them run beside fetching and pushing. No fast-math flag is set: each operation is
rounded as IEEE 754 says and in the order in which it is written, on every CPU.

The code is kept in NUMBA_CACHE_DIR (by default mars/kernels in the user's cache folder), in a folder named after the sources
of all kernels. numba itself does not notice that a kernel's helper in another file has changed: an upgraded Mars would go
on giving the old answers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

__all__ = ["cache_folder", "kernel", "numba"]

MARS = Path(__file__).parent
MAPPER = MARS.parent / "mapper" / "kernels"


def cache_folder() -> Path:
    """The folder for the compiled form of these very sources."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mars" / "kernels"
    base = Path(os.environ.get("NUMBA_CACHE_DIR") or base)
    ours = [(file.name, file.read_bytes()) for file in (MARS / "algebra").rglob("*.py")]
    sources = [source for source in ours if b"@kernel" in source[1]]
    sources += [(file.name, file.read_bytes()) for file in MAPPER.glob("*.py")]
    # With checks of bounds, which tests ask for, the compiled code differs; numba does not tell the two apart.
    checked = os.environ.get("NUMBA_BOUNDSCHECK", "")
    digest = hashlib.sha256(repr(sorted(sources)).encode() + checked.encode()).hexdigest()[:16]
    return base if base.name == digest else base / digest


# numba reads its settings when it is imported, so every kernel module imports it through this one.
os.environ["NUMBA_CACHE_DIR"] = str(cache_folder())

import numba  # noqa: E402

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """A compiled kernel, for each combination of argument types that it is called with."""
    return cast(Function, numba.njit(function, nogil=True, cache=True))
