"""A broker that loses the end of a partition's log, which then grows again: what was counted is not there any more.

One Kafka of its own is killed, its log cut, and started again, as after a loss of power with unsafe disks.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from api.instance.services import kafka
from api.instance.services.service import Service
from api.statements.offsets import AWAY_S, EndOffsets
from mapper.fetch import open_reader
from mars.adapters.kafka.wire import Wire
from mars.config import load
from mars.errors import NotReadyError
from mars.model.log_epochs import Epochs, compare
from reducer.leading.watch_topic import Seen, TopicWatch
from tests.cluster import Cluster
from tests.conftest import Stack
from tests.reducer import handed

pytestmark = [pytest.mark.services, pytest.mark.faults]
COUNTED, LEFT, BATCH = 1_000, 600, 100


class Broker:
    """A Kafka that may be killed and lose the end of partition 0 of topic `t`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.config = folder, load({"data": folder, "kafka_heap_mb": 256}, environment={})
        self.service: Service = kafka.start(self.config, folder)
        admin = AdminClient({"bootstrap.servers": self.service.address})  # one that is dropped fails what it was asked
        admin.create_topics([NewTopic("t", 1, 1)])["t"].result(20)

    def send(self, numbers: Iterable[int]) -> None:
        """One record of each number, in record batches of BATCH."""
        producer = Producer({"bootstrap.servers": self.service.address, "linger.ms": 1000, "batch.num.messages": BATCH})
        for count, number in enumerate(numbers, 1):
            producer.produce("t", b"%d,%d" % (number, number % 3), partition=0)
            if count % BATCH == 0:
                producer.flush(20)
        assert producer.flush(20) == 0

    def kill(self) -> None:
        os.kill(self.service.child.pid, signal.SIGKILL)
        self.service.child.stop(0)

    def come_back(self, lost_batches: int) -> None:
        """Start again without the last record batches."""
        log, = (self.folder / "kafka" / "topics" / "t-0").glob("*.log")
        sizes, at = [], 0
        data = log.read_bytes()
        while at < len(data):
            sizes.append(int.from_bytes(data[at + 8:at + 12], "big") + 12)
            at += sizes[-1]
        os.truncate(log, sum(sizes[:-lost_batches]))
        for file in (*log.parent.glob("*index"), *log.parent.glob("*.snapshot")):
            file.unlink()
        self.service = kafka.start(self.config, self.folder)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path / "broker")
    made.send(range(COUNTED))
    try:
        yield made
    finally:
        made.service.stop()


def told(wire: Wire) -> Epochs:
    """What the leader tells of partition 0."""
    watch = TopicWatch(handed.connections(wire=wire))
    return Epochs.load(watch._logs(Seen(), wire.topic("t"))["log:0"])


@pytest.fixture
def opened():
    """Closes what it is given at the end of the test."""
    with contextlib.ExitStack() as stack:
        yield lambda made: stack.enter_context(contextlib.closing(made))


def test_a_log_that_was_cut_and_written_again_is_told_from_the_one_that_was_read(broker, opened):
    """And the end of a topic is known as soon as Kafka knows it: after partitions were added, and after it came back."""
    address = broker.service.address
    wire, ends = opened(Wire(address)), opened(EndOffsets(Wire(address, timeout_s=2.0, retry_s=1.0)))
    topic_id = wire.topic("t").topic_id
    stream = SimpleNamespace(topic="t", topic_id=topic_id)
    read = opened(open_reader(address, {}, "t", topic_id)).read(0, 0, COUNTED, 1 << 20)
    assert ends.read(stream, [0]) == {0: COUNTED}
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_partitions([NewPartitions("t", 2)])["t"].result(20)
    deadline = time.monotonic() + 60
    while 1 not in wire.topic("t").partitions:  # the controller knows it first, and tells the broker
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert ends.read(stream, [0, 1]) == {0: COUNTED, 1: 0}
    noted = [read.log]
    assert noted[0][1] == COUNTED
    assert compare(noted, told(wire)) is None

    broker.kill()
    with pytest.raises(NotReadyError):
        ends.read(stream, [0, 1])
    broker.come_back(lost_batches=(COUNTED - LEFT) // BATCH)
    time.sleep(AWAY_S)
    assert ends.read(stream, [0, 1]) == {0: LEFT, 1: 0}
    current = wire.topic("t").partitions[0][1]
    assert wire.epoch_ends("t", {0: current}) == {0: (current, LEFT)}
    assert compare(noted, told(wire)) == LEFT

    broker.send(range(5_000, 6_010))
    again = opened(open_reader(address, {}, "t", topic_id)).read(0, COUNTED, COUNTED + 500, 1 << 20)
    assert len(again.messages) == 500, "who does not know what was read before reads on"
    assert again.log == (current, COUNTED + 500)
    assert compare(noted, told(wire)) == LEFT
    assert compare([again.log], told(wire)) is None


@pytest.mark.skipif(not os.environ.get("LONG_TESTS"), reason="takes a minute: set LONG_TESTS=1")
@pytest.mark.parametrize("grows", [False, True])
def test_a_query_stops_with_the_exact_range(broker, stack: Stack, tmp_path, grows):
    """Whether the log has grown past what was counted or not, and while nothing else was told to Mars."""
    found = replace(stack, config=stack.config.model_copy(update={"kafka_address": broker.service.address}))
    cluster = Cluster(found, tmp_path / "cluster")
    try:
        cluster.sql("CREATE STREAM t (t BIGINT, k INT) FROM KAFKA 't' FORMAT CSV TIMESTAMP t UNIT s")
        cluster.sql("CREATE QUERY q AS SELECT k, count(*) FROM t GROUP BY k WINDOWING 10 s WATERMARK 1 s IDLE OFF "
                    "FROM EARLIEST")
        cluster.wait(lambda: cluster.has_read_all("q"), 100, "not all read", ["q"])
        broker.kill()
        for number in range(2 * grows):
            cluster.kill("mapper", number)
        broker.come_back(lost_batches=(COUNTED - LEFT) // BATCH)
        if grows:
            broker.send(range(5_000, 6_010))
        state = lambda: cluster.context.catalog.query("q")[1]  # noqa: E731
        cluster.wait(lambda: state().state == "LOG_TRUNCATED", 100, "not noticed", ["q"])
        assert f"offsets [{LEFT}, " in state().reason
        if not grows:
            assert f"[{LEFT}, {COUNTED}) of partition 0" in state().reason
    finally:
        cluster.close()
