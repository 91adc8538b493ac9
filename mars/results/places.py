"""Places of readers in a result: in the rows of closed windows, or among the changes of rows that change. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

ALL = 2**63 - 1
PLACE = re.compile(r"\d{1,19}(,-?\d{1,19},-?\d{1,19})?(;\d{1,19}(,-?\d{1,19},-?\d{1,19})?)*")
Step = tuple[int, int, int]  # a commit, a window, a hash of keys: all changes up to it


@dataclass(frozen=True)
class Place:
    """A place in a result: after `skip` rows of the window [start_us, end_us)."""

    start_us: int
    end_us: int
    skip: int


@dataclass(frozen=True)
class Changes:
    """How far a reader is in each key part."""

    parts: tuple[Step, ...]

    @staticmethod
    def of(commits: Iterable[int]) -> Changes:
        """Behind all changes of these commits, one of each key part."""
        return Changes(tuple((commit, ALL, ALL) for commit in commits))

    @property
    def text(self) -> str:
        """As an event's id has it."""
        return ";".join(",".join(map(str, step[:1] if step[1:] == (ALL, ALL) else step)) for step in self.parts)

    @staticmethod
    def load(text: str) -> Changes:
        """The place of such a text; ValueError for any other."""
        if not PLACE.fullmatch(text):
            raise ValueError(f"{text!r} is no place among changes")
        steps = [[max(-ALL, min(int(number), ALL)) for number in part.split(",")] for part in text.split(";")]
        return Changes(tuple((step[0], ALL, ALL) if len(step) == 1 else (step[0], step[1], step[2]) for step in steps))

    def at(self, number: int, step: Step) -> Changes:
        """The place that is at another step in one key part."""
        return Changes((*self.parts[:number], step, *self.parts[number + 1:]))


def begun(place: Changes | None, key_parts: int) -> Changes:
    """The place of a reader, or that of one that has nothing."""
    return place or Changes(((0, -ALL, -1),) * key_parts)
