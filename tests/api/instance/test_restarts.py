"""What keeps a part up: starts are repeated with growing pauses, and nothing that a part does reaches the others."""

from concurrent.futures import Future
from itertools import pairwise

import pytest

from api.instance.restarts import PAUSE_MAX_S, Watched, in_background, pause_s
from mars.errors import NotReadyError


class Part:
    """A part whose ends and starts the test decides."""

    def __init__(self) -> None:
        self.fault: Exception | None = None
        self.starts: list[Future] = []
        self.adopted: list[object] = []
        self.cleaned = 0
        self.watched = Watched("server", lambda: self.fault, self.begin, self.adopted.append, self.clean)

    def begin(self) -> Future:
        self.starts.append(Future())
        return self.starts[-1]

    def clean(self) -> None:
        self.cleaned += 1

    def comes_up(self, now: float) -> None:
        self.fault = None
        self.starts[-1].set_result("up")
        self.watched.step(now)


def test_a_part_that_runs_is_left_alone():
    part = Part()
    part.watched.step(0)
    assert (part.starts, part.watched.trouble) == ([], "")


def test_an_end_is_answered_by_a_start_at_once_which_nobody_waits_for():
    part = Part()
    part.fault = NotReadyError("The server process ended", "its log")
    part.watched.step(100)
    part.watched.step(101)
    assert len(part.starts) == 1
    assert part.watched.trouble == "server: The server process ended; start 1 is under way"
    part.comes_up(130)
    assert (part.adopted, part.watched.trouble) == (["up"], "")


def test_starts_that_fail_are_repeated_for_ever_with_growing_pauses():
    part, now, began = Part(), 0.0, []
    part.fault = NotReadyError("it ended")
    while len(began) < 12:
        part.watched.step(now)
        if len(part.starts) > len(began):
            began.append(now)
            part.starts[-1].set_exception(NotReadyError("ZooKeeper does not answer"))
        now += 0.5
    pauses = [later - sooner for sooner, later in pairwise(began)]
    assert pauses == [pytest.approx(pause, abs=0.6) for pause in (1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60)]
    assert part.cleaned == 11
    assert "ZooKeeper does not answer" in part.watched.trouble


def test_a_part_that_lived_long_is_started_at_once_and_one_that_did_not_after_a_pause():
    part = Part()
    part.fault = NotReadyError("it ended")
    part.watched.step(0)
    part.comes_up(10)
    part.fault = NotReadyError("it ended")
    part.watched.step(20)
    assert (len(part.starts), part.watched.trouble) == (1, "server: it ended; start 2 is due in 1 s")
    part.watched.step(21)
    part.comes_up(22)
    part.fault = NotReadyError("it ended")
    part.watched.step(100)
    assert len(part.starts) == 3


@pytest.mark.parametrize("broken", ["_fault", "_begin", "_adopt", "_clean"])
def test_no_exception_of_a_part_reaches_the_others(broken):
    def fail(*_):
        raise OSError("no space left on device")

    part = Part()
    part.fault = NotReadyError("it ended")
    setattr(part.watched, f"_{broken.strip('_')}", fail)
    part.watched.step(0)
    for start in part.starts:
        start.set_result("up") if broken == "_adopt" else start.set_exception(OSError("no space left on device"))
    part.watched.step(1)
    assert "no space left on device" in part.watched.trouble


@pytest.mark.parametrize(("error", "told"), [
    (OSError(28, "No space left on device", "/data/kafka"), "No space left on device: /data/kafka"),
    (OSError(28, "No space left on device"), "No space left on device"), (ValueError("seven"), "ValueError('seven')")])
def test_a_failed_start_is_told_in_words(error, told):
    part = Part()
    part.fault = error
    part.watched.step(0)
    part.starts[-1].set_exception(error)
    part.watched.step(1)
    assert part.watched.trouble == f"server: {told}; start 2 is due in 1 s"


def test_the_pause_has_a_bound_however_long_it_goes_on():
    assert pause_s(1_000_000) == PAUSE_MAX_S


def test_what_runs_in_the_background_brings_its_result_or_its_error():
    assert in_background(lambda: 7).result(10) == 7
    assert isinstance(in_background(lambda: 1 // 0).exception(10), ZeroDivisionError)
