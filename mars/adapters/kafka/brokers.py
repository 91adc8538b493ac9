"""The brokers of a Kafka cluster: a channel to each, which kafka-python opens when it is first needed."""

from __future__ import annotations

import random
import socket

from kafka import errors
from kafka.net.selector import NetworkSelector

from mars.adapters.kafka.channel import Channel
from mars.adapters.kafka.connect import Connector
from mars.adapters.kafka.security import Security, distrust

RECEIVE_BUFFER = 8 << 20
TRIES = 4
SOCKET_OPTIONS = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
                  (socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)]


def find(bootstrap: str, security: Security, timeout_s: float, limit_s: float) -> Brokers:
    """The brokers of a cluster, as one of the bootstrap addresses reports them within about `limit_s`. Raises as
    Brokers."""
    timeout_ms, net = int(timeout_s * 1000), NetworkSelector()
    manager = Connector(
        net, bootstrap_servers=bootstrap, reconnect_backoff_max_ms=1000, request_timeout_ms=timeout_ms,
        socket_connection_setup_timeout_ms=timeout_ms, socket_connection_setup_timeout_max_ms=timeout_ms,
        socket_options=SOCKET_OPTIONS, **security)
    brokers = Brokers(bootstrap, net, manager, timeout_s)
    brokers.find(limit_s)
    return brokers


class Brokers:
    """Channels by the brokers' node ids. Not thread-safe, and does not survive a fork.

    Raises kafka-python's errors, or KafkaDistrust. By then, every channel of the failed call is closed; the next call
    tries a refused password again.
    """

    def __init__(self, bootstrap: str, net: NetworkSelector, manager: Connector, timeout_s: float) -> None:
        self._bootstrap, self._net, self._manager, self._timeout_s = bootstrap, net, manager, timeout_s
        self._channels: dict[int, Channel] = {}

    def find(self, limit_s: float) -> None:
        """Ask the bootstrap addresses for the brokers; close everything if that fails."""
        try:
            self._bootstrap_within(limit_s)
        except BaseException as error:
            self.close()
            self._say_why(error)
            raise

    def close(self) -> None:
        """End all connections."""
        for node in list(self._channels):
            self._channels.pop(node).close()
        self._manager.close()
        self._net.close()

    def ask(self, requests: list[tuple[int | None, object]]) -> list:
        """The responses to (node id, request) pairs, in their order. All requests are in flight at the same time. A node
        id of None means any broker."""
        asked: list[int] = []
        try:
            nodes = [self._any() if node is None else node for node, _ in requests]
            for node in nodes:
                if node not in self._channels:
                    self._channels[node] = self._open(node)
            for node, (_, request) in zip(nodes, requests, strict=True):
                asked.append(node)
                self._channels[node].send(request)
            return [self._channels[node].receive() for node in nodes]
        except BaseException as error:
            for node in set(asked):
                self._channels.pop(node).close()
            self._say_why(error)
            if isinstance(error, OSError):
                raise errors.KafkaConnectionError(f"{type(error).__name__}: {error}") from error
            raise

    def _bootstrap_within(self, limit_s: float) -> None:
        """Ask a bootstrap address for the brokers. The library keeps to the address that it draws, so this lets it draw
        again. With several addresses, each try gets its share of the time that an answer may take, because each begins to
        connect anew."""
        tries = TRIES if "," in self._bootstrap else 1
        if tries > 1:
            limit_s = max(limit_s, self._timeout_s)
        for left in reversed(range(tries)):
            try:
                self._manager.bootstrap(timeout_ms=int(limit_s * 1000 / tries))
                return
            except errors.KafkaTimeoutError:
                if not left:
                    raise

    def _say_why(self, error: BaseException) -> None:
        """Raise KafkaDistrust if that is why the last connections could not be opened."""
        if isinstance(error, errors.KafkaError) and (refused := distrust(
                self._bootstrap, self._manager.fault or str(error))):
            raise refused from error

    def _any(self) -> int:
        # Not always the same broker: one that the others have lost would report old facts about their partitions.
        node = random.choice(list(self._channels)) if self._channels else self._manager.least_loaded_node()
        if node is None:
            raise errors.NodeNotReadyError("no broker can be reached")
        return node

    def _open(self, node: int) -> Channel:
        """A connection that the library has opened, secured and authenticated, and then handed over. This is rare, so the
        cluster is asked each time where its brokers are now."""
        self._manager.run(self._manager.cluster.refresh_metadata)
        return self._manager.run(self._take, node)

    async def _take(self, node: int) -> Channel:
        connection = await self._manager.get_connection(node)
        transport = connection.transport
        if transport is None:
            raise errors.KafkaConnectionError("the broker has closed the connection as it was opened")
        is_idle = not connection.in_flight_requests and not transport._write_buffer
        sock, transport._sock = transport._sock, None
        transport._write_buffer.clear()  # otherwise the library would wait to send it before it closes
        connection.close()
        if not is_idle:
            sock.close()
            raise errors.KafkaConnectionError("the connection was in use as it was opened")
        return Channel(sock, connection.broker_version_data, self._timeout_s)
