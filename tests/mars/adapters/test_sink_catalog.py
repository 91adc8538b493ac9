"""Sinks and connections in ZooKeeper: names, states, who uses what, and what older versions wrote."""

from __future__ import annotations

import json

import pytest

from mars.adapters.sink_catalog import SinkStore
from mars.errors import ConflictError, NotFoundError
from mars.model import names
from mars.model.connections import Connection
from mars.model.sinks import Into, Mark, Sink, SinkSet, SinkStatus

pytestmark = pytest.mark.services
PG = Into("POSTGRES", "public.t", "wh")


@pytest.fixture
def store(context) -> SinkStore:
    made = SinkStore(context.zk)
    for sink in made.read().sinks.values():
        made.drop(sink.name)
    for connection in made.read().connections.values():
        made.drop_connection(connection.name)
    return made


def test_a_sink_is_found_in_any_case_and_its_id_is_never_used_again(store) -> None:
    one = store.create(Sink("", "One", "q", "q1", PG))
    assert store.sink("oNE") == one
    assert store.zk.get(names.sink_owner(one.id)).version == 0
    with pytest.raises(ConflictError, match="One is a sink already"):
        store.create(Sink("", "one", "q", "q1", PG))
    store.drop("ONE")
    assert store.zk.get(names.sink_status(one.id)) is None
    assert store.create(one).id != one.id
    with pytest.raises(NotFoundError, match="there is no sink on") as raised:
        store.sink("on")
    assert "did you mean One?" in raised.value.hint


def test_each_change_of_state_is_another_attempt_and_resume_accepts_what_was_lost(store) -> None:
    one = store.create(Sink("", "one", "q", "q1", PG))
    with pytest.raises(ConflictError, match="runs already"):
        store.resume("one")
    store.stop(one, "SINK_PROGRESS_LOST", "gone")
    stopped = store.sink("one")
    assert (stopped.state, stopped.reason, stopped.attempt) == ("SINK_PROGRESS_LOST", "gone", 2)
    store.stop(one, "FAILED", "late word of an earlier attempt")
    assert store.sink("one") == stopped
    with pytest.raises(ConflictError, match="only a RUNNING sink"):
        store.pause("one")
    resumed = store.resume("one")
    assert (resumed.state, resumed.accepts, resumed.attempt) == ("RUNNING", "SINK_PROGRESS_LOST", 3)
    assert store.accepted(resumed).accepts == ""
    assert store.sink("one").attempt == 3


def test_a_connection_that_is_used_stays(store) -> None:
    store.create_connection(Connection("WH", "POSTGRES", {"HOST": "h"}, {"PASSWORD": "pw"}))
    assert store.connection("wh").shown() == "HOST 'h', PASSWORD SECRET pw"
    with pytest.raises(ConflictError):
        store.create_connection(Connection("wh", "KAFKA"))
    store.create(Sink("", "one", "q", "q1", PG))
    with pytest.raises(ConflictError, match="sinks of WH: one"):
        store.drop_connection("wh")
    store.drop("one")
    store.drop_connection("wh")
    with pytest.raises(NotFoundError):
        store.connection("wh")


def test_what_is_written_reads_back() -> None:
    into = Into("KAFKA", "t", None, ("a b", "c"))
    sink = Sink("s1", "one", "q", "q1", into, "n > 1", {"value": True}, 1, 2, 3, "PAUSED", "why", 4, "FAILED", 5, True,
                (6, 7), 8, "CREATE SINK")
    found = SinkSet(7, {"s1": sink}, {"wh": Connection("wh", "KAFKA", {"ADDRESS": "a:1"}, {"PASSWORD": "p"}, 9)})
    assert SinkSet.load(found.dump()) == found
    assert sink.into.shown() == "KAFKA TOPIC 't' KEY (`a b`, c) FORMAT JSON"
    status = SinkStatus("WAITING", 3, Mark(4, (1, 2, 3), 5, 6), 7, "oh", 8, 9, "0-a")
    assert SinkStatus.load(status.dump()) == status
    assert Mark.load(status.mark.dump()) == status.mark
    for text in ("", "{}", '{"epoch": 1}', "[1]"):
        with pytest.raises(ValueError, match=r".*"):
            Mark.load(text)


def test_fields_that_came_later_have_defaults() -> None:
    """The least that a version wrote: its znodes read in every later one."""
    least = {"id": "s1", "name": "one", "query": "q", "query_id": "q1",
             "into": {"kind": "POSTGRES", "name": "t", "connection": "wh", "key": None}}
    found = SinkSet.load(json.dumps({"sinks": {"s1": least}}).encode())
    assert found.sinks["s1"] == Sink("s1", "one", "q", "q1", Into("POSTGRES", "t", "wh"))
    assert SinkSet.load(b"") == SinkSet()
    assert SinkStatus.load(b"") == SinkStatus()
