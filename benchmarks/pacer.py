"""A producer process for latency: tuples by a schedule, each with the moment of its making as its event time.

`python -m benchmarks.pacer --kafka HOST:PORT --topic T --rate R --seconds S --window-ms W --log FILE --counts FILE`
sends a record batch to every partition at each tick. A tuple's making is where the schedule has it, not when it could
be sent: a producer that is held up makes its tuples older, and never fewer. In each partition one tuple of a tick is a
probe: its type is `probe`, and its sip is p<partition>, so that their counts say how far a reader sees. SIGTERM ends the
schedule early.

FILE of --log (npz): `partition`, `made_ms` of each probe in the order of sending; `end_ms` of each tick, `acked_ms` of
its batches, `tuples` of one tick. FILE of --counts (Arrow): the tuples of each group and window, the window in ms.
"""

from __future__ import annotations

import argparse
import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.feed import IN_FLIGHT_MAX, Feeder
from benchmarks.generator import KEYS, TYPES, UNIFORM, Pool
from benchmarks.pacer_batches import PROBE, VARIANTS, Batches


@dataclass
class Log:
    """What was sent: per tick its number's begin, and when all of it was acknowledged."""

    begin_ms: list[float] = field(default_factory=list)
    acked_ms: list[float] = field(default_factory=list)


def ticks(rate: float, partitions: int, linger_ms: float) -> tuple[int, float]:
    """(tuples of a batch, ms from tick to tick): about `linger_ms`, and exactly the rate."""
    count = max(1, round(rate / partitions * linger_ms / 1000))
    return count, count * partitions / rate * 1000


def together(tick: int, due: int, joined: int) -> list[range]:
    """The next requests of a producer that has ticks from `tick` to before `due` to send: `joined` ticks in each where as
    many are due, IN_FLIGHT_MAX requests at most."""
    found: list[range] = []
    while tick < due and len(found) < IN_FLIGHT_MAX:
        found.append(range(tick, tick + (joined if tick % joined == 0 and tick + joined <= due else 1)))
        tick = found[-1].stop
    return found


def pace(feeder: Feeder, batches: dict[int, Batches], span_ms: float, seconds: float, patience: float = 3.0,
         ended: Callable[[], bool] = lambda: False) -> Log:
    """Send the schedule of the next `seconds`. Late ticks follow together, in larger batches and without waiting for each
    answer, as producers do: else this one would be the slowest part of what is measured. After `patience` times as long,
    or once `ended` says so, the rest is left out: it is not made."""
    log, began = Log(), time.time() * 1000 + 100
    tick, last, joined = 0, round(seconds * 1000 / span_ms), min(each.joined for each in batches.values())
    while tick < last and time.time() * 1000 - began <= patience * seconds * 1000 and not ended():
        due = min(last, int((time.time() * 1000 - began) / span_ms))
        sent = together(tick, max(due, tick + 1), joined)
        begins = [[began + number * span_ms for number in ticks] for ticks in sent]
        records = [{p: each.stamped(ticks, *begin_ms) for p, each in batches.items()}
                   for ticks, begin_ms in zip(sent, begins, strict=True)]
        if (wait := began + (tick + 1) * span_ms - time.time() * 1000) > 0:
            time.sleep(wait / 1000)
        feeder.send_all(*records)
        acked_ms, tick = time.time() * 1000, sent[-1].stop
        for begin_ms in begins:
            log.begin_ms += begin_ms
            log.acked_ms += [acked_ms] * len(begin_ms)
    return log


def probes(log: Log, batches: dict[int, Batches]) -> dict[str, np.ndarray]:
    """The probes of each tick and partition, in the order of sending."""
    begin = np.array(log.begin_ms)
    variant = np.arange(len(begin)) % VARIANTS
    made = np.stack([begin + each.after_ms[each.probes][variant] for each in batches.values()], axis=1)
    partition = np.broadcast_to(np.array(list(batches)), made.shape)
    return {"partition": partition.reshape(-1), "made_ms": made.reshape(-1)}


def expected(log: Log, batches: dict[int, Batches], pool: Pool, window_ms: int) -> pa.Table:
    """The independent count: tuples by sip, type and window start in ms."""
    counts: Counter[tuple[int, int]] = Counter()
    whole: Counter[tuple[int, int, int]] = Counter()
    probed: Counter[tuple[int, int]] = Counter()
    for tick, begin_ms in enumerate(log.begin_ms):
        variant = tick % VARIANTS
        for partition, each in batches.items():
            times = (begin_ms + each.after_ms[[0, -1]]).astype(np.int64) // window_ms
            if times[0] == times[1]:
                whole[partition, variant, int(times[0])] += 1
                probed[partition, int(times[0])] += 1
            else:
                windows = (begin_ms + each.after_ms).astype(np.int64) // window_ms
                at = each.probes[variant]
                probed[partition, int(windows[at])] += 1
                pairs = zip(np.delete(windows, at).tolist(), np.delete(pool.group[each.chosen[variant]], at).tolist(),
                            strict=True)
                counts.update(pairs)
    return _table(counts, whole, probed, batches, pool, window_ms)


def _table(counts: Counter, whole: Counter, probed: Counter, batches: dict[int, Batches], pool: Pool,
           window_ms: int) -> pa.Table:
    windows = sorted({w for w, _ in counts} | {w for *_, w in whole})
    sums = {window: np.zeros(pool.groups, np.int64) for window in windows}
    for (window, group), tuples in counts.items():
        sums[window][group] += tuples
    for (partition, variant, window), times in whole.items():
        sums[window] += times * batches[partition].groups[variant]
    sip: list[np.ndarray] = []
    type_: list[np.ndarray] = []
    start: list[np.ndarray] = []
    count: list[np.ndarray] = []
    for window, found in sums.items():
        group = np.flatnonzero(found)
        sip.append(np.array(pool.sips)[group // len(TYPES)])
        type_.append(np.array(TYPES)[group % len(TYPES)])
        start.append(np.full(len(group), window * window_ms))
        count.append(found[group])
    for (partition, window), times in probed.items():
        sip.append(np.array([f"p{partition}"]))
        type_.append(np.array([PROBE]))
        start.append(np.array([window * window_ms]))
        count.append(np.array([times]))
    join = np.concatenate
    return pa.table({"sip": join(sip), "type": join(type_), "timestamp": join(start), "count": join(count)})


def main() -> None:
    """The process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kafka", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--rate", required=True, type=float, help="tuples per second, over all partitions")
    parser.add_argument("--seconds", required=True, type=float)
    parser.add_argument("--linger-ms", type=float, default=5.0, help="ms from batch to batch of a partition")
    parser.add_argument("--patience", type=float, default=3.0, help="times --seconds after which a late schedule ends")
    parser.add_argument("--window-ms", required=True, type=int, help="windows of --counts")
    parser.add_argument("--log", required=True, type=Path)
    parser.add_argument("--counts", required=True, type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keys", choices=KEYS, default=UNIFORM, help="are all groups as frequent?")
    given = parser.parse_args()
    feeder = Feeder(given.kafka, given.topic)
    pool = Pool(given.seed, keys=given.keys)
    count, span_ms = ticks(given.rate, len(feeder.leaders), given.linger_ms)
    batches = {p: Batches(pool, p, count, span_ms, given.seed) for p in sorted(feeder.leaders)}
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    print(json.dumps({"ready": True}), flush=True)
    ready = time.process_time()
    log = pace(feeder, batches, span_ms, given.seconds, given.patience, ending.is_set)
    sent = len(log.begin_ms) * count * len(batches)
    print(json.dumps({"sent": sent, "cpu_s": time.process_time() - ready}), flush=True)
    table = expected(log, batches, pool, given.window_ms)
    with pa.OSFile(str(given.counts), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    arrays: dict[str, Any] = {"begin_ms": log.begin_ms, "acked_ms": log.acked_ms, "span_ms": span_ms, "tuples": count,
                              **probes(log, batches)}
    np.savez(given.log, **arrays)


if __name__ == "__main__":
    main()
