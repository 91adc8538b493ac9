"""Mars and the systems one may take instead: the same query over the same topic, in turns, on this machine, in one run.

`python -m benchmarks.side_by_side` starts one broker, fills the topics, and then, as often as --repeat says, gives each
contender its turn: its processes start, take a small topic to get warm, and then the topic that counts. The clock runs
from handing over the query until the results of every window can be read. Each group is compared with the count that was
made while the tuples were made. Cost is that of the contender's whole process tree, the broker's is told apart.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow.compute as pc

from api.instance.services import kafka
from api.instance.services.service import Service
from benchmarks import exactness, topics
from benchmarks.contenders.entrants import NAMES, Contender, chosen
from benchmarks.contenders.protocol import Job
from benchmarks.exactness import Exactness
from benchmarks.generator import KEYS, LINE_BYTES, UNIFORM, WINDOW_S
from benchmarks.machine import command, machine
from benchmarks.side_by_side_table import TITLE, describe, picture
from benchmarks.topics import Topic
from benchmarks.trees import TreeMeter
from mars import config as configuration
from mars.errors import MarsError

PARTITIONS = 4
WATERMARK_MS = 5_000
WARM_LIMIT_S, LIMIT_S = 180.0, 1_800.0
SPARE_BYTES = 5 << 30
Say = Callable[[str], None]


@dataclass
class Turn:
    """What one contender did in one turn. `cpu_s` and `peak_bytes` are of its process tree, `broker_cpu_s` of Kafka."""

    contender: str
    tuples: int
    seconds: float
    cpu_s: float
    broker_cpu_s: float
    peak_bytes: int
    exactness: Exactness

    @property
    def tuples_per_s(self) -> float:
        return self.tuples / self.seconds

    @property
    def cpu_s_per_million(self) -> float:
        return self.cpu_s / self.tuples * 1e6


@dataclass
class Comparison:
    """All turns, and why a contender that was asked for is missing."""

    turns: list[Turn]
    left_out: dict[str, str]


def compare(contenders: list[Contender], tuples: int, warm: int, repeat: int, seed: int, folder: Path,
            say: Say = lambda text: None, keys: str = UNIFORM) -> Comparison:
    """All of it, in an empty folder that is left without running processes."""
    need_room(folder, tuples)
    config = configuration.load({"data": folder / "broker"})
    left_out, ready = {}, []
    for contender in contenders:
        try:
            contender.prepare(config)
            ready.append(contender)
        except MarsError as error:
            left_out[contender.name] = str(error)
            say(f"{contender.name} is left out: {error}")
    broker = kafka.start(config, config.data)
    try:
        filled = fill(broker.address, ready, tuples, warm, seed, folder, say, keys)
        turns = []
        for round_ in range(repeat):
            for contender in ready:
                if contender.name in left_out:
                    continue
                place = folder / f"{contender.name}-{round_}"
                warmed = None if contender.tuples_max else filled.get(0)  # the slow ones compile nothing
                try:
                    turns.append(turn(contender, broker, warmed, filled[size(contender, tuples)], place))
                    say(f"{contender.name:<14} {turns[-1].tuples_per_s / 1e6:6.3f} M tuples/s  {turns[-1].exactness}")
                except MarsError as error:
                    left_out[contender.name] = str(error)
                    say(f"{contender.name} failed: {error}")
                shutil.rmtree(place, ignore_errors=True)
    finally:
        broker.stop()
    return Comparison(turns, left_out)


def size(contender: Contender, tuples: int) -> int:
    """How many tuples a contender is given."""
    return min(tuples, contender.tuples_max or tuples)


def fill(address: str, contenders: list[Contender], tuples: int, warm: int, seed: int, folder: Path,
         say: Say, keys: str) -> dict[int, Topic]:
    """A topic for each size that is needed, by size; a smaller one is a prefix of a larger. 0 is the one to get warm on, if
    that is wanted."""
    filled = {0: topics.fill(address, "warm", warm, PARTITIONS, seed + 1, folder, keys)} if warm else {}
    for count in sorted({size(contender, tuples) for contender in contenders}):
        filled[count] = topics.fill(address, f"tuples_{count}", count, PARTITIONS, seed, folder, keys)
        say(f"{count:,} tuples in a topic of {PARTITIONS} partitions, one a message, {LINE_BYTES} B each, {keys} keys")
    return filled


def turn(contender: Contender, broker: Service, warm: Topic | None, topic: Topic, folder: Path) -> Turn:
    """One contender from start to stop. Raises MarsError if it does not get through."""
    folder.mkdir()
    contender.start(folder, broker.address)
    try:
        if warm:
            contender.run(job(0, broker.address, warm, folder), WARM_LIMIT_S)
        asked = job(1 if warm else 0, broker.address, topic, folder)
        with TreeMeter({"contender": contender.roots(), "broker": [broker.pid] if broker.pid else []}) as meter:
            began = time.monotonic()
            contender.run(asked, LIMIT_S)
            seconds = time.monotonic() - began
        found = contender.results(asked)
    finally:
        contender.stop()
    found = found.filter(pc.less_equal(found["timestamp"], topic.last_window_ms))
    return Turn(contender.name, topic.tuples, seconds, meter.cpu_s["contender"], meter.cpu_s["broker"],
                meter.peak_bytes["contender"], exactness.judge(topic.expected, found))


def job(number: int, address: str, topic: Topic, folder: Path) -> Job:
    """The paper's query over a topic, with folders for it."""
    out, work = folder / f"out-{number}", folder / f"work-{number}"
    out.mkdir()
    work.mkdir()
    return Job(number, address, topic.name, topic.partitions, topic.messages, 1000, WINDOW_S * 1000, WATERMARK_MS,
               topic.last_window_ms, str(out), str(work))


def need_room(folder: Path, tuples: int, copies: float = 2) -> None:
    """Raises MarsError if the disk has no room for the topics and what contenders write."""
    free, need = shutil.disk_usage(folder).free, SPARE_BYTES + copies * LINE_BYTES * tuples
    if free < need:
        raise MarsError("Not enough room on the disk", f"{folder} has {free / 1e9:.0f} GB, {need / 1e9:.0f} are needed",
                        "give fewer --tuples, or another --folder")


def document(found: Comparison, contenders: list[Contender], settings: dict) -> dict:
    """The JSON of a comparison; `settings` is told as it is, and names the number of turns `repeat`."""
    turns = [{**asdict(turn), "tuples_per_s": turn.tuples_per_s, "cpu_s_per_million": turn.cpu_s_per_million}
             for turn in found.turns]
    about = {each.name: {"title": each.title, "guarantee": each.guarantee} for each in contenders}
    return {"title": TITLE, **settings, "machine": machine(), "contenders": about, "turns": turns,
            "left_out": found.left_out}


def main() -> None:
    """The benchmark; exit code 1 if a contender that promises exactly once is not exact, or if one is missing."""
    parser = argparse.ArgumentParser(prog="benchmarks.side_by_side", description=__doc__.splitlines()[0])
    parser.add_argument("--tuples", type=int, default=20_000_000)
    parser.add_argument("--warm", type=int, default=1_000_000, help="tuples of the topic to get warm on; 0 for none")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help=f"some of {','.join(NAMES)}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keys", choices=KEYS, default=UNIFORM, help="are all groups as frequent?")
    parser.add_argument("--folder", type=Path, help="where a temporary folder is made")
    parser.add_argument("--json", type=Path, help="file for all figures; a picture is put beside it")
    given = parser.parse_args()
    try:
        contenders = chosen([name for name in given.only.split(",") if name])
    except ValueError as error:
        parser.error(str(error))
    with tempfile.TemporaryDirectory(prefix="mars-side-by-side-", dir=given.folder) as folder:
        found = compare(contenders, given.tuples, given.warm, given.repeat, given.seed, Path(folder),
                        lambda text: print(text, file=sys.stderr, flush=True), given.keys)
    settings = {name: getattr(given, name) for name in ("tuples", "warm", "repeat", "seed", "keys")}
    answer = document(found, contenders, {"command": command(), **settings})
    if given.json:
        given.json.write_text(json.dumps(answer, indent=1) + "\n")
        if found.turns:
            given.json.with_suffix(".svg").write_text(picture(answer))
    print(describe(answer))
    promised = {contender.name for contender in contenders if contender.guarantee == "exactly once"}
    broken = [turn for turn in found.turns if turn.contender in promised and not turn.exactness.exact]
    sys.exit(1 if broken or found.left_out else 0)


if __name__ == "__main__":
    main()
