"""`python -m mapper.warm`: compiles all kernels into the cache, with a word per group on the screen."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable

GROUPS = {
    "words": "text checks",
    "records": "record batches",
    "csv": "CSV",
    "numbers": "numbers",
    "times": "dates and times",
    "texts": "strings",
    "fused": "records of CSV",
    "json": "JSON",
}


def warm(say: Callable[..., object] = print) -> None:
    """Imports every kernel module, which compiles whatever the cache does not hold yet (about 20 s in all)."""
    begin = time.monotonic()
    say("compiling kernels:", end="", flush=True)
    for name, words in GROUPS.items():
        say(f" {words}", end="," if name != "json" else "", flush=True)
        importlib.import_module(f"mapper.kernels.{name}")
    say(f" ({time.monotonic() - begin:.1f} s)", flush=True)


if __name__ == "__main__":
    warm()
