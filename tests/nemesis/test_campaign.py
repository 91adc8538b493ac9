"""A short campaign on real processes: a few cheap faults under load, and everything is exact in the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.services, pytest.mark.faults, pytest.mark.timeout(240)]


def test_a_short_campaign_is_exact(tmp_path):
    command = ["-m", "tests.nemesis", "--only", "MapperKilled,ReducerStopped,Flushed,Stall", "--faults", "4",
               "--rate", "8000", "--seed", "1216", "--folder", str(tmp_path)]
    run = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=220)
    assert run.returncode == 0, run.stdout[-6_000:] + run.stderr[-2_000:]
    assert "nothing was wrong" in run.stdout
    assert "all exact" in run.stdout
