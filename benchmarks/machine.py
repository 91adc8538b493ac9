"""What a measurement ran on, and by which command."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from pathlib import Path

import psutil


def machine() -> dict:
    """Processor, cores that we may use, memory, system, Python."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"processor": _processor(), "cores": cores, "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
            "system": f"{platform.system()} {platform.release()}", "python": platform.python_version()}


def command() -> str:
    """The words after `python -m` that this process was started with."""
    module = Path(sys.argv[0])
    return shlex.join([f"{module.parent.name}.{module.stem}", *sys.argv[1:]])


def _processor() -> str:
    try:
        names = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
