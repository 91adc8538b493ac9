"""A whole instance: it starts detached, says what runs, mends itself, and leaves nothing behind when it is
killed."""

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer

from api.cli.client import Client
from api.instance import runfile

ROOT = Path(__file__).resolve().parents[3]
pytestmark = [pytest.mark.services, pytest.mark.e2e, pytest.mark.timeout(300)]
FIELDS = {"state", "api", "kafka", "redis", "zookeeper", "mappers", "reducers", "queries"}


def mars(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """Run a command as a script does: its output through pipes, to their end."""
    return subprocess.run([sys.executable, "-m", "api.cli", *arguments], cwd=ROOT, text=True, capture_output=True,
                          timeout=150, env={**os.environ, "MARS_MAPPERS": "1", "MARS_REDUCERS": "1", **environment})


def status(data: Path) -> dict:
    return json.loads(mars("status", "--json", "--data", str(data)).stdout)


def wait_until(check, seconds: float):
    deadline = time.monotonic() + seconds
    while not (found := check()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def family(data: Path) -> list[psutil.Process]:
    """Every process of the instance."""
    supervisor = runfile.running(data).supervisor.find()
    return [supervisor, *supervisor.children(recursive=True)]


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    """The data folder of a running instance; stopped whatever happens to it."""
    data = tmp_path_factory.mktemp("instance")
    try:
        done = mars("up", "--detach", "--data", str(data))
        assert done.returncode == 0, done.stderr
        yield data
    finally:
        mars("down", "--data", str(data))


def test_status_has_the_promised_fields(instance):
    found = status(instance)
    assert set(found) >= FIELDS
    assert found["state"] == "ready"
    assert [set(worker) >= {"id", "pid", "host"} for worker in found["mappers"]] == [True]
    assert found["reducers"][0]["pid"]
    assert "leader" in found["reducers"][0]
    with Client(found["api"]) as client:
        assert client.get("/v1/queries") == {"queries": []}


def test_a_second_up_on_the_folder_is_refused_with_the_address(instance):
    done = mars("up", "--data", str(instance))
    assert done.returncode == 1
    assert status(instance)["api"] in done.stderr


def test_rows_alone_on_stdout(instance, tmp_path):
    lines = tmp_path / "calls.csv"
    lines.write_text("at,who\n" + "".join(f"{1_700_000_000 + i},u{i % 3}\n" for i in range(100)))
    assert mars("load", str(lines), "--topic", "calls", "--data", str(instance)).returncode == 0
    script = tmp_path / "a.sql"
    script.write_text("CREATE STREAM calls (at BIGINT, who STRING) FROM KAFKA 'calls' FORMAT CSV TIMESTAMP at UNIT s;\n"
                      "CREATE QUERY per_who AS SELECT who, count(*) FROM calls GROUP BY who WINDOWING 10 s FROM EARLIEST")
    done = mars("sql", "-f", str(script), "--data", str(instance))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr

    def read():
        rows = mars("sql", "-c", "SELECT sum(count) AS n FROM per_who", "--format", "json", "--data", str(instance))
        return json.loads(rows.stdout)[0]["n"]

    # The last window that the watermark (5 s back) has passed ends at second 90.
    assert wait_until(lambda: int(read() or 0) == 90, 90)


def test_a_refused_statement_stops_the_script_with_1(instance):
    done = mars("sql", "-c", "SELECT nothing FROM calls; SHOW STREAMS", "--data", str(instance))
    assert done.returncode == 1
    assert done.stdout == ""
    assert "^^^^^^^" in done.stderr


def test_the_demo_is_exact_and_says_what_goes_on(instance):
    done = mars("demo", "--data", str(instance), "--rate", "5000", "--seconds", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("EXACT: 15,000 tuples")
    assert "mars down" in done.stderr


def test_the_demo_counts_a_file_of_the_users_own(instance, tmp_path):
    lines = tmp_path / "visits.json"
    lines.write_text("".join(json.dumps({"at": 1_700_000_000_000 + 700 * i, "page": f"p{i % 4}"}) + "\n"
                             for i in range(500)))
    done = mars("demo", "--data", str(instance), "--file", str(lines))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("EXACT: 500 tuples")


def test_the_demo_of_a_topic_accounts_for_every_tuple_also_while_it_grows(instance):
    producer = Producer({"bootstrap.servers": status(instance)["kafka"], "linger.ms": 5, "log_level": 0})
    going, written = threading.Event(), []

    def write(number: int) -> None:
        written.append(number)
        producer.produce("growing", b"%d,u%d" % (1_700_000_000 + number, number % 3), partition=number % 4)

    def write_on() -> None:
        for number in itertools.count(2_000):
            if going.wait(0.005):
                return
            write(number)
            producer.poll(0)

    for number in range(2_000):
        write(number)
    producer.flush(20)
    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        done = mars("demo", "--data", str(instance), "--topic", "growing")
    finally:
        going.set()
        writer.join()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("COMPLETE: all "), done.stdout
    producer.flush(20)
    done = mars("demo", "--data", str(instance), "--topic", "growing")
    assert (done.returncode, done.stdout.startswith(f"COMPLETE: all {len(written):,} tuples")) == (0, True), done.stdout
    assert f"{len(written):,} tuples: 0 bad, 0 late, 0 future, 0 filtered" in done.stderr


def test_a_killed_worker_and_a_killed_redis_come_back(instance):
    before = status(instance)
    os.kill(before["mappers"][0]["pid"], signal.SIGKILL)
    os.kill(runfile.running(instance).processes["redis"].pid, signal.SIGKILL)

    def mended():
        now = status(instance)
        return (now["state"] == "ready" and now["redis"] == before["redis"] and now["mappers"]
                and before["mappers"][0]["pid"] not in [worker["pid"] for worker in now["mappers"]])

    assert wait_until(mended, 90)
    with socket.create_connection(("127.0.0.1", int(before["redis"].split(":")[1]))):
        pass


def test_what_ends_while_the_server_starts_comes_back_too(instance):
    before = runfile.running(instance)
    os.kill(before.processes["server"].pid, signal.SIGKILL)
    os.kill(before.processes["zookeeper"].pid, signal.SIGKILL)
    assert wait_until(lambda: runfile.running(instance).processes["zookeeper"] != before.processes["zookeeper"], 60)
    assert wait_until(lambda: runfile.running(instance).processes["server"] != before.processes["server"], 60)
    again = runfile.running(instance)
    os.kill(again.processes["server"].pid, signal.SIGKILL)

    def mended():
        now = runfile.running(instance)
        return now.processes["server"] != again.processes["server"] and status(instance)["state"] == "ready"

    assert wait_until(mended, 120)


def test_a_killed_supervisor_takes_everything_with_it(instance):
    processes = family(instance)
    assert len(processes) > 6
    os.kill(processes[0].pid, signal.SIGKILL)
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []
    assert status(instance) == {"state": "stopped"}


def test_a_taken_port_is_named_and_nothing_is_started(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = mars("up", "--detach", "--port", port, "--data", str(tmp_path))
    assert done.returncode == 1
    assert port in done.stderr
    assert "--port" in done.stderr
    assert status(tmp_path) == {"state": "stopped"}


def test_a_start_that_fails_stops_what_it_had_started(tmp_path):
    done = mars("up", "--detach", "--data", str(tmp_path), MARS_REDIS_ADDRESS="127.0.0.1:9")
    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr
    assert runfile.read(tmp_path) is None
    assert not [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(p.info["cmdline"] or [])]
