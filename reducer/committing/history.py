"""Which commits a key part can fall back to if a file of the last one is damaged (rule 25). Pure.

Three are kept: the one before the last; one that is some commits old; and an older one whose state shares no file with
the last commit. A query's state may stand still, because nothing comes or because it is paused. It is then written anew
now and then, unless it is large, so that such an older commit exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mars.model.commits import Earlier, Manifest, Pointer, Segment

SPACING, SPACING_MAX = 8, 256  # commits
REWRITTEN_BYTES_MAX, TOGETHER_BYTES_MAX = 16 << 20, 64 << 20  # of one query, and of all queries with one commit


@dataclass(frozen=True)
class Point:
    """An earlier commit with its manifest; for the one before the first, an empty manifest."""

    earlier: Earlier
    manifest: Manifest


@dataclass(frozen=True)
class History:
    """The points that a pointer names."""

    previous: Point | None = None
    younger: Point | None = None
    older: Point | None = None

    @staticmethod
    def of(points: list[Point]) -> History:
        """The history of those of a pointer's points that can be read, the last one first."""
        middle = points[1] if len(points) > 2 else None
        return History(points[0] if points else None, middle, points[-1] if points else None)

    def follow(self, last: Point, new: Manifest, queries: Iterable[str]) -> History:
        """The history of the commit `new`, which comes after `last`; `queries` are those that can still continue."""
        younger, older = self.younger or last, self.older
        age = new.commit - younger.earlier.commit
        if age % SPACING == 0 and (age >= SPACING_MAX or not _share_files(younger.manifest, new, queries)):
            younger, older = last, younger
        return History(last, younger, older)

    def standing_still(self, last: Manifest, queries: Iterable[str]) -> list[str]:
        """Queries to be written anew with the commit after `last`, because they keep the younger point from becoming the
        older one."""
        if self.younger is None or last.commit + 1 - self.younger.earlier.commit != SPACING_MAX - SPACING:
            return []
        still, room = [], TOGETHER_BYTES_MAX
        for id_ in queries:
            if _share_files(self.younger.manifest, last, [id_]):
                size = sum(segment.length for segment in last.queries[id_].state)
                if size <= min(REWRITTEN_BYTES_MAX, room):
                    still.append(id_)
                    room -= size
        return still

    def points(self) -> list[Point]:
        """All points, the last one first, each once."""
        different = {point.earlier.commit: point for point in (self.older, self.younger, self.previous) if point}
        return [different[commit] for commit in sorted(different, reverse=True)]


def pointer_to(segment: Segment, manifest: Manifest, history: History) -> Pointer:
    """The pointer of a commit whose manifest is in `segment`."""
    published = {id_: query.watermark if query.published is None else query.published
                 for id_, query in manifest.queries.items()}
    return Pointer(segment, manifest.commit, tuple(point.earlier for point in history.points()), published)


def _share_files(one: Manifest, other: Manifest, queries: Iterable[str]) -> bool:
    return any({s.path for s in one.queries[id_].state} & {s.path for s in other.queries[id_].state}
               for id_ in queries if id_ in one.queries and id_ in other.queries)
