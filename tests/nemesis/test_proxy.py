"""Each rule of the proxy shows on the wire."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.nemesis.proxy import PASS, Proxy, Rule


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """In front of a server that sends back what it gets."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=echo, args=(connection,), daemon=True).start()

    def echo(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := connection.recv(4096):
                connection.sendall(data)

    threading.Thread(target=serve, daemon=True).start()
    made = Proxy(server.getsockname())
    yield made
    made.close()


def connect(proxy: Proxy) -> socket.socket:
    """A client."""
    host, port = proxy.address.split(":")
    return socket.create_connection((host, int(port)), 30)


def test_it_passes_on_and_is_slow(proxy):
    with connect(proxy) as client:
        client.sendall(b"one")
        assert client.recv(10) == b"one"
        proxy.set(Rule(latency_s=0.1))
        began = time.monotonic()
        client.sendall(b"two")
        assert client.recv(10) == b"two"
        assert time.monotonic() - began > 0.19  # there and back


@pytest.mark.parametrize("rule", [Rule(hold_requests=True), Rule(hold_answers=True)])
def test_what_it_holds_comes_when_it_is_healed(proxy, rule):
    with connect(proxy) as client:
        client.sendall(b"before")
        assert client.recv(10) == b"before"
        proxy.set(rule)
        client.sendall(b"held")
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(10)
        proxy.set(PASS)
        client.settimeout(30)
        assert client.recv(10) == b"held"


def test_it_cuts_after_so_many_bytes_of_requests(proxy):
    proxy.set(Rule(cut_after=5))
    with connect(proxy) as client:
        client.sendall(b"123")
        assert client.recv(10) == b"123"
        client.sendall(b"4567")
        rest = b""
        with contextlib.suppress(ConnectionResetError):
            while data := client.recv(10):
                rest += data
        assert len(rest) <= 2


def test_a_rule_for_a_process_leaves_others_alone(proxy):
    with connect(proxy) as client:
        proxy.set(Rule(reset=True, pids=frozenset([1])))
        client.sendall(b"mine")
        assert client.recv(10) == b"mine"
        proxy.set(Rule(reset=True, pids=frozenset([os.getpid()])))
        with pytest.raises(ConnectionResetError):
            client.recv(10)
