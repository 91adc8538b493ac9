"""Planted bugs of windows that the clock closes (EMIT FINAL TIMEOUT). Each shows only in runs that have such."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

from reducer.state import timed
from reducer.state.timed import TimedState
from tests.simulate import cells
from tests.simulate.planted import bug
from tests.simulate.world import World


@bug
def the_clock_closes_windows_at_a_lag(world: World) -> Iterator[None]:
    """What is written and not read yet is late."""
    real = timed.clock_watermark

    def early(plan: object, stream: object, partitions: object, commit: object, start: object, facts: object) -> int | None:
        highs = {p: high for p, (high, _) in facts.idle.items()} if facts else {}
        return real(plan, stream, partitions, replace(commit, positions=highs), start, facts)

    with patch.object(timed, "clock_watermark", early):
        yield


@bug
def the_clock_asks_one_partition_alone(world: World) -> Iterator[None]:
    """Whatever comes in the others."""
    real = timed.clock_watermark

    def alone(plan: object, stream: object, partitions: object, commit: object, start: object, facts: object) -> int | None:
        found = [real(plan, stream, (p,), commit, {}, facts) for p in {*partitions, *start}]
        return max((mark for mark in found if mark is not None), default=None)

    with patch.object(timed, "clock_watermark", alone):
        yield


@bug
def the_clock_closes_what_a_key_part_holds(world: World) -> Iterator[None]:
    """Each key part up to another watermark."""
    real, check = timed.clock_watermark, TimedState.pass_check

    def pass_check(state: TimedState, *given: object) -> int | None:
        held = [cell >> cells.ID_BITS for table in (*state.open, *state.delta) for cell in table]

        def of_own(plan: object, stream: object, partitions: object, commit: object, *rest: object) -> int | None:
            own = {0: max(held)} if held else {}
            return real(plan, stream, partitions, replace(commit, max_event_time=own), *rest)

        with patch.object(timed, "clock_watermark", of_own):
            return check(state, *given)

    with patch.object(TimedState, "pass_check", pass_check):
        yield


@bug
def rows_do_not_say_that_the_clock_closed_them(world: World) -> Iterator[None]:
    with patch.object(TimedState, "_stamped", lambda state, table, marks: table):
        yield
