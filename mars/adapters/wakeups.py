"""Wake-ups through Redis's channels: a waiting process hears at once that what it waits for may be there.

A message only says that it is worth looking. Messages may be lost, so a waiting process also has a time limit.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import redis

from mars.model import names

log = logging.getLogger(__name__)
LISTEN_S = 1.0
RETRY_S = 0.2


class Wakeups:
    """Listens, in a thread of its own, to the channels of all streams. `heard` is called there with the kind of a message
    (`names.ENTRIES` or `names.CHECKS`) and its stream's id; the id is None after each new connection, because any message
    may have been missed before it."""

    def __init__(self, address: str, heard: Callable[[str, int | None], None]) -> None:
        host, port = address.rsplit(":", 1)
        self._redis = redis.Redis(host=host, port=int(port), socket_timeout=10, socket_connect_timeout=3)
        self._heard = heard
        self._closing = threading.Event()
        threading.Thread(target=self._run, name="wakeups", daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._listen()
            except redis.RedisError as error:
                log.info("no wake-ups: %r", error)
                self._closing.wait(RETRY_S)

    def _listen(self) -> None:
        with self._redis.pubsub() as channels:
            channels.psubscribe(*(names.channel(kind, "*") for kind in (names.ENTRIES, names.CHECKS)))
            while not self._closing.is_set():
                message = channels.get_message(timeout=LISTEN_S)
                if message is None:
                    continue
                if message["type"] == "psubscribe":
                    for kind in (names.ENTRIES, names.CHECKS):
                        self._heard(kind, None)
                elif message["type"] == "pmessage":
                    self._heard(*names.parse_channel(message["channel"].decode()))
