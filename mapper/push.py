"""Turns the cells of a batch's tasks into entries for the key parts' logs (step 6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mapper.batch import TaskResult, alike
from mars.config import Config
from mars.model.claims import Claim
from mars.model.entries import Header, Share, encode
from mars.model.letters import NOT_KEPT

GROUP_BYTES = 512 * 1024
REDIS_SHARE_MAX = 0.25  # of Redis's limit, for the cells of one task: while they are pushed, Redis holds them more than once
ENDS_PROCESS = "reading it ended the worker process"


def without_letters(result: TaskResult) -> TaskResult:
    """The same result; its reasons say that the bad tuples' letters are not kept."""
    return replace(result, bad_reasons={reason + NOT_KEPT: count for reason, count in result.bad_reasons.items()})


def unread(nothing: TaskResult) -> TaskResult:
    """A task's result for an offset that kills each process that reads it: one bad tuple."""
    return replace(nothing, counts={"tuples": 1, "bad": 1, "future": 0, "filtered": 0}, bad_reasons={ENDS_PROCESS: 1})


def too_many_cells(claim: Claim, size: int, config: Config, redis_bytes: int) -> str | None:
    """Why a query stops because its cells of one claim are too large for a Redis with this limit (0: none), and what to
    do; None if they are not too large."""
    most, fits = config.query_cells_bytes_max, int(REDIS_SHARE_MAX * redis_bytes) or size
    if size <= min(most, fits):
        return None
    limit = (f"query_cells_bytes_max is {most:,}" if most <= fits else
             f"Redis, whose limit is {redis_bytes:,} bytes, takes {fits:,} of one query at once (redis_memory_bytes_max)")
    return _stops(claim, f"gave {size:,} bytes of cells, and {limit}; lower run_tuples_max or raise the setting")


def never_taken(claim: Claim, size: int, seconds: float, used: int, limit: int) -> str:
    """Why a query stops because Redis refuses its cells again and again although it has room, and what to do."""
    return _stops(claim, f"gave {size:,} bytes of cells, which Redis has refused for {seconds:.0f} s, though it used only "
                         f"{used:,} of {limit:,} bytes; lower run_tuples_max or raise redis_memory_bytes_max")


def _stops(claim: Claim, why: str) -> str:
    return (f"offsets [{claim.start}, {claim.end}) of partition {claim.partition} {why} and RESUME QUERY, or DROP it and "
            "CREATE it with fewer keys, fewer windows for a tuple, or shorter values")


def groups(results: list[TaskResult]) -> Iterator[list[TaskResult]]:
    """The tasks in groups of about GROUP_BYTES, each task once; tasks with the same cells are in one group. Groups are small
    so that no script call blocks Redis for long. The tasks of a group have one greatest event time, for their header."""
    for greatest in dict.fromkeys(result.max_event_time for result in results):
        yield from _of_size([result for result in results if result.max_event_time == greatest])


def _of_size(results: list[TaskResult]) -> Iterator[list[TaskResult]]:
    group: list[TaskResult] = []
    size = 0
    for same in alike(results):
        length = sum(map(len, same[0].parts))
        if group and size + length > GROUP_BYTES:
            yield group
            group, size = [], 0
        group += same
        size += length
    yield group


def entries(claim: Claim, group: list[TaskResult], key_parts: int, max_event_time: int | None,
            log: tuple[int, int] | None) -> list[tuple[bytes, bytes]]:
    """One encoded entry per key part, even if it is empty."""
    header = Header(claim.partition, claim.start, claim.end, {r.query: claim.tasks[r.query] for r in group}, max_event_time,
                    log)
    made: list[dict[str, Share]] = [{} for _ in range(key_parts)]
    for one, *others in alike(group):
        queries = [one.query, *(r.query for r in others)]
        made[0] |= dict.fromkeys(queries, Share(one.parts[0], one.counts, one.bad_reasons))
        for part in range(1, key_parts):
            made[part] |= dict.fromkeys(queries, Share(one.parts[part]))
    return [encode(header, shares) for shares in made]
