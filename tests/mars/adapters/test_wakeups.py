"""Wake-ups on a real Redis: a push and an ended check are heard at once, and a new connection wakes everybody."""

from __future__ import annotations

import queue

import pytest

from mars.adapters.exchange import Exchange
from mars.adapters.wakeups import Wakeups
from mars.model import names
from mars.model.names import ENTRIES

pytestmark = pytest.mark.services
EVERYBODY = {(ENTRIES, None), (names.CHECKS, None)}  # what a new connection tells
LONG_S = 60
EMPTY = {"key_parts": 1, "lanes": {"0": {"q1": "1:0"}}, "stops": {"0": []}, "positions": []}


@pytest.fixture
def stream_id(fresh_name) -> int:
    """A number that no other test uses."""
    return int(fresh_name("s").split("_")[1], 16)


@pytest.fixture
def exchange(stack, stream_id) -> Exchange:
    """Generation 1 of the stream is installed, with one query."""
    made = Exchange(stack.config.redis_address)
    made.lead(stream_id, generation=1, epoch=1).install(made.standing(stream_id, ()).server, EMPTY)
    yield made
    made.forget(stream_id)


@pytest.fixture
def heard(stack, stream_id):
    """What is heard of the stream, once the connection stands."""
    told: queue.Queue = queue.Queue()
    wakeups = Wakeups(stack.config.redis_address, lambda kind, of: told.put((kind, of)) if of in (None, stream_id) else None)
    for _channels in EVERYBODY:  # the connection stands once Redis has confirmed both
        assert {told.get(timeout=LONG_S), told.get(timeout=LONG_S)} == EVERYBODY
    yield told
    wakeups.close()


def _more(told: queue.Queue) -> bool:
    try:
        told.get(timeout=0.3)
        return True
    except queue.Empty:
        return False


def test_a_push_wakes_those_who_wait_for_entries(exchange, heard, stream_id):
    claim = exchange.claim(stream_id, 1, "w", 1, lease_ms=10_000, most=10, bound=100, key_parts=1, ends={0: 10}, stay=None,
                           allow_new=True)
    assert not _more(heard)
    exchange.push(stream_id, 1, claim, claim.tasks, None, [(b"{}", b"")])
    assert heard.get(timeout=LONG_S) == (ENTRIES, stream_id)


def test_the_end_of_a_check_wakes_and_its_beginning_does_not(exchange, heard, stream_id):
    leader = exchange.lead(stream_id, generation=1, epoch=1)
    leader.publish_facts({"begun": 1})
    assert not _more(heard)
    leader.publish_facts({"done": 1})
    assert heard.get(timeout=LONG_S) == (ENTRIES, stream_id)


def test_a_wish_for_a_check_is_heard(exchange, heard, stream_id):
    exchange.ask_for_check(stream_id)
    assert heard.get(timeout=LONG_S) == (names.CHECKS, stream_id)


def test_a_new_connection_wakes_for_all_streams(exchange, heard):
    exchange.redis.client_kill_filter(_type="pubsub")
    assert {heard.get(timeout=LONG_S), heard.get(timeout=LONG_S)} == EVERYBODY
