"""Offset ranges of a topic as records: all that a read-committed consumer sees of [start, end), or nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from mapper.batch import Messages
from mapper.decode import Decoded, decode
from mapper.records import CorruptRecords, Records, following
from mapper.surplus import AnswerSize, Held, Surplus
from mars.adapters.kafka.errors import KafkaUnreachable, LogTruncated, OffsetOutOfRange
from mars.adapters.kafka.security import Security
from mars.adapters.kafka.wire import FetchedPartition, Want, Wire
from mars.errors import MarsError
from mars.runtime.periods import Backoff, Every
from mars.runtime.system import SYSTEM, Clock

AWAITED_BYTES, AWAITED_BYTES_MAX = 64 << 10, 2 << 20  # bytes bytes bytes of each partition, when something is awaited
LISTED_S = 1.0  # how long a list of partitions counts as current
PAUSES_S = (0.05, 1.0)  # pauses between answers of a broker that throttles: the first and the longest
STUCK_S = 1.0  # how long a log may end before offsets that were seen in it, as after a change of leaders
REMOTE_S = 5.0  # how long a broker may take to read a place from its remote storage


@dataclass
class Range:
    """All that is visible of [start, end) of a partition, possibly nothing; `leader_epoch` is that of the last record
    batch before `end`; pass it as `last_epoch` for the range that starts there. `log` is that epoch and the offset up to
    which the log certainly belongs to it; keep it with the position. None if no record batch was seen."""

    partition: int
    start: int
    end: int
    content: Records | Messages
    leader_epoch: int = -1
    log: tuple[int, int] | None = None

    @property
    def bytes(self) -> int:
        """About how many bytes were read."""
        return self.content.bytes

    @cached_property
    def messages(self) -> Messages:
        """Where the values lie. Raises CorruptRecords."""
        return self.content.messages() if isinstance(self.content, Records) else self.content


class RangeTooLarge(MarsError):
    """The first `offsets` offsets alone have more bytes than a range may have."""

    def __init__(self, offsets: int, bytes_: int) -> None:
        super().__init__("the range is too large", f"{bytes_} bytes in {offsets} offsets")
        self.offsets, self.bytes = offsets, bytes_


def open_reader(bootstrap: str, security: Security, topic: str, topic_id: str, retry_s: float = 10.0,
                asks_all: bool = False) -> Reader:
    """A reader of one topic, to be made in the process that uses it. `security` is that of mars.adapters.kafka.security;
    `topic_id` is the broker's UUID as text. Each call waits for Kafka for about `retry_s`. `asks_all` is that of Cluster."""
    return Reader(Wire(bootstrap, security, retry_s=retry_s, asks_all=asks_all), topic, topic_id)


class Reader:
    """Reads ranges of one topic out of raw Fetch responses; one thread at a time, in the process that made it.

    What an answer holds past the range's end is kept, decoded, for a read that starts there (mapper.surplus). Memory is
    bounded by the surplus's limit plus one answer.
    """

    def __init__(self, wire: Wire, topic: str, topic_id: str, clock: Clock = SYSTEM.clock) -> None:
        self.wire = wire
        self.topic = topic
        self.topic_id = topic_id
        self._surplus = Surplus()
        self._size = AnswerSize()
        self._listed: list[int] = []
        self._lists, self._clock = Every(LISTED_S, clock), clock

    def partitions(self) -> list[int]:
        """The partitions that can be read now, asked anew. Raises TopicRecreated if the topic is another one by now."""
        # A partition without a leader gives nothing, and must not hold up the others.
        found = self.wire.topic(self.topic, self.topic_id).partitions
        self._listed = [p for p, (leader, _) in found.items() if leader >= 0] or list(found)
        self._lists.begin()
        return self._listed

    def last_stable_offsets(self) -> dict[int, int]:
        """Each partition's last stable offset: no range may end past it."""
        # An idle mapper asks many times a second, but new partitions are rare.
        listed = self.partitions() if self._lists.is_due() else self._listed
        return self.wire.end_offsets(self.topic, listed)

    def await_tuples(self, ends: dict[int, int], epochs: dict[int, int], wait_ms: int, offsets: int = 1) -> dict[int, int]:
        """The last stable offsets of these partitions, as soon as about so many `offsets` a partition are past the ends, at
        the latest after about wait_ms. `epochs` has the leader epochs before these ends as far as they are known."""
        batch_bytes = max(AWAITED_BYTES, self._size.ask(offsets, AWAITED_BYTES_MAX))
        wants = {p: Want(end, epochs.get(p, -1), batch_bytes) for p, end in ends.items()}
        try:
            least_bytes = 1 if offsets == 1 else len(ends) * batch_bytes
            answers = self.wire.fetch(self.topic, self.topic_id, wants, wait_ms, least_bytes)
            for fetched in answers:
                if fetched.records:
                    start = ends[fetched.partition]
                    decoded = self._decode(fetched, start)
                    self._size.learn(fetched.records, decoded.next_offset - start)
                    self._surplus.keep(fetched.partition, Held(start, decoded.next_offset, decoded), start)
        except (OffsetOutOfRange, LogTruncated, CorruptRecords):
            # Ignore errors here: the mapper that claims these offsets reports them.
            return self.wire.end_offsets(self.topic, list(ends))
        return ends | {fetched.partition: fetched.last_stable_offset for fetched in answers if not fetched.throttled}

    def read(self, partition: int, start: int, end: int, limit_bytes: int, last_epoch: int = -1,
             should_stop: Callable[[], bool] = bool, range_bytes_max: float = math.inf) -> Range | None:
        """The range [start, end), where end is at most a last stable offset seen before; None if should_stop() says so.

        Waits while a broker throttles. `limit_bytes` is for one answer of the broker: a larger record batch comes whole,
        and a larger range in several answers. Raises KafkaUnreachable if nothing comes for a while, RangeTooLarge once
        more than `range_bytes_max` were read and offsets are left, and the other errors of mars.adapters.kafka.errors.
        """
        held = self._surplus.take(partition, start, end) or Held(start, start, Decoded(Records((), start, start), start))
        parts, at, epoch, log, bytes_ = [], start, last_epoch, None, 0
        while True:
            parts.append(held.decoded.records.within(at, end))
            at, bytes_ = max(at, held.end), bytes_ + parts[-1].bytes
            found = held.decoded.epoch_before(min(at, end))
            if found is not None:
                epoch, log = found[0], found if found[1] > start else log
            if at >= end:
                break
            if bytes_ > range_bytes_max:
                raise RangeTooLarge(at - start, bytes_)
            following_ = self._next(partition, at, end, limit_bytes, epoch, should_stop)
            if following_ is None:
                return None
            held = following_
        self._surplus.keep(partition, held, end)
        return Range(partition, start, end, following(parts, start, end), epoch, log)

    def close(self) -> None:
        """Ends the connections."""
        self._surplus.clear()
        self.wire.close()

    def _next(self, partition: int, start: int, end: int, limit_bytes: int, epoch: int,
              should_stop: Callable[[], bool]) -> Held | None:
        """The messages from `start` on, at least one offset; None to stop."""
        pause, stuck, remote = Backoff(*PAUSES_S, self._clock), Every(STUCK_S, self._clock), Every(REMOTE_S, self._clock)
        stuck.begin()
        remote.begin()
        ask_bytes = self._size.ask(end - start, limit_bytes)
        while not should_stop():
            answers = self.wire.fetch(self.topic, self.topic_id, {partition: Want(start, epoch, ask_bytes)})
            if not answers or (answers[0].throttled and not answers[0].records):
                # Over a quota the broker leaves out all partitions. Keep what was read before; otherwise it would be sent
                # again.
                self._clock.sleep(pause.begin())
                stuck.begin()
                continue
            fetched, = answers
            decoded = self._decode(fetched, start)
            if decoded.next_offset > start:
                self._size.learn(fetched.records, decoded.next_offset - start)
                return Held(start, decoded.next_offset, decoded)
            if fetched.records:
                ask_bytes *= 2  # cut inside its first batch
            elif fetched.last_stable_offset >= end:
                if self.wire.reads_itself(self.topic, partition, start):
                    return Held(start, end, decoded)
                # A broker that reads remote storage for too long also answers like this, whatever is there.
                if remote.is_due():
                    raise KafkaUnreachable(self.topic, partition, f"nothing came from remote storage at {start}: see the "
                                                                  "broker's remote.fetch.max.wait.ms")
                self._clock.sleep(PAUSES_S[0])
            elif stuck.is_due():
                raise KafkaUnreachable(self.topic, partition, f"no record at {start}, and the log is stable up to "
                                       f"{fetched.last_stable_offset} only")
        return None

    def _decode(self, fetched: FetchedPartition, start: int) -> Decoded:
        """The records of one answer; a corrupt batch is named with its topic and partition."""
        try:
            return decode(fetched.records, start, aborted=fetched.aborted)
        except CorruptRecords as error:
            raise CorruptRecords(f"topic {self.topic}, partition {fetched.partition}: {error.detail}",
                                 error.offset) from error
