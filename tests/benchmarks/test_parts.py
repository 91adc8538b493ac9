"""The meter: CPU and memory by part, of processes that may end while it looks."""

import subprocess
import sys
import time

import psutil

from benchmarks.parts import Meter

BURN = """
import time
held = b"x" * 30_000_000
while time.process_time() < 0.8:
    pass
"""


def test_a_process_that_ends_counts_with_what_it_had_used():
    child = subprocess.Popen([sys.executable, "-c", BURN])
    with Meter({"busy": [psutil.Process(child.pid)], "idle": []}) as meter:
        child.wait()
        time.sleep(0.1)
    assert meter.cpu_s["busy"] > 0.1
    assert meter.cpu_s["idle"] == 0
    assert meter.peak_bytes["busy"] > 30_000_000
