"""Large responses: whole whatever pieces they come in, and not copied where kafka-python would copy them."""

import socket
import struct
import threading
from types import SimpleNamespace

import pytest
from kafka.protocol.consumer import FetchResponse
from kafka.protocol.parser import KafkaProtocol

from mars.adapters import kafka_receive
from mars.adapters.kafka_receive import LARGE_BYTES, Frame, _receive


class Header:
    """What the library keeps of a request under way; the response decodes to its own bytes."""

    correlation_id, api_key, api_version = 7, 1, 17

    def get_response_class(self):
        return SimpleNamespace(parse_header=lambda frame: SimpleNamespace(correlation_id=int.from_bytes(frame.read(4))),
                               decode=lambda frame: frame.read())


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    yield ours, theirs
    ours.close()
    theirs.close()


def transport(sock: socket.socket) -> SimpleNamespace:
    protocol = KafkaProtocol()
    protocol.in_flight_requests.append(Header())
    return SimpleNamespace(_sock=sock, _protocol=SimpleNamespace(parser=protocol))


def receive_all(link: SimpleNamespace) -> list:
    """What the library decodes, until the response is whole or the connection ends."""
    found = []
    while not found:
        data, error = _receive(link)
        if error:
            raise error
        found = link._protocol.parser.receive_bytes(data)
    return found


@pytest.mark.parametrize("size", [0, 1, 3, LARGE_BYTES - 5, LARGE_BYTES, LARGE_BYTES + 1, 3_000_001])
@pytest.mark.parametrize("piece", [1 << 30, 70_001, 4_097])
def test_a_response_is_whole_whatever_its_pieces(ends, size, piece):
    body = bytes(i * 7 & 255 for i in range(1_000)) * (size // 1_000 + 1)
    body = body[:size]
    sent = struct.pack(">ii", size + 4, 7) + body
    ours, theirs = ends
    sender = threading.Thread(target=lambda: [theirs.sendall(sent[i:i + piece]) for i in range(0, len(sent), piece)])
    sender.start()
    [(correlation_id, found)] = receive_all(transport(ours))
    sender.join()
    assert correlation_id == 7
    assert bytes(found) == body
    assert isinstance(found, bytes if size < LARGE_BYTES else memoryview)


def test_two_responses_in_one_piece_are_two(ends):
    ours, theirs = ends
    link = transport(ours)
    link._protocol.parser.in_flight_requests.append(Header())
    theirs.sendall(2 * (struct.pack(">ii", 6, 7) + b"ab"))
    assert receive_all(link) == [(7, b"ab"), (7, b"ab")]


def test_a_sender_that_stalls_stops_nobody_and_is_read_on_later(ends, monkeypatch):
    monkeypatch.setattr(kafka_receive, "WAIT_MS", 1)
    ours, theirs = ends
    link, body = transport(ours), b"x" * 500_000
    theirs.sendall(struct.pack(">ii", len(body) + 4, 7) + body[:100])
    parser = link._protocol.parser
    for _ in range(5):
        assert parser.receive_bytes(_receive(link)[0]) == []
    threading.Thread(target=theirs.sendall, args=(body[100:],)).start()
    assert bytes(receive_all(link)[0][1]) == body


def test_a_connection_that_ends_inside_a_response_is_an_error(ends):
    ours, theirs = ends
    theirs.sendall(struct.pack(">ii", 1_000_000, 7) + b"x" * 200_000)
    theirs.close()
    with pytest.raises(Exception, match="disconnected"):
        receive_all(transport(ours))


def test_records_of_a_fetch_are_a_view_of_the_response():
    def response(size: int):
        partition = FetchResponse.FetchableTopicResponse.PartitionData(
            partition_index=0, error_code=0, high_watermark=9, last_stable_offset=9, log_start_offset=0,
            aborted_transactions=[], preferred_read_replica=-1, records=b"r" * size)
        topic = FetchResponse.FetchableTopicResponse(topic="", topic_id="00000000-0000-0000-0000-000000000001",
                                                     partitions=[partition])
        return FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=[topic], version=17)

    for size, kind in ((10, bytes), (LARGE_BYTES, memoryview)):
        encoded = response(size).encode()
        frame = Frame(len(encoded))
        frame.write(bytes(encoded))
        frame.seek(0)
        [found] = FetchResponse.decode(frame, version=17).responses[0].partitions
        assert (type(found.records), bytes(found.records)) == (kind, b"r" * size)
