"""Who cannot reach what reducing needs ends, and is not there again before it can."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from mars.adapters.storage import StateAwayError
from mars.errors import NotReadyError
from reducer.fitness import LOOK_S, UNFIT_S, Fitness
from tests.clock import ManualClock
from tests.reducer import handed

AWAY = {"redis": ("exchange.memory_share", NotReadyError("Redis does not answer")),
        "folder": ("storage.require", StateAwayError("the state folder does not answer"))}


@pytest.fixture
def host() -> SimpleNamespace:
    """A host, its clock, and what it reaches."""
    made = SimpleNamespace(clock=ManualClock(), exchange=Mock(), storage=Mock())
    made.fitness = Fitness(made.exchange, made.storage, made.clock)
    return made


def pass_time(host: SimpleNamespace, seconds: float) -> None:
    for _ in range(int(seconds / LOOK_S)):
        host.clock.now_s += 1.01 * LOOK_S
        host.fitness.check()


@pytest.mark.parametrize("what", AWAY)
def test_a_host_that_stays_without_it_gives_up_what_it_has(host, what):
    name, error = AWAY[what]
    pass_time(host, 60)
    service, method = name.split(".")
    getattr(getattr(host, service), method).side_effect = error
    pass_time(host, UNFIT_S - 2)
    with pytest.raises(type(error)):
        pass_time(host, 3)


@pytest.mark.parametrize("what", AWAY)
def test_what_comes_back_in_time_ends_nobody(host, what):
    name, error = AWAY[what]
    service, method = name.split(".")
    call = getattr(getattr(host, service), method)
    for _ in range(5):
        call.side_effect = error
        pass_time(host, UNFIT_S - 2)
        call.side_effect = None
        pass_time(host, 2)


def test_it_is_asked_once_a_second_however_often_the_reducer_steps(host):
    for _ in range(1000):
        host.clock.now_s += LOOK_S / 100
        host.fitness.check()
    assert 9 <= host.storage.require.call_count <= 10


@pytest.mark.parametrize("what", AWAY)
def test_a_reducer_without_it_is_not_given_key_parts(what):
    """Else it would be chosen again and again, and each time keep them until it ends."""
    name, error = AWAY[what]
    service, method = name.split(".")
    made = handed.reducer()
    getattr(getattr(made.connections, service), method).side_effect = error
    with pytest.raises(type(error)):
        made.run()
    made.zookeeper.client.create.assert_not_called()
    made.close()
