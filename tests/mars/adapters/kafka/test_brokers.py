"""Connections as kafka-python hands them over: only what it has done with, and never a wait without end."""

import socket
from types import SimpleNamespace

import pytest
from kafka import errors
from kafka.net.connection import KafkaConnection
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaTCPTransport
from kafka.protocol.metadata import ApiVersionsRequest

from mars.adapters.kafka.brokers import Brokers
from mars.adapters.kafka.channel import Channel
from mars.adapters.kafka.connect import Connector


@pytest.fixture
def opened():
    """Brokers whose library has opened a connection to broker 1, and both ends of it."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    net = NetworkSelector()
    connection = KafkaConnection(net, node_id=1)
    connection.connection_made(KafkaTCPTransport(net, ours))
    connection.broker_version_data = SimpleNamespace(api_version=lambda request: 0)
    connection._init_complete()

    async def get_connection(node: int) -> KafkaConnection:
        return connection

    yield Brokers("a:1", net, SimpleNamespace(get_connection=get_connection), 1.0), connection, ours
    net.close()
    ours.close()
    theirs.close()


def test_a_connection_is_taken_whole_and_the_library_forgets_it(opened):
    brokers, connection, ours = opened
    channel = brokers._net.run(brokers._take, 1)
    assert isinstance(channel, Channel)
    assert connection.closed
    assert ours.fileno() >= 0


def test_a_connection_that_the_library_still_uses_is_ended_and_opened_again(opened):
    brokers, connection, ours = opened
    request = ApiVersionsRequest(version=0)
    future = connection.send_request(request)
    with pytest.raises(errors.KafkaConnectionError, match="in use"):
        brokers._net.run(brokers._take, 1)
    assert connection.closed
    assert future.failed()
    assert ours.fileno() < 0


def test_a_connection_that_has_just_been_closed_is_worth_another_try(opened):
    brokers, connection, _ = opened
    connection.close()
    with pytest.raises(errors.KafkaConnectionError, match="closed"):
        brokers._net.run(brokers._take, 1)


def test_the_library_does_not_look_for_brokers_by_itself():
    net = NetworkSelector()
    manager = Connector(net, bootstrap_servers="127.0.0.1:1")
    manager.cluster.request_update()
    assert manager.cluster._refresh_loop_future is None
    manager.close()
    net.close()


@pytest.mark.parametrize(("bootstrap", "retry_s", "tries_ms"), [
    ("a:1,b:1", 1.0, [2500] * 4), ("a:1,b:1", 40.0, [10_000] * 4), ("a:1", 1.0, [1000])])
def test_a_cluster_that_is_slow_to_admit_is_given_time_at_each_try(bootstrap, retry_s, tries_ms):
    """A quarter of a mapper's second was too short for a broker that takes as long to authenticate, and none was read."""
    asked: list[int] = []

    def give_up(timeout_ms: int) -> None:
        asked.append(timeout_ms)
        raise errors.KafkaTimeoutError

    manager, net = SimpleNamespace(bootstrap=give_up, close=lambda: None, fault=""), SimpleNamespace(close=lambda: None)
    with pytest.raises(errors.KafkaTimeoutError):
        Brokers(bootstrap, net, manager, 10.0).find(retry_s)
    assert asked == tries_ms
