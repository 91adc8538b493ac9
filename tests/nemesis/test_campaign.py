"""A short campaign on real processes: a few cheap faults under load, and everything is exact in the end; and short hunts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.services, pytest.mark.faults, pytest.mark.timeout(240)]
long = pytest.mark.skipif(not os.environ.get("LONG_TESTS"), reason="takes a minute: set LONG_TESTS=1")


@pytest.mark.parametrize(("only", "seed"), [
    ("MapperKilled,Stall", 1210),
    pytest.param("MapperKilled,ReducerStopped,Flushed,Stall", 1216, marks=long)])
def test_a_short_campaign_is_exact(only, seed, tmp_path):
    """Each kind comes once. The seed decides how long each is held: the first one's are 2 s and 1 s; and which visitors
    come, of whom there are more than in other rounds, as there are few tuples."""
    command = ["-m", "tests.nemesis", "--only", only, "--faults", str(only.count(",") + 1), "--minutes", "2",
               "--rate", "8000", "--visitors", "6", "--seed", str(seed), "--folder", str(tmp_path / "journals")]
    # Its folder is below ours, so that nothing of it stays if it has to be killed.
    run = subprocess.run([sys.executable, *command], cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)},
                         capture_output=True, text=True, timeout=220)
    assert run.returncode == 0, run.stdout[-6_000:] + run.stderr[-2_000:]
    assert "nothing was wrong" in run.stdout
    assert "all exact" in run.stdout


@long
def test_hunts_go_red_by_their_bugs_alone(tmp_path):
    """One whose bug loses a range in the exchange, one whose bug lies in the API."""
    bugs = ["push_loses_cells_when_killed", "windows_show_when_one_key_part_has_closed_them"]
    command = ["-m", "tests.nemesis", *(f"--bug={bug}" for bug in bugs), "--folder", str(tmp_path / "journals")]
    run = subprocess.run([sys.executable, *command], cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)},
                         capture_output=True, text=True, timeout=220)
    assert run.returncode == 0, run.stdout[-6_000:] + run.stderr[-2_000:]
    assert "2 of 2 planted bugs went red, and not without them" in run.stdout
