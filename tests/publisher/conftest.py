"""A real Postgres for all tests of sinks in a process; each test takes tables of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Started once, and stopped at the end."""
    server = Postgres()
    try:
        yield server
    finally:
        server.close()
