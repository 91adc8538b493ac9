"""Kernels read and write within their arrays: the tests with random bytes run again with every index checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mars.kernel_cache import numba

HERE = Path(__file__).parent
FILES = [HERE / f"test_{name}.py" for name in ("decode", "json", "json_shapes", "csv", "csv_blocks", "parse", "fused")]
CHECKED = os.environ.get("NUMBA_BOUNDSCHECK") == "1"


@pytest.mark.skipif(CHECKED, reason="is the one that runs the others")
@pytest.mark.timeout(230)
def test_no_kernel_leaves_its_arrays():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", __file__, *FILES]
    run = subprocess.run(command,
                         cwd=HERE.parents[1], env={**os.environ, "NUMBA_BOUNDSCHECK": "1"}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-4_000:] + run.stderr[-2_000:]


@pytest.mark.skipif(not CHECKED, reason="nothing is checked without NUMBA_BOUNDSCHECK=1")
def test_bounds_are_checked():
    read = numba.njit(lambda array, at: array[at])
    with pytest.raises(IndexError):
        read(np.zeros(3, np.int64), 3)
