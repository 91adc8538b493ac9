"""An instance's ZooKeeper, state folder and Redis belong together; what is another's, or newer, is refused untouched."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from api.instance import identity
from api.instance.identity import FILE, Identity, admit, guard, hold, hold_first
from mars.adapters import exchange as exchanges
from mars.adapters.exchange import Exchange
from mars.adapters.storage import Storage
from mars.errors import ConflictError
from mars.model import names

pytestmark = pytest.mark.services


@pytest.fixture
def admitted(stack, context, tmp_path, monkeypatch, fresh_name) -> Callable[..., Identity]:
    """Starts an instance on a ZooKeeper and a state folder by their names."""
    def start(ensemble: str, folder: str) -> Identity:
        for znode in ("INSTANCE", "CATALOG"):
            monkeypatch.setattr(names, znode, f"/{base}/{ensemble}/{znode.lower()}")
        return admit(stack.config, context.zk, Storage(str(tmp_path / folder)))

    base = fresh_name("identity")
    return start


def test_an_instance_keeps_its_id(admitted, tmp_path, context):
    first = admitted("a", "a")
    assert admitted("a", "a") == first
    assert admitted("b", "b") != first
    # Killed between its two first writes.
    context.zk.client.delete(names.INSTANCE)
    assert admitted("b", "b") == Identity.load((tmp_path / "b" / FILE).read_bytes(), "")


def test_what_was_written_before_there_were_ids_is_taken(admitted, tmp_path, context):
    (tmp_path / "a" / "1").mkdir(parents=True)
    with pytest.raises(ConflictError, match="ZooKeeper is not this instance's"):
        admitted("a", "a")
    context.zk.ensure(names.CATALOG)
    assert admitted("a", "a") == admitted("a", "a")


def test_a_wrong_folder_and_a_wrong_zookeeper_are_refused(admitted, tmp_path, context):
    admitted("a", "a"), admitted("b", "b")
    (tmp_path / "a" / "1").mkdir()
    for ensemble, folder in (("a", "b"), ("a", "empty"), ("empty", "a")):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(ConflictError) as refused:
            admitted(ensemble, folder)
        assert str(tmp_path / folder) in refused.value.detail
        assert "zookeeper_address" in refused.value.hint
        assert sorted(tmp_path.rglob("*")) == before
    assert context.zk.get(names.INSTANCE) is None


@pytest.mark.parametrize("place", ["folder", "ZooKeeper"])
def test_a_newer_format_is_refused_and_an_older_one_becomes_ours(admitted, tmp_path, context, monkeypatch, place):
    first = admitted("a", "a")
    known = identity.FORMAT
    monkeypatch.setattr(identity, "FORMAT", known + 1)
    assert admitted("a", "a") == Identity(first.id, known + 1)
    monkeypatch.setattr(identity, "FORMAT", known)
    older = Identity(first.id, known).dump()
    (tmp_path / "a" / FILE).write_bytes(older) if place == "ZooKeeper" else context.zk.client.set(names.INSTANCE, older)
    with pytest.raises(ConflictError, match=rf"(?s)is of a newer Mars.*format {known + 1}.*up to {known}") as refused:
        admitted("a", "a")
    assert (FILE if place == "folder" else "ZooKeeper at ") in refused.value.title
    assert "start the newer Mars again" in refused.value.hint


def test_a_file_that_does_not_read_is_named(admitted, tmp_path):
    admitted("a", "a")
    for damaged in (b"{", b"[]", orjson.dumps({"id": 1})):
        (tmp_path / "a" / FILE).write_bytes(damaged)
        with pytest.raises(ConflictError, match=f"{FILE} does not read"):
            admitted("a", "a")


@pytest.fixture
def redis(stack, monkeypatch, fresh_name) -> Exchange:
    """Nobody's yet."""
    monkeypatch.setattr(exchanges, "INSTANCE_KEY", fresh_name("instance"))
    return Exchange(stack.config.redis_address)


def test_a_redis_has_one_instance(redis, stack):
    one, other = stack.config.model_copy(update={"data": Path("/one")}), stack.config
    hold(redis, one, Identity("1"))
    hold(redis, one, Identity("1"))
    with pytest.raises(ConflictError, match=r"in use by instance 1 .*:/one") as refused:
        hold(redis, other, Identity("2"))
    assert "redis-cli -h 127.0.0.1" in refused.value.hint


def test_who_starts_lets_a_running_instance_mark_a_redis_that_was_emptied(redis, stack):
    running = threading.Timer(identity.GUARD_S, hold, [redis, stack.config, Identity("1")])
    running.start()
    with pytest.raises(ConflictError, match="in use by instance 1"):
        hold_first(redis, stack.config, Identity("2"))
    hold_first(redis, stack.config, Identity("1"))


def test_a_redis_that_came_back_empty_is_held_again_and_one_that_is_anothers_ends_the_server(redis, stack, monkeypatch):
    monkeypatch.setattr(identity, "GUARD_S", 0.02)
    killed, stopping = threading.Event(), threading.Event()
    monkeypatch.setattr(os, "kill", lambda pid, number: number == signal.SIGTERM and killed.set())
    thread = threading.Thread(target=guard, args=(stack.config, Identity("1"), stopping))
    thread.start()
    try:
        for _ in range(2):
            assert _soon(lambda: redis.redis.get(exchanges.INSTANCE_KEY) is not None)
            redis.redis.delete(exchanges.INSTANCE_KEY)
        assert not killed.is_set()
        redis.redis.set(exchanges.INSTANCE_KEY, "2 elsewhere")
        assert killed.wait(5)
    finally:
        stopping.set()
        thread.join()


def _soon(condition: Callable[[], bool]) -> bool:
    waiting = threading.Event()
    return any(condition() or waiting.wait(0.02) for _ in range(250))
