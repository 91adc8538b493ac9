"""The simulation needs no service; the comparison of its scripts takes the protocol tests' Redis."""

from tests.protocol.conftest import redis_address  # noqa: F401
