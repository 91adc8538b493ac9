"""What reducers are handed by tests: connections that are mocks unless a test has others, and a clock that is set."""

from __future__ import annotations

from dataclasses import fields, replace
from unittest.mock import Mock

from mars.config import Config
from mars.runtime.system import SYSTEM, Runtime
from reducer.connections import Connections
from reducer.job import Reducer
from tests.clock import ManualClock


def connections(**given: object) -> Connections:
    """Those that are given, and mocks of all others."""
    mocks = {field.name: Mock() for field in fields(Connections)} | {"zookeeper": Mock(clock=ManualClock())}
    return Connections(**mocks | given)


def runtime(clock: ManualClock | None = None) -> Runtime:
    """That of the system, but for its clock."""
    return replace(SYSTEM, clock=clock or ManualClock())


def reducer(**given: object) -> Reducer:
    """One that has not begun, with these connections."""
    return Reducer(Config(), 0, connections(**given), runtime())
