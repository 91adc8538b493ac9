"""Claims ranges of one stream: how large, where, and by which request (step 1)."""

from __future__ import annotations

from dataclasses import dataclass, field

from mapper.ends import Ends
from mapper.fronts import Fronts
from mars.adapters.exchange import Exchange
from mars.adapters.view import StreamView
from mars.config import Config
from mars.model.claims import Claim
from mars.runtime.periods import Every
from mars.runtime.system import SYSTEM, Clock

STAY_CLAIMS = 4  # claims in a row in one partition, whose surplus is at hand; then the partition furthest behind comes first
SMALL_S = 0.5  # how long a new range shorter than a batch may wait while there is other work
EMPTY_S = 0.2  # between requests for expired claims while nothing new has come: leases last for seconds
MEMORY_SHARE_MAX = 0.7  # of Redis's limit: above it nothing new is claimed, and existing entries are merged
MEMORY_S = 0.5  # between looks at Redis's memory: what is claimed in this time is little compared with the rest
FIRST_OFFSETS = 500  # for a stream of which nothing is known: a message may hold one tuple or a hundred


@dataclass
class Sizes:
    """How much an offset of the stream holds, as measured. The size of the next claim follows from it."""

    tuples_per_offset: float = 1.0
    bytes_per_offset: float | None = None
    parsed: bool = False

    def learn_bytes(self, offsets: int, bytes_: int) -> None:
        """Take a fetched range into account; new ranges count more than old ones."""
        known = self.bytes_per_offset
        self.bytes_per_offset = bytes_ / offsets if known is None else (known + bytes_ / offsets) / 2

    def learn_tuples(self, offsets: int, tuples: int) -> None:
        """Take a parsed range into account."""
        known, found = self.tuples_per_offset, tuples / offsets
        self.tuples_per_offset = (known + found) / 2 if self.parsed else found
        self.parsed = True

    def offsets_max(self, config: Config) -> int:
        """The most offsets to claim: a run of adjacent batches. While nothing is known it is only a few, because a
        message may hold one tuple or a hundred."""
        if self.bytes_per_offset is None:
            return min(config.batch_tuples, FIRST_OFFSETS)
        by_tuples = config.run_tuples_max / max(self.tuples_per_offset, 0.05)
        by_bytes = config.run_bytes_max / max(self.bytes_per_offset, 1.0)
        return max(1, int(min(by_tuples, by_bytes)))

    def in_offsets(self, rates: dict[str, int]) -> dict[str, float]:
        """Offsets a second for tuples a second, by query."""
        return {query: rate / max(self.tuples_per_offset, 0.05) for query, rate in rates.items()}

    def batch_offsets(self, config: Config) -> int:
        """The number of offsets that hold about one batch."""
        return max(1, min(int(config.batch_tuples / max(self.tuples_per_offset, 0.05)), self.offsets_max(config)))


@dataclass
class Claimer:
    """Claims for one worker in one stream."""

    exchange: Exchange
    config: Config
    worker: str
    sizes: Sizes = field(default_factory=Sizes)
    clock: Clock = SYSTEM.clock
    _request: int = 0
    _stayed: int = 0
    _partition: int | None = None
    _claimed: dict[int, int] = field(default_factory=dict)  # where our own claims have ended
    _empty_ends: dict[int, int] = field(default_factory=dict)
    _memory_full: bool = False

    def __post_init__(self) -> None:
        self.ends, self.fronts = Ends(clock=self.clock), Fronts(self.clock)
        self._small, self._empty, self._memory = (Every(s, self.clock) for s in (SMALL_S, EMPTY_S, MEMORY_S))

    def next(self, view: StreamView, only_batches: bool = False) -> Claim | None:
        """The next claim, or None if there is nothing to do. It pays to stay on the partition whose buffer is at hand,
        but only a few times: the partition furthest behind holds back everybody's watermark (rule 11). While the topic
        does not grow, the exchange is asked only now and then, for expired claims.

        `only_batches`: leave a new range shorter than a batch for up to SMALL_S. The worker has something else to do,
        tuples gather meanwhile, and a claim costs the same however few tuples it takes. The time is limited because the
        backlog of another stream may last for hours. New tuples of the partitions at home do not wait so long: they come
        first after each look at the ends (mapper/fronts.py)."""
        if only_batches and self.fronts.due:
            return self._next_of_fronts(view)
        only_batches = only_batches and not self._small.is_due()
        if self.ends.known == self._empty_ends and not self._empty.is_due():
            return None
        least = self.sizes.batch_offsets(self.config) if only_batches else 1
        if only_batches and all(end - self._claimed.get(p, 0) < least for p, end in self.ends.known.items()):
            return None
        stay = self._partition if self._stayed < STAY_CLAIMS else None
        claim = self._ask(view, self.ends.known, least=least, most=self.sizes.offsets_max(self.config), stay=stay)
        if not only_batches:
            self._small.begin()
        if claim is None:
            if not only_batches:
                self._empty_ends = dict(self.ends.known)
                self._empty.begin()
        else:
            self._note(claim)
            self._stayed = self._stayed + 1 if claim.partition == self._partition else 0
            self._partition = claim.partition
        return claim

    def _next_of_fronts(self, view: StreamView) -> Claim | None:
        claim = self._ask(view, self.fronts.due, least=1, most=self.sizes.batch_offsets(self.config), stay=None,
                          fronts_only=True)
        if claim is None:
            self.fronts.are_done()
            return self.next(view, only_batches=True)
        self._note(claim)
        return claim

    def _note(self, claim: Claim) -> None:
        self._empty_ends = {}
        self._claimed[claim.partition] = max(claim.end, self._claimed.get(claim.partition, 0))
        self.fronts.claimed(claim.partition, claim.end)

    def _ask(self, view: StreamView, ends: dict[int, int], *, least: int, most: int, stay: int | None,
             fronts_only: bool = False) -> Claim | None:
        claim = self.exchange.claim(
            view.stream.id, view.generation, self.worker, self._request + 1, lease_ms=self.config.lease_ms, least=least,
            most=most, bound=self.config.claim_ahead_tuples, key_parts=view.stream.key_parts, ends=ends, stay=stay,
            allow_new=not self._redis_is_full(), rates=self.sizes.in_offsets(view.rates), fronts_only=fronts_only)
        # Raised only now: after an unknown outcome, the same request is made again and gives the same claim (rule 6).
        self._request += 1
        return claim

    def _redis_is_full(self) -> bool:
        if self._memory.is_due():
            self._memory_full = self.exchange.memory_share() > MEMORY_SHARE_MAX
            self._memory.begin()
        return self._memory_full
