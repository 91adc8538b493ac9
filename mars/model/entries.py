"""The entry: what a mapper tells one key part about a range, through its log in Redis. One encoder, one decoder. Pure.

In the log an entry is two byte strings: a header in JSON, and the cells of its shares, one after the other. Tasks that
compute the same have one share together. The header moves positions and watermarks, so every key part gets an entry for
every range, even one without cells. mars/lua/weigh.lua reads `tasks` and `shares`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson

from mars.errors import InvariantError

VERSION = 3  # of the header in the log. The first version had no version number in it.


@dataclass(frozen=True, slots=True)
class Header:
    """What holds for all tasks of an entry: offsets [start, end) of a partition were read for `tasks` (query id ->
    incarnation); the greatest event time in them, in the stream's unit, None if there is none; and (leader epoch, offset up
    to which the log was of it), None if the broker did not tell."""

    partition: int
    start: int
    end: int
    tasks: dict[str, int]
    max_event_time: int | None
    log: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Share:
    """A task's part of an entry, or that of several which compute the same: its cells (mars/algebra/cells_wire.py; b'' for
    none), and what it counted, by counter and by reason. `counts` and `bad_reasons` are filled in key part 0 alone, so that
    a tuple counts once per query. They are not to be changed."""

    cells: bytes = b""
    counts: dict[str, int] = field(default_factory=dict)
    bad_reasons: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a key part's log. `seq` is its place; `shares` has one for each task of the header; it is one object for
    the tasks that have it together."""

    seq: int
    header: Header
    shares: dict[str, Share]

    @property
    def cells_bytes(self) -> int:
        """The size of all its cells."""
        return sum(len(share.cells) for share in {id(share): share for share in self.shares.values()}.values())


def encode(header: Header, shares: dict[str, Share]) -> tuple[bytes, bytes]:
    """(header, cells) as they lie in the log, for `decode`. Tasks with the same object as their share have it together."""
    distinct = {id(shares[query]): shares[query] for query in header.tasks}
    number = {key: n for n, key in enumerate(distinct)}
    told = {"v": VERSION, "partition": header.partition, "start": header.start, "end": header.end,
            "max_event_time": header.max_event_time, "log": header.log,
            "tasks": [[query, incarnation, number[id(shares[query])]] for query, incarnation in header.tasks.items()],
            "shares": [[len(share.cells), share.counts, share.bad_reasons] for share in distinct.values()]}
    return orjson.dumps(told), b"".join(share.cells for share in distinct.values())


def decode(seq: int, header: bytes, cells: bytes) -> Entry:
    """The entry that `encode` was given. InvariantError for one of another version, as an upgrade may leave in the log: the
    recovery that follows throws it away, and what it held is read again."""
    told = orjson.loads(header)
    if told.get("v") != VERSION:
        raise InvariantError("an entry of another version", f"version {told.get('v', 1)}, where this Mars reads {VERSION}")
    distinct, at = [], 0
    for length, counts, bad_reasons in told["shares"]:
        distinct.append(Share(cells[at:at + length], counts, bad_reasons))
        at += length
    tasks = {query: incarnation for query, incarnation, _ in told["tasks"]}
    shares = {query: distinct[number] for query, _, number in told["tasks"]}
    return Entry(seq, Header(told["partition"], told["start"], told["end"], tasks, told["max_event_time"],
                             told["log"] and tuple(told["log"])), shares)
