"""The least that each step can cost: minimal kernels that do the unavoidable on the plain case, and check nothing.

They are a yardstick, not a way to do it: no quotes, no NULL, no overflow, no byte that is not what is expected.
"""

from __future__ import annotations

import os
import socket
import threading

import numpy as np
from numba import njit

from mapper.kernels.words import HIGHS, ONES, load64

COMMA = np.uint64(ord(",")) * ONES
MIX = np.uint64(0x9E3779B97F4A7C15)


@njit(nogil=True)
def walk_records(buffer, at, count, start, length):
    """Place and length of each value of one record batch: the varints that lie before it, and no check."""
    for i in range(count):
        size, shift = np.int64(0), 0
        while True:
            byte = np.int64(buffer[at])
            at += 1
            size |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        end = at + (size >> 1)
        at += 2  # attributes, and the time delta 0
        while buffer[at] >= 0x80:
            at += 1
        at += 2  # the offset delta's last byte, and no key
        value, shift = np.int64(0), 0
        while True:
            byte = np.int64(buffer[at])
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        start[i], length[i] = at, value >> 1
        at = end


@njit(nogil=True)
def find_commas(buffer, start, words, masks):
    """Which bytes of the first `words` words of each tuple are commas: one bit for each, and the places are in it."""
    for i in range(len(start)):
        found = np.uint64(0)
        for word in range(words):
            different = load64(buffer, start[i] + 8 * word) ^ COMMA
            found |= ((different - ONES) & ~different & HIGHS) >> np.uint64(word)
        masks[i] = found


@njit(nogil=True)
def ten_digits(buffer, start, values):
    """The number in the first ten bytes of each tuple: eight digits at once, then two."""
    for i in range(len(start)):
        word = load64(buffer, start[i]) - np.uint64(0x3030303030303030)
        word = (word * np.uint64(10)) + (word >> np.uint64(8))
        low = (word & np.uint64(0x000000FF000000FF)) * np.uint64(0x000F424000000064)
        high = ((word >> np.uint64(16)) & np.uint64(0x000000FF000000FF)) * np.uint64(0x0000271000000001)
        eight = np.int64((low + high) >> np.uint64(32))
        last = np.int64(buffer[start[i] + 8] - 48) * 10 + np.int64(buffer[start[i] + 9] - 48)
        values[i] = eight * 100 + last


@njit(nogil=True)
def look_up(buffer, start, table, codes):
    """A code for the 16 bytes at each place: mix them to a slot, and read what stands there."""
    mask = np.uint64(len(table) - 1)
    for i in range(len(start)):
        word = (load64(buffer, start[i]) ^ (load64(buffer, start[i] + 8) << np.uint64(7))) * MIX
        codes[i] = table[np.int64((word >> np.uint64(40)) & mask)]


@njit(nogil=True)
def count_codes(first, second, size, counts):
    """How often each pair of codes comes."""
    for i in range(len(first)):
        counts[first[i] * size + second[i]] += 1


@njit(nogil=True)
def add(sums, places, counts):
    """Each count to the sum at its place."""
    for i in range(len(counts)):
        sums[places[i]] += counts[i]


class Loopback:
    """A server that sends the bytes of a file to whoever connects, with sendfile, as often as it is asked by a byte."""

    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self.file).st_size
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        threading.Thread(target=self._serve, name="loopback", daemon=True).start()
        self.socket = socket.create_connection(self.listener.getsockname())
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.buffer = bytearray(self.size)

    def _serve(self) -> None:
        peer, _ = self.listener.accept()
        with peer:
            while peer.recv(1):
                sent = 0
                while sent < self.size:
                    sent += os.sendfile(peer.fileno(), self.file, sent, self.size - sent)

    def receive(self) -> None:
        """Ask once, and receive the file into one buffer that is there already."""
        self.socket.sendall(b"?")
        receive_into(self.socket, memoryview(self.buffer))

    def close(self) -> None:
        """End both sides."""
        self.socket.close()
        self.listener.close()
        os.close(self.file)


def receive_into(peer: socket.socket, view: memoryview) -> None:
    """Fill the view from a socket."""
    while view:
        view = view[peer.recv_into(view):]


class PlainRedis:
    """Redis by hand: a value set and got in one round trip each, as bytes that are there already."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def set(self, key: bytes, value: bytes) -> None:
        """SET, and its answer."""
        self.socket.sendall(b"*3\r\n$3\r\nSET\r\n$%d\r\n%b\r\n$%d\r\n" % (len(key), key, len(value)) + value + b"\r\n")
        assert self.socket.recv(64) == b"+OK\r\n"

    def get(self, key: bytes, buffer: bytearray) -> None:
        """GET a value of just the length that the buffer has room for."""
        self.socket.sendall(b"*2\r\n$3\r\nGET\r\n$%d\r\n%b\r\n" % (len(key), key))
        head = len(b"$%d\r\n" % len(buffer))
        answer = bytearray(head + len(buffer) + 2)
        receive_into(self.socket, memoryview(answer))
        buffer[:] = answer[head:-2]

    def close(self) -> None:
        """End the connection."""
        self.socket.close()
