"""Campaigns: totals add up, the next one goes on where the last stopped, and the report stands between its marks."""

from __future__ import annotations

import cProfile
import fnmatch
import multiprocessing
import pstats
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.simulate import campaign
from tests.simulate.run import Run, run

LASTS_S = 1.0  # a worker process takes some tenths of a second to begin where others are at work


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of three seeds, of which the seed 4 is broken; nothing is really run."""
    monkeypatch.setattr(campaign, "CHUNK", 3)
    monkeypatch.setattr(campaign, "run", lambda seed, rounds: Run(
        seed, "I1: lost" if seed == 4 else None, steps=10, commits=2, virtual_s=1.5, faults={"worker killed": 1}))


@pytest.mark.usefixtures("short")
def test_a_campaign_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    file, said = tmp_path / "totals.jsonl", []
    first = campaign.campaign(LASTS_S / 3600, 1, file, said.append)
    second = campaign.campaign(LASTS_S / 3600, 1, file, said.append)
    assert first.seeds > 3
    assert first.broken == [4]
    assert second.broken == []
    assert any("seed 4" in line and "I1: lost" in line for line in said)
    [total] = campaign.load(file)
    assert total.seeds == first.seeds + second.seeds == total.next_seed
    assert (total.calls, total.faults["worker killed"]) == (10 * total.seeds, total.seeds)


def test_a_campaign_that_is_ended_leaves_no_worker_though_runs_catch_what_ends_a_process(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(seed: int, rounds: int) -> Run:
        while seed:
            try:
                time.sleep(60)
            except SystemExit:
                continue
        return Run(seed)

    def ended(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(campaign, "CHUNK", 1)
    monkeypatch.setattr(campaign, "run", run)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with pytest.raises(KeyboardInterrupt):
            campaign.campaign(1.0, 2, tmp_path / "totals.jsonl", ended)
        left = multiprocessing.active_children()
        for worker in left:
            worker.join(5.0)
        assert [worker for worker in left if worker.is_alive()] == []
    finally:
        signal.signal(signal.SIGTERM, before)
        for worker in multiprocessing.active_children():
            worker.kill()


@pytest.mark.usefixtures("short")
def test_versions_of_the_code_are_told_apart_in_the_report(tmp_path: Path) -> None:
    file, document = tmp_path / "totals.jsonl", tmp_path / "reliability.md"
    document.write_text(f"before\n<!-- {campaign.MARK} -->\nold\n<!-- end of {campaign.MARK} -->\nafter\n")
    one, other = (campaign.chunk(0, campaign.Totals(code, "s"), str) for code in ("aaa", "bbb"))
    campaign.save(file, [one, other, one])
    text = campaign.report(file, document)
    assert "| `aaa` | 6 | 60 | 12 |" in text
    assert "| `bbb` | 3 | 30 | 6 |" in text
    assert "9 worker killed" in text
    written = document.read_text()
    assert written.startswith("before\n")
    assert written.endswith("after\n")
    assert text in written
    assert "old" not in written


def test_another_code_is_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "ROOT", tmp_path)
    for number, text in enumerate(("one", "one", "two")):
        (tmp_path / "mars").mkdir(exist_ok=True)
        (tmp_path / "mars" / "code.lua").write_text(text)
        (tmp_path / "mars" / f"{number}.txt").write_text("no source")
        if number == 0:
            first = campaign.version(["mars"])
        else:
            assert (campaign.version(["mars"]) == first) == (text == "one")


@pytest.mark.timeout(300)
def test_no_simulated_run_calls_what_a_version_leaves_out() -> None:
    profile = cProfile.Profile()
    for seed in range(40):
        profile.runcall(run, seed)
    root = campaign.ROOT
    called = {str(Path(file).relative_to(root)) for file, _, _ in pstats.Stats(profile).stats
              if file.startswith(str(root))}
    assert {"mapper/claim.py", "reducer/keypart.py", "mars/model/log_epochs.py"} < called
    assert not [file for file in called if campaign.is_uncalled(file)]
    uncalled = {str(file.relative_to(root)) for folder in campaign.CODE for file in (root / folder).rglob("*.py")} - called
    assert [pattern for pattern in campaign.UNCALLED if fnmatch.filter(uncalled, pattern)] == list(campaign.UNCALLED)
