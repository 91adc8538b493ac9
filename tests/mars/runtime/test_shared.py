"""A value that several threads want is made once, and never given out for another key or once it is not good."""

from __future__ import annotations

import threading

import pytest

from mars.runtime.shared import Shared


class Maker:
    """Makes a value once it is let, and counts how often."""

    def __init__(self, fails: bool = False) -> None:
        self.fails, self.made, self.begun, self.may = fails, 0, threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.made += 1
        self.begun.set()
        assert self.may.wait(60)
        if self.fails:
            raise OSError(f"try {self.made}")
        return f"value {self.made}"


def in_threads(shared: Shared[str, str], maker: Maker, count: int) -> list[str]:
    """What so many threads get of one key, the others while the first one is making it."""
    found: list[str] = []

    def get() -> None:
        try:
            found.append(shared.get("key", maker))
        except OSError as error:
            found.append(str(error))

    threads = [threading.Thread(target=get) for _ in range(count)]
    threads[0].start()
    assert maker.begun.wait(60)
    for thread in threads[1:]:
        thread.start()
    maker.may.set()
    for thread in threads:
        thread.join(60)
    return found


@pytest.mark.parametrize("kept_bytes", [0, 100])
def test_threads_that_come_together_get_one_value(kept_bytes):
    shared, maker = Shared(kept_bytes, len), Maker()
    waits, event = [], shared._event

    def waiting() -> threading.Event:
        waits.append(made := event())
        wait = made.wait
        made.wait = lambda timeout: maker.may.set() or wait(timeout)  # the value comes only once somebody waits for it
        return made

    shared._event = waiting
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(shared.get("key", maker))) for _ in range(2)]
    threads[0].start()
    assert maker.begun.wait(60)
    threads[1].start()
    for thread in threads:
        thread.join(60)
    assert (found, maker.made, len(waits)) == (["value 1"] * 2, 1, 1)


def test_what_fails_fails_for_each_by_itself():
    shared, maker = Shared(100, len), Maker(fails=True)
    assert sorted(in_threads(shared, maker, 3)) == ["try 1", "try 2", "try 3"]
    maker.fails = False
    assert shared.get("key", maker) == "value 4"
    assert shared.get("key", maker) == "value 4"


def test_only_so_much_is_kept_and_only_while_it_is_good():
    shared, maker = Shared(10, len), Maker()
    maker.may.set()
    assert [shared.get(key, maker) for key in "aabba"] == ["value 1", "value 1", "value 2", "value 2", "value 3"]
    assert shared.get("a", maker, lambda value: value != "value 3") == "value 4"
    assert shared.get("a", maker, lambda value: True) == "value 4"
