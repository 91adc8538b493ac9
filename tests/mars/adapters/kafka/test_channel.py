"""A channel's responses: whole whatever pieces they come in, in order, and not copied where kafka-python would copy them."""

import socket
import struct
import threading
from types import SimpleNamespace

import pytest
from kafka import errors
from kafka.protocol.consumer import FetchResponse, ListOffsetsRequest

from mars.adapters.kafka.channel import LARGE_BYTES, Channel


class Request:
    """A request without content, whose response decodes to its own bytes."""

    API_VERSION = None

    def with_header(self, correlation_id, client_id):
        self.header = SimpleNamespace(correlation_id=correlation_id, get_response_class=lambda: self)

    def encode(self, framed, header):
        return struct.pack(">i", self.header.correlation_id)

    def parse_header(self, begin):
        return SimpleNamespace(correlation_id=int.from_bytes(begin.read(4)))

    def decode(self, frame):
        if frame == b"unreadable":
            raise struct.error("too short")
        return frame


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def channel(sock: socket.socket, timeout_s: float = 10.0) -> Channel:
    return Channel(sock, SimpleNamespace(api_version=lambda request: 1), timeout_s)


def response(id_: int, body: bytes) -> bytes:
    return struct.pack(">ii", len(body) + 4, id_) + body


@pytest.mark.parametrize("size", [0, 1, 3, LARGE_BYTES - 5, LARGE_BYTES, LARGE_BYTES + 1, 3_000_001])
@pytest.mark.parametrize("piece", [1 << 30, 70_001, 4_097])
def test_a_response_is_whole_whatever_its_pieces(ends, size, piece):
    ours, theirs = ends
    body = (bytes(i * 7 & 255 for i in range(1_000)) * (size // 1_000 + 1))[:size]
    sent = response(1, body) + response(2, b"next")
    sender = threading.Thread(target=lambda: [theirs.sendall(sent[i:i + piece]) for i in range(0, len(sent), piece)])
    link = channel(ours)
    link.send(Request())
    link.send(Request())
    sender.start()
    assert bytes(link.receive()) == body
    assert bytes(link.receive()) == b"next"
    sender.join()


def test_responses_that_come_together_are_told_apart(ends):
    ours, theirs = ends
    link = channel(ours)
    for _ in range(2):
        link.send(Request())
    theirs.sendall(response(1, b"ab") + response(2, b"cd"))
    assert [bytes(link.receive()) for _ in range(2)] == [b"ab", b"cd"]


def test_a_broker_that_says_nothing_is_not_waited_for_longer_than_allowed(ends):
    ours, theirs = ends
    link = channel(ours, timeout_s=0.05)
    link.send(Request())
    theirs.sendall(response(1, b"x" * 500_000)[:200_000])
    with pytest.raises(TimeoutError):
        link.receive()


@pytest.mark.parametrize(("sent", "error"), [
    (response(1, b"x" * 500_000)[:200_000], errors.KafkaConnectionError), (b"", errors.KafkaConnectionError),
    (response(7, b""), errors.CorrelationIdError), (b"\xff\xff\xff\xff", errors.InvalidReceiveError),
    (b"\x7f\xff\xff\xff", errors.InvalidReceiveError), (response(1, b"unreadable"), errors.KafkaProtocolError)])
def test_what_is_no_response_is_an_error(ends, sent, error):
    ours, theirs = ends
    link = channel(ours)
    link.send(Request())
    theirs.sendall(sent)
    theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(error):
        link.receive()


def test_a_request_is_sent_whole_in_the_version_that_the_broker_has(ends):
    ours, theirs = ends
    request = ListOffsetsRequest(replica_id=-1, isolation_level=1, topics=[], timeout_ms=1)
    Channel(ours, SimpleNamespace(api_version=lambda asked: 6), 10.0).send(request)
    size, key, version, id_ = struct.unpack(">ihhi", theirs.recv(1 << 16)[:12])
    assert (key, version, id_) == (2, 6, 1)
    assert size == len(request.encode(header=True))


def test_records_of_a_fetch_are_a_view_of_the_response():
    def encoded(size: int) -> bytes:
        partition = FetchResponse.FetchableTopicResponse.PartitionData(
            partition_index=0, error_code=0, high_watermark=9, last_stable_offset=9, log_start_offset=0,
            aborted_transactions=[], preferred_read_replica=-1, records=b"r" * size)
        topic = FetchResponse.FetchableTopicResponse(topic="", topic_id="00000000-0000-0000-0000-000000000001",
                                                     partitions=[partition])
        return FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=[topic], version=17).encode()

    for size, kind in ((10, bytes), (LARGE_BYTES, memoryview)):
        [found] = FetchResponse.decode(memoryview(bytes(encoded(size))), version=17).responses[0].partitions
        assert (type(found.records), bytes(found.records)) == (kind, b"r" * size)
