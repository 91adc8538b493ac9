"""What cuts cost, on made-up curves; a node that is cut off; and with LONG_TESTS=1 a short run of the whole."""

import os
import socket
import sys
from dataclasses import asdict

import numpy as np
import pytest

from benchmarks.accuracy_figures import Curve, Cut, CutFigures, figures
from benchmarks.accuracy_run import Plan, Turn, turn
from benchmarks.accuracy_table import figure
from benchmarks.clusters import packets
from benchmarks.clusters.entrants import chosen
from benchmarks.clusters.mars import MarsCluster
from benchmarks.clusters.node import NETWORK, PAUSE, Node
from benchmarks.clusters.spark import committed_offsets
from benchmarks.exactness import Exactness
from mars.config import load

RATE = 1_000
ECHO = """
import socket
server = socket.create_server(("127.0.0.1", 0))
open("port", "w").write(f"{server.getsockname()[1]}\\n")
peer, _ = server.accept()
while data := peer.recv(1): peer.sendall(data)
"""


def curve(*points: tuple[float, int]) -> Curve:
    """A Curve with straight lines between these points, a sample each 0.25 s."""
    at, tuples = zip(*points, strict=True)
    moments = np.arange(0, at[-1] + 0.01, 0.25)
    return Curve.of(list(zip(moments, np.interp(moments, at, tuples), strict=True)))


def test_a_cut_costs_what_was_not_committed_meanwhile():
    produced = curve((0, 0), (100, 100 * RATE))
    # Nothing from 20 to 30 s; then at twice the rate, so that all is made up for at 40 s. The second cut shows nowhere.
    committed = curve((0, 0), (20, 20 * RATE), (30, 20 * RATE), (40, 40 * RATE), (100, 100 * RATE))
    first, second = figures(produced, committed, [Cut("a", 20.0, 35.0), Cut("b", 60.0, 75.0)])
    assert first.behind_s == pytest.approx(10, abs=0.3)
    assert first.reduced_s == pytest.approx(11.5, abs=0.6)  # the 3 s before each moment are looked at
    assert first.caught_up_s == pytest.approx(19, abs=0.6)  # until a second is left
    assert (second.reduced_s, second.caught_up_s) == (0, 0)
    assert second.behind_s == pytest.approx(0, abs=0.1)


def test_after_the_last_tuple_no_rate_is_asked_for():
    produced = curve((0, 0), (50, 50 * RATE))
    committed = curve((0, 0), (50, 50 * RATE), (90, 50 * RATE))
    assert figures(produced, committed, [Cut("a", 30.0, 50.0)])[0].reduced_s == 0


def test_counts_that_go_back_are_not_believed():
    assert Curve.of([(0, 0), (1, 10), (2, 5), (3, 20)]).tuples.tolist() == [0, 10, 10, 20]


def test_the_last_cut_ends_with_the_tuples_and_slow_systems_get_fewer():
    plan = Plan(tuples=16_000, rate=100, cuts=3, cut_s=20.0, way=PAUSE)
    starts = plan.starts_s()
    assert starts[-1] + plan.cut_s == pytest.approx(160)
    assert np.diff(starts).tolist() == pytest.approx([starts[0] + 20] * 2)
    slow = plan.slowed(50)
    assert (slow.tuples, slow.rate, slow.starts_s()) == (8_000, 50, starts)
    assert plan.slowed(None) == plan.slowed(1_000) == plan


@pytest.mark.parametrize("way", [PAUSE, NETWORK])
def test_nobody_hears_a_node_that_is_cut_off_until_it_is_back(way, tmp_path):
    if way == NETWORK and (reason := packets.why_not()):
        pytest.skip(f"no network cuts here: {reason}")
    node = Node("echo", way, [sys.executable, "-c", f"import os; os.chdir({str(tmp_path)!r})\n{ECHO}"], tmp_path / "log", {})
    try:
        node.child.wait_ready(lambda: (tmp_path / "port").read_text().endswith("\n"), 60)
        with socket.create_connection(("127.0.0.1", int((tmp_path / "port").read_text()))) as peer:
            def echo(patience: float) -> bytes:
                peer.settimeout(patience)
                peer.sendall(b"x")
                return peer.recv(1)

            assert echo(60) == b"x"
            node.cut()
            with pytest.raises(TimeoutError):
                echo(0.4)
            node.heal()
            peer.settimeout(60)
            assert peer.recv(1) == b"x"
            assert echo(60) == b"x"
            process, = node.tree()
    finally:
        node.stop()
    assert not process.is_running()
    assert node.group is None or not node.group.folder.exists()


def test_what_cannot_be_cut_off_leaves_no_group_behind(monkeypatch, tmp_path):
    def refuse(*_):
        raise PermissionError("no right to attach")

    monkeypatch.setattr(packets, "mounted", lambda: tmp_path)
    monkeypatch.setattr(packets, "_load", lambda kind: os.open(os.devnull, os.O_RDONLY))
    monkeypatch.setattr(packets.Group, "_call", refuse)
    assert packets.why_not() == "no right to attach"
    assert list(tmp_path.iterdir()) == []


def test_the_last_committed_micro_batch_tells_how_far_spark_is(tmp_path):
    for folder in ("commits", "offsets"):
        (tmp_path / folder).mkdir()
    assert committed_offsets(tmp_path) == 0
    for number, offset in ((9, 10), (10, 20), (11, 999)):
        (tmp_path / "offsets" / str(number)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{{"t":{{"0":{offset},"1":1}}}}')
    for number in (9, 10):
        (tmp_path / "commits" / str(number)).write_text("v1\n{}")
    (tmp_path / "commits" / ".11.tmp").write_text("")
    assert committed_offsets(tmp_path) == 21


def test_what_was_not_read_in_time_is_told_apart_from_what_is_lost():
    cut = CutFigures("node-0", 1.0, 2.0, 0.5, 0.5, 0.5)
    turns = [asdict(Turn("storm", 100, 10, Exactness(9, 1, 8, 2), [cut], None, unread)) for unread in (0, 7)]
    about = {"storm": {"title": "Storm", "guarantee": "at least once"}}
    document = {**asdict(Plan(1, 1, 1, 1.0, PAUSE)), "contenders": about, "turns": turns, "left_out": {}}
    lost, unread = figure(document)[0].splitlines()[2:4]
    assert [cell.strip() for cell in lost.split("|")][4:6] == ["8", "2"]
    assert [cell.strip() for cell in unread.split("|")][4:6] == ["8 (7 were not read in time)", "2"]


def test_an_unknown_system_is_refused():
    with pytest.raises(ValueError, match="no cluster is named flnik"):
        chosen(["mars", "flnik"])


@pytest.mark.services
@pytest.mark.e2e
@pytest.mark.timeout(240)
@pytest.mark.skipif(not os.environ.get("LONG_TESTS"), reason="starts a Spark cluster of its own: set LONG_TESTS=1")
def test_a_node_that_is_cut_off_loses_and_doubles_nothing(tmp_path):
    cluster = MarsCluster(2, {"lease_ms": 1_500, "zookeeper_session_ms": 2_000})
    cluster.prepare(load({}, environment={}))
    found = turn(cluster, Plan(300_000, 60_000, 1, 3.0, PAUSE), 3, tmp_path / "run")
    assert found.exactness.exact, found.exactness
    assert found.exactness.groups > 1_000
    cut, = found.cuts
    assert cut.to_s - cut.from_s == pytest.approx(3, abs=1)
    assert cut.node == "node-0"
    assert found.all_read_s is not None
    about = {"mars": {"title": "Mars", "guarantee": "exactly once"}}
    document = {**asdict(Plan(1, 1, 1, 3.0, PAUSE)), "contenders": about, "turns": [asdict(found)], "left_out": {}}
    assert "| 300,000 at 60,000/s | 0    | 0 " in "\n".join(figure(document))
