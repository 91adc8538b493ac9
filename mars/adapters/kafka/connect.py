"""Opens connections to Kafka, and says why that fails if settings are the cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka import errors
from kafka.net.inet import create_connection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

from mars.adapters.kafka.security import distrust

Received = tuple[bytes, Exception | None]


class Connector(KafkaConnectionManager):
    """kafka-python's connection manager. `fault` says why the first connection failed since the last one succeeded. The
    library only logs that, and raises a time-out in the end."""

    fault = ""

    def __init__(self, net: NetworkSelector, **settings: object) -> None:
        super().__init__(net, **settings)
        # Mars asks for the brokers when it needs them. The library's own metadata requests would use connections that are
        # handed over.
        self.cluster.start_refresh_loop = lambda: None

    async def _connect(self, node: Any, conn: Any, *args: Any, **options: Any) -> None:
        await super()._connect(node, conn, *args, **options)
        failed = conn.init_future.exception if conn.init_future.failed() else None
        self.fault = "" if failed is None else self.fault or str(failed)
        if failed is not None and distrust("", self.fault):
            self._auth_failures[node.node_id] = failed  # a retry is of no use; the next request for the node gets the error

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> KafkaTCPTransport:
        """As the library does, with two corrections: it would wait without end for a peer that accepts a connection and
        then says nothing in TLS, and it would leave the connection open after a failed handshake."""
        sock = await create_connection(self._net, node.host, node.port, self.config["socket_options"], timeout_at=timeout_at)
        try:
            kind, options = KafkaTCPTransport, {}
            if self.ssl_enabled:
                kind, options = KafkaSSLTransport, {k: v for k, v in self.config.items() if k.startswith("ssl_")}
            transport = kind(self._net, sock, host=node.host, **options)
        except BaseException:
            sock.close()
            raise
        try:
            await self.wait_for(self.call_soon(transport.handshake), self.config["request_timeout_ms"])
        except Exception as error:
            transport.abort(error)
            raise errors.KafkaConnectionError(f"Handshake failed: {error}") from error
        transport._sock_recv = _last_words(transport._sock_recv)
        return transport


def _last_words(receive: Callable[[], Received]) -> Callable[[], Received]:
    """The library's read of a socket would drop what came before the end of a connection, including a broker's reason."""
    def received() -> Received:
        data, error = receive()
        return data, None if data else error

    return received
