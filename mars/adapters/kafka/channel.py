"""One connection to a Kafka broker, for blocking calls. Responses come in the order of the requests.

kafka-python opens, secures and authenticates connections, and encodes and decodes messages. Mars does not use its event
loop after that: with many small requests a second the loop costs more than the requests, and at hundreds of MB a second
its copies do. A response is received straight into one buffer, and its large records are never copied.
"""

from __future__ import annotations

import io
import socket
import ssl
import struct
from collections import deque
from typing import Any

import numpy as np
from kafka import errors
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.protocol.consumer import FetchResponse

FETCH_MIN, FETCH_MAX = 13, 17  # the versions that Mars uses: from 13 on a request names the topic's id
CLIENT_ID = "mars"
RESPONSE_MAX = 1 << 30
HEADER_MAX = 64  # a response's header is shorter than this
LARGE_BYTES = 64 << 10  # smaller records are copied, so that they do not keep the whole response in memory
WAKE_BYTES = 1 << 20  # while we wait for a large response, the kernel wakes us only for this much at once


class Channel:
    """A connection that is open and authenticated. Not thread-safe.

    Each wait for the broker lasts `timeout_s` at most. It raises kafka-python's errors, or an OSError. Close the channel
    then, because nobody knows what is still in flight.
    """

    def __init__(self, sock: socket.socket, versions: BrokerVersionData, timeout_s: float) -> None:
        sock.settimeout(timeout_s)
        self._sock, self._versions = sock, versions
        self._wakes_late = not isinstance(sock, ssl.SSLSocket)  # TLS delivers whole records
        self._sent: deque = deque()
        self._last_id = 0

    def send(self, request: Any) -> None:
        """Send a request of kafka.protocol, in the highest version that it and the broker allow."""
        request.API_VERSION = self._versions.api_version(request)
        self._last_id = (self._last_id + 1) % (1 << 31)
        request.with_header(correlation_id=self._last_id, client_id=CLIENT_ID)
        self._sock.sendall(request.encode(framed=True, header=True))
        self._sent.append(request.header)

    def receive(self) -> Any:
        """The response to the oldest unanswered request."""
        asked = self._sent.popleft()
        size, = struct.unpack(">i", self._read(4))
        if not 0 <= size <= RESPONSE_MAX:
            raise errors.InvalidReceiveError(f"a response of {size} bytes")
        frame = self._read(size)
        kind = asked.get_response_class()
        begin = io.BytesIO(frame[:HEADER_MAX])
        try:
            answered = kind.parse_header(begin).correlation_id
            if answered != asked.correlation_id:
                raise errors.CorrelationIdError(f"sent {asked.correlation_id}, received {answered}")
            return kind.decode(frame[begin.tell():])
        except (ValueError, IndexError, struct.error) as error:
            raise errors.KafkaProtocolError(f"a response of {size} bytes that does not read: {error}") from error

    def close(self) -> None:
        """End the connection."""
        self._sock.close()

    def _read(self, size: int) -> memoryview:
        """The next bytes, in memory that is not zeroed first."""
        frame = np.empty(size, np.uint8).data
        at, late = 0, self._wakes_late and size > LARGE_BYTES
        while at < size:
            if late:
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, min(size - at, WAKE_BYTES))
            got = self._sock.recv_into(frame[at:])
            if not got:
                raise errors.KafkaConnectionError("the broker has closed the connection")
            at += got
        if late:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        return frame.toreadonly()


def _view_if_large(data: memoryview) -> bytes | memoryview:
    return bytes(data) if len(data) < LARGE_BYTES else data


def _keep_records_as_views(versions: range) -> None:
    """Make Fetch's decoders keep views. The library's generated decoders copy with the `bytes` of their globals, so that
    is replaced."""
    for version in versions:
        flexible = FetchResponse.flexible_version_q(version)
        decoder = FetchResponse._struct.compiled_decode_from(version, compact=flexible, tagged=flexible,
                                                             data_class=FetchResponse[None])
        decoder.__globals__["bytes"] = _view_if_large


_keep_records_as_views(range(FETCH_MIN, FETCH_MAX + 1))
