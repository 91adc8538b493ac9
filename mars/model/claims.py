"""The claim: a range of one partition that a mapper has taken, as the claim script gives it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import orjson


@dataclass(frozen=True)
class Claim:
    """A range [start, end) of one partition with its frozen tasks (query id -> incarnation), held by `epoch` until the
    lease runs out. `file` is the registered local file. `kills` is 'reading' or 'computing' if that has ended each worker
    that had nothing else at work (rule 10), else ''. `grouped`: some of its tasks are done, so it cannot be split."""

    id: int
    partition: int
    start: int
    end: int
    tasks: dict[str, int]
    epoch: int
    given: int
    file: dict | None
    kills: str = ""
    grouped: bool = False

    @staticmethod
    def load(text: bytes | str) -> Claim:
        """The claim from the JSON of mars/lua/claim.lua, where offsets are texts."""
        raw = orjson.loads(text)
        return Claim(raw["id"], int(raw["partition"]), int(raw["start"]), int(raw["end"]),
                     {query: int(incarnation) for query, incarnation in raw["tasks"].items()}, raw["epoch"], raw["given"],
                     raw.get("file"), raw.get("kills", ""), raw.get("grouped", False))

    @property
    def is_suspect(self) -> bool:
        """Was it given before? Its holder may have ended because of it."""
        return self.given > 1
