"""Secrets in ZooKeeper: encrypted, tied to their names, and of no use without the key's file."""

from __future__ import annotations

import os

import pytest

from mars.adapters.secrets import SecretStore
from mars.errors import ConfigurationError, NotFoundError, RequestError
from mars.model import names

pytestmark = pytest.mark.services
VALUE = "pä'ss w0rd\\"


@pytest.fixture
def config(context, tmp_path):
    return context.config.model_copy(update={"data": tmp_path})


@pytest.fixture
def store(context, config) -> SecretStore:
    made = SecretStore(context.zk, config)
    for name in made.list():
        made.drop(name)
    return made


def test_a_secret_comes_back_and_can_be_replaced_and_dropped(store) -> None:
    store.set("one", VALUE.encode())
    store.set("two", b"2")
    assert (store.get("one"), store.list()) == (VALUE, ["one", "two"])
    store.set("one", b"other")
    assert store.get("one") == "other"
    store.drop("one")
    for call in (store.get, store.drop):
        with pytest.raises(NotFoundError, match="one"):
            call("one")


def test_zookeeper_never_has_it_in_plain_and_each_time_otherwise(store) -> None:
    seen = set()
    for _ in range(2):
        store.set("one", VALUE.encode())
        data = store.zk.get(f"{names.SECRETS}/one").data
        assert VALUE.encode() not in data
        seen.add(data)
    assert len(seen) == 2


def test_the_key_is_a_file_for_this_user_alone(store, config) -> None:
    store.set("one", b"1")
    assert os.stat(config.data / "secret.key").st_mode & 0o777 == 0o600
    assert [path.name for path in config.data.iterdir()] == ["secret.key"]
    (config.data / "secret.key").chmod(0o640)
    with pytest.raises(ConfigurationError, match="640"):
        store.get("one")


def test_without_the_key_or_with_another_one_nothing_opens(store, config, context, tmp_path) -> None:
    store.set("one", b"1")
    (config.data / "secret.key").rename(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        store.get("one")
    other = SecretStore(context.zk, config.model_copy(update={"secret_key_file": str(tmp_path / "elsewhere")}))
    assert other.get("one") == "1"
    store.set("two", b"2")
    with pytest.raises(ConfigurationError, match="another key"):
        store.get("one")


def test_one_secret_is_not_taken_for_another(store) -> None:
    store.set("one", b"1")
    store.set("two", b"2")
    store.zk.client.set(f"{names.SECRETS}/two", store.zk.get(f"{names.SECRETS}/one").data)
    with pytest.raises(ConfigurationError):
        store.get("two")


@pytest.mark.parametrize(("name", "value"), [("", b"x"), ("a/b", b"x"), ("1a", b"x"), ("a", b""), ("a", b"x" * 70_000)])
def test_names_and_values_that_cannot_be(store, name: str, value: bytes) -> None:
    with pytest.raises(RequestError) as refused:
        store.set(name, value)
    assert b"xxx" not in str(refused.value).encode()
