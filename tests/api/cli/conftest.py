"""What tests of Ctrl-C need."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """SIGINT is KeyboardInterrupt, here and in processes that are started now. A shell starts what runs in the background
    with SIGINT ignored, and processes hand that on."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)
