"""A Redis of our own for the protocol's tests: they empty it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from api.instance.services import redis
from mars.config import Config


@pytest.fixture(scope="session")
def redis_address(tmp_path_factory) -> Iterator[str]:
    """The address of a running Redis that nobody else uses."""
    folder = tmp_path_factory.mktemp("redis")
    service = redis.start(Config(data=folder), folder)
    yield service.address
    service.stop()
