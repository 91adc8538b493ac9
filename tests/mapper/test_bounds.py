"""Kernels read and write within their arrays: the tests with random bytes run again with every index checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mapper.kernels.vectors import non_digits
from mapper.kernels.wide import matches
from mapper.kernels.words import find, load64
from mars.kernel_cache import numba

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
ALGEBRA = HERE.parent / "mars" / "algebra"
FILES = [*(HERE / f"test_{name}.py" for name in ("decode", "json", "json_shapes", "csv", "csv_blocks", "parse", "fused")),
         *(ALGEBRA / f"test_{name}.py" for name in ("hashing", "grouping", "aggregates", "cells"))]
CHECKED = os.environ.get("NUMBA_BOUNDSCHECK") == "1"


@pytest.mark.skipif(CHECKED, reason="is the one that runs the others")
@pytest.mark.timeout(1_200)  # all kernels are compiled anew, with the checks
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


def eight(buffer, at):
    return load64(buffer, at)


def thirty_two(buffer, at):
    return non_digits(buffer, at)


def sixty_four(buffer, at):
    return matches(buffer, at, np.uint8(0))


def searched(buffer, at):
    return find(buffer, np.uint8(1), at, at + 1)


@pytest.mark.skipif(not CHECKED, reason="nothing is checked without NUMBA_BOUNDSCHECK=1")
@pytest.mark.parametrize(("function", "width"), [(eight, 8), (thirty_two, 32), (sixty_four, 64), (searched, 1)])
def test_bounds_of_wide_reads_are_checked(function, width):
    """numba checks single elements; reads of many, and those of the C library, have checks of our own."""
    read, buffer = numba.njit(function), np.zeros(100, np.uint8)
    read(buffer, 100 - width)
    for at in (101 - width, -1):
        with pytest.raises(IndexError):
            read(buffer, at)
