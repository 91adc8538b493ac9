"""Every CPU gives the same bits: what groups tuples, or lets them through, is computed by processes that may use more or
less of this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# In the words of numpy's dispatcher, then also in those of LLVM, Arrow and the C library.
LESS = {
    "all": {},
    "without AVX-512": {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"},
    "with the least": {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR", "NUMBA_CPU_NAME": "generic",
                       "NUMBA_CPU_FEATURES": "", "ARROW_USER_SIMD_LEVEL": "NONE",
                       "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-AVX"},
}
ROOT = Path(__file__).parents[2]
JOINED = """
from mars.algebra.evaluation import elementary, powers
elementary.warm(), powers.warm()
codes = [code for kernel in (*elementary.KERNELS, powers.power_rows) for code in kernel.inspect_asm().values()]
assert codes and all("mul" in code for code in codes)
print([word for word in ("fmadd", "fmsub", "fnmadd", "fnmsub", "fmla", "fmls") if any(word in code for code in codes)])
"""


def run(less: str, *command: str, **more: str) -> str:
    """What a process prints that has so much of this CPU."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("NPY_", "NUMBA_CPU_"))}
    done = subprocess.run([sys.executable, "-W", "ignore", *command], capture_output=True, text=True, timeout=900, cwd=ROOT,
                          env=known | LESS[less] | more)
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def answers(less: str) -> dict:
    """What tests/mars/answers.py says there."""
    return json.loads(run(less, "-m", "tests.mars.answers"))


@pytest.mark.parametrize("less", [less for less in LESS if less != "all"])
def test_results_are_the_same_to_the_bit(less):
    assert answers(less)["results"] == answers("all")["results"]


def test_numpy_would_show_the_difference():
    """Else the test above could not fail: numpy's own exp is other code with AVX-512 than without."""
    if not answers("all")["AVX-512"]:
        pytest.skip("this CPU has no AVX-512, so that numpy has one exp here")
    found, other = (answers(less) for less in ("all", "without AVX-512"))
    assert (found["AVX-512"], other["AVX-512"]) == (True, False)
    assert found["numpy"] != other["numpy"]


def test_no_product_and_sum_are_joined_into_one_rounding(tmp_path):
    """Kernels are compiled for this CPU, which may be able to do that."""
    assert run("all", "-c", JOINED, NUMBA_CACHE_DIR=str(tmp_path)).strip() == "[]"
