"""A real Postgres and a store that speaks S3, for all tests of sinks in a process; each test takes tables and folders of its
own."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from moto.server import ThreadedMotoServer

from tests.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Started once, and stopped at the end."""
    server = Postgres()
    try:
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of a store that speaks S3, with a bucket that is called bucket."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        address = "http://{}:{}".format(*server.get_host_and_port())
        httpx.put(f"{address}/bucket").raise_for_status()
        yield address
    finally:
        server.stop()
