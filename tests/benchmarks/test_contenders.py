"""How the harness and a contender's program talk, what the meter sees, and what a reader of the results sees."""

import json
import os
import subprocess
import sys
import time

import pytest

from api.instance.services import jars
from benchmarks.clusters.storm import StormCluster
from benchmarks.contenders.entrants import PROGRAMS
from benchmarks.contenders.process import ProcessContender, _list
from benchmarks.contenders.program import AT_LEAST, MAY_LOSE, Program
from benchmarks.contenders.protocol import Job
from benchmarks.contenders.spark import committed
from benchmarks.trees import TreeMeter
from mars.config import load
from mars.errors import MarsError

CHILD = """
import os
from benchmarks.contenders.protocol import serve
def run(job):
    if job.topic == "bad":
        raise SystemExit("no such topic")
    with open(os.path.join(job.out, ".draft"), "w") as half, open(os.path.join(job.out, ".part"), "w") as whole:
        half.write("1,no,no,1\\n")
        whole.write(f"{job.window_ms},10.0.0.1,dns,{job.messages}\\n")
    os.rename(os.path.join(job.out, ".part"), os.path.join(job.out, "part"))
serve(run)
"""
BURN = "import time\nwhile time.process_time() < {}: pass\n"


@pytest.fixture
def contender(tmp_path):
    program = Program("toy", "Toy", MAY_LOSE, lambda setup: [str(setup.python), "-c", CHILD, str(setup.folder)])
    toy = ProcessContender(program)
    toy.prepare(load({}, environment={}))
    toy.start(tmp_path, "localhost:1")
    yield toy
    toy.stop()


def job(number: int, topic: str, folder) -> Job:
    out = folder / f"out-{number}"
    out.mkdir()
    return Job(number, "localhost:1", topic, 4, 12, 1000, 60_000, 5_000, 0, str(out), str(folder))


def test_a_program_takes_jobs_and_its_results_are_read(contender, tmp_path):
    for number in range(2):
        asked = job(number, "good", tmp_path)
        contender.run(asked, 20)
        assert contender.results(asked).to_pylist() == [
            {"timestamp": 60_000, "sip": "10.0.0.1", "type": "dns", "count": 12}]


@pytest.mark.skipif(not os.environ.get("LONG_TESTS"), reason="starts each contender once more: set LONG_TESTS=1")
def test_what_becomes_readable_is_followed(contender, tmp_path):
    events = tmp_path / "events.jsonl"
    with contender.following(job(0, "good", tmp_path), events):
        deadline = time.monotonic() + 20
        while not (events.exists() and events.read_text().endswith("\n")) and time.monotonic() < deadline:
            time.sleep(0.01)
    event, = map(json.loads, events.read_text().splitlines())
    assert event["windows"] == {"60000": 12}
    assert 0 <= time.time() * 1000 - event["ms"] < 20_000


def test_a_program_that_fails_is_told_with_its_last_words(contender, tmp_path):
    with pytest.raises(MarsError, match="no such topic"):
        contender.run(job(0, "bad", tmp_path), 20)


def test_a_stopped_program_is_gone(contender):
    pid = contender.roots()[0]
    contender.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_lists_of_jars_are_pinned():
    for name in {program.jars for program in PROGRAMS if program.jars}:
        pinned = jars.parse(_list(name), name)
        assert pinned
        assert all(len(jar.sha256) == 64 and jar.size_bytes > 1000 and jar.coordinates.count(":") == 2 for jar in pinned)


def test_what_is_acknowledged_before_it_is_written_may_be_lost():
    promised = {program.name: program.guarantee for program in PROGRAMS}
    assert [name for name, promise in promised.items() if promise == MAY_LOSE] == ["storm", "storm-unacked", "quix"]
    assert StormCluster().guarantee == AT_LEAST, "its counters write before they acknowledge"


def test_only_files_in_sparks_log_count(tmp_path):
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    whole, other = tmp_path / "part 0.csv", tmp_path / "part 1.csv"
    (log / "0").write_text(f'v1\n{{"path":"{whole.as_uri()}","action":"add"}}\n')
    (log / ".1.tmp").write_text(f'v1\n{{"path":"{other.as_uri()}","action":"add"}}\n')
    assert committed(tmp_path) == [whole]


def test_cpu_time_of_children_that_end_counts():
    parent = subprocess.Popen([sys.executable, "-c", "import subprocess, sys\nsys.stdin.readline()\n"
                               f"subprocess.run([sys.executable, '-c', {BURN.format(1.0)!r}])\n"
                               "print('ended', flush=True)\nsys.stdin.readline()"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        with TreeMeter({"tree": [parent.pid]}) as meter:
            parent.stdin.write(b"\n")
            parent.stdin.flush()
            assert parent.stdout.readline() == b"ended\n"
        assert 0.2 < meter.cpu_s["tree"] < 1.9, "the child's second, without what it did after the last sample"
        assert meter.peak_bytes["tree"] > 5e6
    finally:
        parent.kill()
        parent.wait()
        parent.stdin.close()
        parent.stdout.close()
