"""What a process gets from the system, as the code that is handed it uses it."""

from __future__ import annotations

import re
import threading
import time

from mars.runtime.system import SYSTEM


def test_the_clock_is_that_of_this_host():
    clock = SYSTEM.clock
    before_ms, began_s, cpu_s = time.time() * 1000, clock.monotonic_s(), clock.thread_cpu_s()
    clock.sleep(0.01)
    assert clock.monotonic_s() - began_s >= 0.01
    assert before_ms - 1 <= clock.wall_ms() <= time.time() * 1000
    assert isinstance(clock.wall_ms(), int)
    assert clock.thread_cpu_s() >= cpu_s


def test_a_thread_is_started_and_does_not_keep_the_process():
    go, condition, done = SYSTEM.event(), SYSTEM.condition(), []

    def work() -> None:
        go.wait(60)
        with condition:
            done.append(threading.current_thread())
            condition.notify_all()

    thread = SYSTEM.start(work, "named")
    assert thread.is_alive()
    go.set()
    with condition:
        assert condition.wait_for(lambda: done, 60)
    thread.join(60)
    assert not thread.is_alive()
    assert (done[0].name, done[0].daemon) == ("named", True)


def test_ids_are_new():
    ids = {SYSTEM.new_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(re.fullmatch("[0-9a-f]{32}", id_) for id_ in ids)


def test_a_lock_lets_one_in():
    lock, inside = SYSTEM.lock(), []
    with lock:
        thread = SYSTEM.start(lambda: lock.__enter__() and inside.append(1), "waits")
        thread.join(0.05)
        assert thread.is_alive()
        assert not inside
    thread.join(60)
    assert inside == [1]
