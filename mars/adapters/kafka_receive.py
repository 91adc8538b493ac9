"""How large responses of Kafka come from the socket to us: received straight into one buffer, and never copied.

kafka-python reads its socket in small pieces, copies each twice, and copies what it decodes once more. At hundreds of
MB a second these copies and its event loop would be the largest cost of reading a topic. Here the library keeps its
work, and only its buffer, its read of the socket and the `bytes` of its generated decoders are ours; each of the three
falls back to the library's own way for whatever is small.
"""

from __future__ import annotations

import select
import socket

import numpy as np
from kafka import errors
from kafka.net.manager import KafkaConnectionManager
from kafka.net.transport import KafkaTCPTransport
from kafka.protocol import parser
from kafka.protocol.consumer import FetchResponse

FETCH_MIN, FETCH_MAX = 13, 17  # the versions that we ask: from 13 on a request names the topic's id
RECEIVE_BYTES = 256 << 10  # a read of the socket; kafka-python's own 4 KB halves the speed
LARGE_BYTES = 64 << 10  # what is smaller goes the library's way
WAKE_BYTES = 1 << 20  # waiting for a large response, the kernel wakes us for so much at once
WAIT_MS = 50  # and for so long the library's own timers may wait


class Frame:
    """kafka-python's buffer of one response (its KafkaBytes), of memory that is not zeroed before it is filled. A large
    part of it is read as a view."""

    def __init__(self, size: int) -> None:
        self._view = memoryview(np.empty(size, np.uint8))
        self._at = 0

    def __len__(self) -> int:
        return len(self._view)

    def read(self, nbytes: int | None = None) -> bytes | memoryview:
        """The next bytes, all that are left if no number is given."""
        begin = self._at
        self._at = len(self) if nbytes is None else min(len(self), begin + nbytes)
        return _view_if_large(self._view[begin:self._at].toreadonly())

    def write(self, data: bytes) -> None:
        """Put bytes where the last ones ended."""
        self._view[self._at:self._at + len(data)] = data
        self._at += len(data)

    def seek(self, at: int) -> None:
        """Go to a place."""
        self._at = at

    def tell(self) -> int:
        """The place where the next byte is read or written."""
        return self._at

    def missing(self) -> int:
        """How many bytes are not here yet."""
        return len(self) - self._at

    def receive_from(self, sock: socket.socket, leave: int) -> None:
        """Fill the buffer from a socket that does not block, all but the last `leave` bytes; returns early when nothing
        comes for WAIT_MS or the connection ends, which the next read of the socket tells."""
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        try:
            while (room := self.missing() - leave) > 0:
                try:
                    got = sock.recv_into(self._view[self._at:], room)
                except (BlockingIOError, InterruptedError):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, min(room, WAKE_BYTES))
                    if not poll.poll(WAIT_MS):
                        return
                    continue
                if not got:
                    return
                self._at += got
        finally:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


def _view_if_large(data: memoryview) -> bytes | memoryview:
    return bytes(data) if len(data) < LARGE_BYTES else data


def _keep_records_as_views(versions: range) -> None:
    """The library's generated decoders copy by the `bytes` of their globals; these are the decoders of Fetch."""
    for version in versions:
        flexible = FetchResponse.flexible_version_q(version)
        decoder = FetchResponse._struct.compiled_decode_from(version, compact=flexible, tagged=flexible,
                                                             data_class=FetchResponse[None])
        decoder.__globals__["bytes"] = _view_if_large


# The library names its buffer nowhere but in this module.
parser.KafkaBytes = Frame
_keep_records_as_views(range(FETCH_MIN, FETCH_MAX + 1))


class WideManager(KafkaConnectionManager):
    """kafka-python's connection manager, whose plain connections receive large responses straight into their buffer."""

    async def _build_transport(self, node, timeout_at=None):
        transport = await super()._build_transport(node, timeout_at=timeout_at)
        if type(transport) is KafkaTCPTransport:
            transport._sock_recv = lambda: _receive(transport)
        return transport


def _receive(transport: KafkaTCPTransport) -> tuple[bytes, Exception | None]:
    """One read of a socket that does not block, in the form of KafkaTCPTransport._sock_recv. The last byte of a response
    is left to the library, which so notices that it is whole."""
    try:
        frame = getattr(getattr(transport._protocol, "parser", None), "_rbuffer", None)
        if frame is not None and frame.missing() > LARGE_BYTES:
            frame.receive_from(transport._sock, leave=1)
        data = transport._sock.recv(RECEIVE_BYTES)
        return data, None if data else errors.KafkaConnectionError("socket disconnected")
    except (BlockingIOError, InterruptedError):
        return b"", None
    except OSError as error:
        return b"", errors.KafkaConnectionError(error)
