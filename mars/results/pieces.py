"""Pieces of a result: rows that are not read yet, and how they come in result order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

STRATUM_ROWS = 20_000


@dataclass(frozen=True)
class Piece:
    """Some of `rows` result rows, which `load` brings: no window_start in them is less than `first_us` or greater than
    `last_us`, and no window_end less than `first_end_us` or greater than `last_end_us`."""

    first_us: int
    last_us: int
    first_end_us: int
    last_end_us: int
    rows: int
    load: Callable[[], pa.Table]

    @staticmethod
    def of(table: pa.Table) -> Piece:
        """These rows; there must be one."""
        starts, ends = (pc.min_max(table[name].cast(pa.int64())).as_py() for name in ("window_start", "window_end"))
        return Piece(starts["min"], starts["max"], ends["min"], ends["max"], len(table), lambda: table)


def instant(us: int) -> pa.Scalar:
    """A number of microseconds for Arrow's functions, which look for date libraries each time they get a plain int."""
    return pa.scalar(us, pa.int64())


def strata(pieces: Iterable[Piece], descending: bool = False, by_end: bool = False) -> Iterator[pa.Table]:
    """Tables that together hold all rows of the pieces. Every window in one table, by start and end (`by_end`: by end and
    start), comes before (descending: after) all of the next one, so that sorting each table sorts the whole. One is made
    from about STRATUM_ROWS rows, however few of them are chosen, so a reader that needs few rows reads few."""

    def begins(piece: Piece) -> tuple[int, int]:
        """No row comes before it, or after it if descending."""
        start, end = (piece.last_us, piece.last_end_us) if descending else (piece.first_us, piece.first_end_us)
        return (end, start) if by_end else (start, end)

    ordered = sorted(pieces, key=begins, reverse=descending)
    held: list[pa.Table] = []
    looked = 0
    followers: list[Piece | None] = [*ordered[1:], None]
    for piece, following in zip(ordered, followers, strict=False):
        held.append(piece.load())
        looked += piece.rows
        if following is None:
            yield pa.concat_tables(held)
        elif looked >= STRATUM_ROWS:
            table = pa.concat_tables(held)
            names = ("window_end", "window_start") if by_end else ("window_start", "window_end")
            settled = _beyond(pc.greater if descending else pc.less, table, names, begins(following))
            yield table.filter(settled)
            held = [table.filter(pc.invert(settled))]
            looked = len(held[0])


def _beyond(compare: Callable[..., pa.ChunkedArray], table: pa.Table, names: tuple[str, str], place: tuple[int, int]
            ) -> pa.ChunkedArray:
    """Which rows are of a window that compares so with a place: by the first of the two columns, then by the second."""
    (one, two), (at, next_) = (table[name].cast(pa.int64()) for name in names), map(instant, place)
    return pc.or_(compare(one, at), pc.and_(pc.equal(one, at), compare(two, next_)))
