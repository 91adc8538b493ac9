"""How many workers are wanted, and what a worker registers of itself. Pure.

The settings say how many there are at first. Whoever asks for another number while Mars runs is remembered together with
the setting of that time: a restart keeps the number, and another setting replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson

Counts = dict[str, int]  # by the plural of a kind: mappers, reducers
RETIRES = "retires"  # in a worker's registration: it was asked to end, and will not be started again


def wanted(asked: bytes | None, settings: Mapping[str, int], most: Mapping[str, int]) -> Counts:
    """What is wanted: each number that was asked for under the present setting, else the setting; and never more than
    `most`, which may have been lowered since."""
    found = orjson.loads(asked) if asked else {}
    known = {kind: found.get(kind, {}) for kind in settings}
    return {kind: min(known[kind].get("wanted", setting) if known[kind].get("setting") == setting else setting, most[kind])
            for kind, setting in settings.items()}


def asking(counts: Mapping[str, int], settings: Mapping[str, int]) -> bytes:
    """What is kept of these numbers, for `wanted`."""
    return orjson.dumps({kind: {"wanted": count, "setting": settings[kind]} for kind, count in counts.items()})


def surplus(count: int, registered: Mapping[str, bytes]) -> list[str]:
    """Of the workers of a kind, by their znodes, those that are to be asked to end: their slots are not wanted, and nobody
    has asked them yet."""
    known = {path: orjson.loads(data) for path, data in registered.items() if data}
    return [path for path, worker in known.items() if worker["slot"] >= count and not worker.get(RETIRES)]


def retired(registration: bytes) -> bytes:
    """The same registration, of a worker that was asked to end."""
    return orjson.dumps(orjson.loads(registration) | {RETIRES: True})


def is_retired(registration: bytes | None) -> bool:
    """Was the worker asked to end?"""
    return bool(registration) and orjson.loads(registration or b"{}").get(RETIRES, False)
