"""Workers that come and go under load, in a whole instance: nothing is lost and nothing counts twice."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from api.cli.client import Client
from tests.api.instance.test_up import mars, status, wait_until

pytestmark = [pytest.mark.services, pytest.mark.e2e, pytest.mark.timeout(1_800)]
LONG = bool(os.environ.get("LONG_TESTS"))
CHANGES = 100 if LONG else 6
MAPPERS, REDUCERS = 3, 2
KEYS, PER_SECOND = 7, 200  # tuples to the second of event time


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    data = tmp_path_factory.mktemp("scaled")
    try:
        done = mars("up", "--detach", "--data", str(data), MARS_MAPPERS_MAX=str(MAPPERS), MARS_REDUCERS_MAX=str(REDUCERS))
        assert done.returncode == 0, done.stderr
        yield data
    finally:
        mars("down", "--data", str(data))


class Load:
    """Writes tuples until it is stopped; `written` is their number."""

    def __init__(self, kafka: str) -> None:
        self.producer = Producer({"bootstrap.servers": kafka, "linger.ms": 5, "log_level": 0})
        self.written, self.stopping = 0, threading.Event()
        self.thread = threading.Thread(target=self._write)

    def _write(self) -> None:
        while not self.stopping.wait(0.01):
            for _ in range(100):
                number = self.written
                self.producer.produce("scaled", b"%d,k%d" % (1_700_000_000 + number // PER_SECOND, number % KEYS),
                                      partition=number % 4)
                self.written += 1
            self.producer.poll(0)

    def stop(self) -> int:
        """The number of tuples, all of which are in the topic now."""
        self.stopping.set()
        self.thread.join()
        for partition in range(4):  # of a later second, so that all windows before it close
            self.producer.produce("scaled", b"%d,end" % (1_700_000_000 + self.written), partition=partition)
        assert self.producer.flush(30) == 0
        return self.written


def test_changing_numbers_of_workers_under_load_lose_nothing_and_double_nothing(instance: Path):
    found, draw = status(instance), random.Random(3)
    load = Load(found["kafka"])
    with Client(found["api"]) as client:
        load.producer.produce("scaled", b"1700000000,end", partition=0)
        load.producer.flush(20)
        client.sql("CREATE STREAM scaled (at BIGINT, who STRING) FROM KAFKA 'scaled' FORMAT CSV TIMESTAMP at UNIT s")
        client.sql("CREATE QUERY counted AS SELECT who, count(*) AS n FROM scaled WHERE who <> 'end' GROUP BY who "
                    "WINDOWING 10 s")
        load.thread.start()
        try:
            for number in range(CHANGES):
                mappers, reducers = draw.randint(1, MAPPERS), draw.randint(1, REDUCERS)
                client.sql(f"ALTER WORKERS SET MAPPERS {mappers}, REDUCERS {reducers}")
                if number % 3 == 2:  # a reducer dies on the way, perhaps the leader
                    os.kill(status(instance)["reducers"][0]["pid"], signal.SIGKILL)
                time.sleep(draw.random() * 3)
            client.sql("ALTER WORKERS SET MAPPERS 1, REDUCERS 1")
            workers = wait_until(lambda: _settled(client, 1, 1), 90)
            assert workers, client.get("/v1/workers")
        finally:
            total = load.stop()

        def counted() -> int:
            rows = mars("sql", "-c", "SELECT sum(n) AS n FROM counted", "--format", "json", "--data", str(instance))
            return int(json.loads(rows.stdout)[0]["n"] or 0)

        assert wait_until(lambda: counted() >= total, 120), (counted(), total)
        assert counted() == total
        assert client.get("/v1/queries")["queries"][0]["state"] == "RUNNING"


def _settled(client: Client, mappers: int, reducers: int) -> bool:
    """Do just as many live as are wanted?"""
    found = client.get("/v1/workers")
    return all(len(found[kind]["alive"]) == count and not any(worker["retires"] for worker in found[kind]["alive"])
               for kind, count in (("mappers", mappers), ("reducers", reducers)))


def test_a_number_above_the_most_is_refused_with_the_setting(instance: Path):
    done = mars("sql", "-c", "ALTER WORKERS SET MAPPERS 9", "--data", str(instance))
    assert done.returncode == 1
    assert "there may be at most 3 mappers" in done.stderr
    assert "start Mars with a higher mappers_max" in done.stderr


def test_status_and_show_workers_tell_who_is_wanted_and_who_lives(instance: Path):
    rows = json.loads(mars("sql", "-c", "SHOW WORKERS", "--format", "json", "--data", str(instance)).stdout)
    assert [(row["kind"], row["slot"], row["state"]) for row in rows] == [("mapper", 0, "works"), ("reducer", 0, "leads")]
    assert status(instance)["wanted"] == {"mappers": 1, "reducers": 1}
