"""The paper's tuples: CSV lines of 20 fields and 150 bytes, or the same as JSON of 320 bytes, made by the million,
and counted while they are made.

A line is a ten-digit event time in seconds and one of a pool of ready tails (type, sip, dip, port, location
and 14 fields more), so that making a line is one copy. As in the paper each field is drawn uniformly from a known
set, and the pool has every (sip, type) equally often: all groups have as many tuples, but for chance. With skewed
keys a few of the groups have most of the tuples.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

SCHEMA = ("timestamp BIGINT, type STRING, sip STRING, dip STRING, port INT, location STRING, bytes BIGINT, packets INT, "
          "duration INT, protocol STRING, flags INT, ttl INT, app STRING, direction INT, status INT, user STRING, "
          "session INT, region STRING, device STRING, payload STRING")
QUERY = "SELECT sip, type, timestamp, count(*) FROM {stream} GROUP BY sip, type, timestamp WINDOWING 60 s"
WINDOW_S = 60
LINE_BYTES = 150
TIME_DIGITS = 10
TYPES = ("dns", "http", "tls", "ssh", "smtp", "icmp", "ftp", "ntp")
LOCATIONS = ("beijing", "shanghai", "berlin", "paris", "newyork")
SIPS = 1_000
POOL = 100_000
LATE_SHARE, LATE_MAX_S = 0.03, 4
UNIFORM, SKEWED = "uniform", "skewed"
KEYS = (UNIFORM, SKEWED)
UNITS = {"s": "", "ms": "000"}  # of the event time: what follows its ten digits


class Pool:
    """Ready tails. `tails` is one row of bytes each; `group` the number of the tail's (sip, type).

    There are `size` tails; with uniform keys as many fewer as all groups need to have the same number of them."""

    format = "CSV"
    head = b""  # what stands before the event time
    line_bytes = LINE_BYTES

    def __init__(self, seed: int, size: int = POOL, sips: int = SIPS, line_bytes: int | None = None,
                 keys: str = UNIFORM, unit: str = "s") -> None:
        self.line_bytes = line_bytes or self.line_bytes
        draw = np.random.default_rng(seed)
        self.sips = [f"10.{a}.{b}.{c}" for a, b, c in np.unique(draw.integers(0, 256, (sips, 3)), axis=0)]
        self.groups, self.zeros = len(self.sips) * len(TYPES), UNITS[unit]
        self.group = {UNIFORM: uniform, SKEWED: skewed}[keys](draw, size, self.groups)
        size = len(self.group)
        sip, type_ = np.divmod(self.group, len(TYPES))
        numbers = draw.integers(0, [65536, 5, 1500, 10, 100, 2, 256, 64, 10000, 2, 500, 100000, 10000, 5, 1000, SIPS],
                                (size, 16)).tolist()
        width = self.line_bytes - len(self.head) - TIME_DIGITS
        tails = (self.tail(self.sips[s], TYPES[t], row, width)
                 for s, t, row in zip(sip.tolist(), type_.tolist(), numbers, strict=True))
        self.tails = np.frombuffer(b"".join(tails), np.uint8).reshape(size, width)

    def values(self, sip: str, type_: str, n: list[int]) -> list[str]:
        """All fields but the event time and the last one, which fills the line."""
        return [type_, sip, f"10.{n[15] % 256}.{n[15] % 7}.9", f"{n[0]}", LOCATIONS[n[1]], f"{n[2]}", f"{n[3]}",
                f"{n[4]}", ("tcp", "udp")[n[5]], f"{n[6]}", f"{n[7]}", f"app{n[8]}", f"{n[9]}", f"{100 + n[10]}",
                f"user{n[11]}", f"{n[12]}", LOCATIONS[n[13]], f"dev{n[14]}"]

    def tail(self, sip: str, type_: str, n: list[int], width: int) -> bytes:
        """All but the event time; a short line ends before the last field."""
        return f"{self.zeros},{','.join(self.values(sip, type_, n))},".encode().ljust(width, b"x")[:width]


class JsonPool(Pool):
    """The same tuples as JSON objects, which cannot be shorter."""

    format = "JSON"
    head = b'{"timestamp":'
    line_bytes = 320

    def tail(self, sip: str, type_: str, n: list[int], width: int) -> bytes:
        """All but the event time."""
        names, types = zip(*(column.split() for column in SCHEMA.split(", ")), strict=True)
        values = self.values(sip, type_, n)
        members = [f'"{name}":"{value}"' if type_ == "STRING" else f'"{name}":{value}'
                   for name, value, type_ in zip(names[1:-1], values, types[1:-1], strict=True)]
        return f'{self.zeros},{",".join(members)},"{names[-1]}":"'.encode().ljust(width - 2, b"x") + b'"}'


POOLS = {"csv": Pool, "json": JsonPool}


def uniform(draw: np.random.Generator, size: int, groups: int) -> np.ndarray:
    """The groups of at most `size` tails: each equally often, or, where groups are more than tails, some of them once."""
    return draw.permutation(groups)[np.arange(max(size - size % groups, min(size, groups))) % groups]


def skewed(draw: np.random.Generator, size: int, groups: int) -> np.ndarray:
    """The groups of `size` tails: types equally often, a few addresses in most of the tails."""
    sip = (draw.beta(0.6, 1.6, size) * (groups // len(TYPES))).astype(np.int64)
    return sip * len(TYPES) + draw.integers(0, len(TYPES), size)


class Generator:
    """Lines of one partition after the other, and how many tuples each (sip, type, window) got.

    Event time starts at `start_s` and moves on by one second every `tuples_per_second`; a few per cent of the
    tuples are up to 4 s older than those before them, which a watermark of 5 s still takes."""

    def __init__(self, start_s: int, tuples_per_second: float, seed: int = 1, pool: Pool | None = None) -> None:
        self.pool = pool or Pool(seed)
        self.draw = np.random.default_rng(seed + 1)
        self.start_s = start_s
        self.tuples_per_second = tuples_per_second
        self.made = 0
        self.first_window = (start_s - LATE_MAX_S) // WINDOW_S
        self.counts = np.zeros((0, self.pool.groups), np.int64)

    def lines(self, count: int) -> np.ndarray:
        """The next `count` lines, as rows of bytes without a line end."""
        times = self.start_s + ((self.made + np.arange(count)) / self.tuples_per_second).astype(np.int64)
        late = self.draw.random(count, np.float32) < LATE_SHARE
        times[late] -= self.draw.integers(1, LATE_MAX_S + 1, int(late.sum()))
        chosen = self.draw.integers(0, len(self.pool.tails), count, np.int32)
        self.made += count
        self._count(times, self.pool.group[chosen])
        rows = np.empty((count, self.pool.line_bytes), np.uint8)
        digits = len(self.pool.head)
        rows[:, :digits] = np.frombuffer(self.pool.head, np.uint8)
        rows[:, digits + TIME_DIGITS:] = self.pool.tails[chosen]
        _write_digits(rows[:, digits:digits + TIME_DIGITS], times)
        return rows

    def expected(self) -> pa.Table:
        """The independent count: one row for each group that has tuples, window as its start in seconds."""
        window, group = np.nonzero(self.counts)
        sips, types = np.array(self.pool.sips), np.array(TYPES)
        return pa.table({"sip": sips[group // len(TYPES)], "type": types[group % len(TYPES)],
                         "timestamp": (self.first_window + window) * WINDOW_S, "count": self.counts[window, group]})

    def _count(self, times: np.ndarray, groups: np.ndarray) -> None:
        window = times // WINDOW_S - self.first_window
        first, last = int(window.min()), int(window.max())
        if last >= len(self.counts):
            more = np.zeros((last + 1 - len(self.counts), self.pool.groups), np.int64)
            self.counts = np.concatenate([self.counts, more])
        cells = np.bincount((window - first) * self.pool.groups + groups,
                            minlength=(last + 1 - first) * self.pool.groups)
        self.counts[first:last + 1] += cells.reshape(-1, self.pool.groups)


def _write_digits(out: np.ndarray, numbers: np.ndarray) -> None:
    """Numbers in decimal. Tuples come in runs of one time, so each distinct number is written once."""
    distinct, place = np.unique(numbers, return_inverse=True)
    digits = np.array([list(str(number).encode()) for number in distinct.tolist()], np.uint8)
    out[:] = digits[place]
