"""Keeps the dead letters of all streams in bounds: a thread of every reducer, at work in the one that leads.

It is apart from the leader's rounds, since windows wait for those and nothing waits for this.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from mars.adapters.letters import LetterStore
from mars.runtime.system import SYSTEM, Event, Runtime

log = logging.getLogger("mars.leader")
ROUND_S = 2.0
TIDY_ROUNDS = 5  # a tidying for so many rounds


def keep_letters(store: LetterStore, bytes_max: int, stopping: Event, streams: Callable[[], Iterable[int]],
                 runtime: Runtime = SYSTEM) -> None:
    """Start the thread. `streams` gives the ids of the streams to look after, none while another leads."""

    def run() -> None:
        number = 0
        while not stopping.wait(ROUND_S):
            number += 1
            for stream_id in streams():
                look_after(store, stream_id, bytes_max, tidies=number % TIDY_ROUNDS == 0)

    runtime.start(run, "letters")


def look_after(store: LetterStore, stream_id: int, bytes_max: int, tidies: bool) -> None:
    """One stream's turn. What goes wrong is told and tried again: letters must never end a reducer, nor this thread, which
    keeps those of all streams."""
    try:
        gone = store.retain(stream_id, bytes_max)
        if gone:
            log.warning("stream id %s: the oldest %d dead letters are deleted, to keep %d bytes", stream_id, gone, bytes_max)
        if tidies:
            store.tidy(stream_id, bytes_max)
    except Exception as error:  # a damaged file may raise whatever Arrow, or a decoder, finds wrong with it
        log.warning("dead letters of stream id %s: %r", stream_id, error)
