"""A campaign: rounds of a stream under load, in each of which fault follows fault, and at the end of each a judgement."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.nemesis import census, nodes, privileges, schedule, visitors
from tests.nemesis.faults import Fault, World, WrongError, disk, named
from tests.nemesis.instance import Instance
from tests.nemesis.journal import Journal
from tests.nemesis.loaded import LoadedStream

WARM_S, BETWEEN_S = 3.0, (0.5, 2.0)
PAIR_SHARE = 2.0
FORMS = ("CSV", "JSON")  # of the tuples, a round each in turn
VISITORS, AFTER_FAULTS = 4, 2  # a round; those of them that come after a fault each
EARLIEST_SHARE = 0.3  # of them begin with the topic


class Campaign:
    """Goes on where its journal ends. `stopping` may be set at any time: the round under way is judged, then it ends."""

    def __init__(self, journal: Journal, seed: int, rate: int = 20_000, round_s: float = 150.0, limit_s: float = 60.0,
                 only: tuple[str, ...] = (), say: Callable[[str], None] = print, brokers: int = 1,
                 visitors_count: int = VISITORS) -> None:
        self.journal, self.seed, self.rate, self.round_s, self.say = journal, seed, rate, round_s, say
        self.limit_s, self.visitors_count = limit_s, visitors_count
        is_root = privileges.enter_mount_namespace()
        self.nodes = nodes.make() if is_root else None
        self.rights = frozenset([*(["root"] if is_root else []), *(["nodes"] if self.nodes else []),
                                 *(["brokers"] if brokers > 1 else [])])
        self.kinds, self.lacking = schedule.possible(self.rights, only)
        self.named = [kind for kind in named.kinds(brokers) if not only or kind.__name__ in only]
        self.index, self.rounds = journal.next_index(), journal.count("named")
        self.stopping = threading.Event()
        self.wrong: list[str] = []
        self.folder = Path(tempfile.mkdtemp(prefix="mars-nemesis-"))
        self.instance = Instance(self.folder, self.nodes, brokers)
        self.mounted: list[Path] = []

    def run(self, seconds: float, faults_max: int | None = None) -> bool:
        """Rounds for so long, or for so many faults; True if nothing was wrong."""
        began, first = time.monotonic(), self._done()
        while not (self.stopping.is_set() or time.monotonic() - began > seconds
                   or (faults_max is not None and self._done() - first >= faults_max)):
            self._round(began + seconds, None if faults_max is None else self.index + faults_max - self._done() + first)
        return not self.wrong

    def _done(self) -> int:
        """How many faults there were; named ones where no others are wanted."""
        return self.index if self.kinds else self.rounds

    def __enter__(self) -> Campaign:
        """Everything runs; at the end of the block nothing is left of it."""
        for name, what in self.lacking.items():
            self.say(f"skipped without {what}: {name}")
        began = time.monotonic()
        try:
            self.mounted = disk.mount(self.instance.data) if "root" in self.rights else []
            self.instance.start()
        except BaseException:
            self.__exit__()
            raise
        self.say(f"the instance is up after {time.monotonic() - began:.0f} s; faults go on from {self.index}")
        return self

    def __exit__(self, *_: object) -> None:
        self.instance.close()
        for place in self.mounted:
            privileges.unmount(place)
        self.instance.purge()
        if self.nodes:
            self.nodes.close()

    def _round(self, end: float, last_index: int | None) -> None:
        """A stream from its making to its dropping."""
        began, number = time.monotonic(), f"r{int(time.time())}"
        turn = self.journal.count("round")
        form = FORMS[turn % len(FORMS)]
        # Of several brokers one may lead that lacks what was counted: then nobody knows which tuples were late.
        coming = visitors.drawn(self.seed, turn, self.visitors_count, "brokers" not in self.rights)
        stream = LoadedStream(self.instance, number, self.rate, self.seed + self.index, form)
        try:
            self.stopping.wait(WARM_S)
            self._receive(stream, coming, len(coming) - AFTER_FAULTS)
            end = min(end, began + self.round_s)
            while self.kinds and time.monotonic() < end and not self.stopping.is_set() and self.index != last_index:
                if not self._fault(stream):
                    break
                self._receive(stream, coming, 1)
            self._named(number)
            under_load_s = time.monotonic() - began
            verdict = stream.finish(self.folder, PAIR_SHARE * self.limit_s)
            left = stream.drop()
        except Exception as error:
            self._note([f"the round broke off: {type(error).__name__}: {error}"])
            self.journal.add("round", seconds=time.monotonic() - began, wrong=self.wrong[-1:])
            self._again()
            raise_if_fatal(error)
            return
        finally:
            stream.readers.stopping.set()
            if stream.load.poll() is None:
                stream.load.kill()
        wrong = verdict.wrong + left
        readers = stream.readers
        self.journal.add("round", seconds=round(under_load_s, 1), tuples=verdict.tuples, rows=verdict.rows,
                         late=verdict.late, skipped=verdict.skipped, reads=readers.reads, events=readers.events,
                         visitors={visit.visitor.name: visit.rows for visit in stream.visits.values()}, wrong=wrong)
        self.say(f"round of {under_load_s:.0f} s of {form}: {verdict.tuples:,} tuples, {verdict.rows:,} rows, "
                 f"{verdict.late:,} late, "
                 f"{verdict.skipped:,} read twice and counted once, {readers.reads:,} looks, "
                 f"{readers.open_windows.reads:,} at open windows, {readers.events:,} events, {len(stream.guests)} guests, "
                 f"visitors: {', '.join(f'{visit.visitor.name} {visit.rows:,}' for visit in stream.visits.values())}: "
                 f"{'WRONG' if wrong else 'all exact'}")
        self._note(wrong)

    def _receive(self, stream: LoadedStream, coming: list[visitors.Visitor], count: int) -> None:
        """The next so many visitors come, from the topic's end or its begin."""
        rng = schedule.chance(self.seed, -1 - self.index)
        for visitor in [coming.pop(0) for _ in range(min(count, len(coming)))]:
            stream.receive(visitor, "EARLIEST" if rng.random() < EARLIEST_SHARE else "LATEST")

    def _fault(self, stream: LoadedStream) -> bool:
        """Inflict what is next, hold it, heal it, and time how long it takes until all that is in the topic is committed.
        False if it did not recover: then the round is over."""
        rng = schedule.chance(self.seed, self.index)
        world = World(self.instance, stream, rng)
        faults = [kind(world) for kind in schedule.choose(self.seed, self.index, self.kinds)]
        hold_s = max(rng.uniform(*fault.hold_s) for fault in faults)
        self.stopping.wait(rng.uniform(*BETWEEN_S))
        self.index += 1
        wrong: list[str] = []
        tried = [self._attempt(fault, fault.inflict, wrong) for fault in faults]
        self.stopping.wait(hold_s)
        self._attempt(faults[0], self.instance.ensure_services, wrong)
        inflicted = [done and fault.took_effect() for done, fault in zip(tried, faults, strict=True)]
        self._heal(faults, wrong)
        healed = time.monotonic()
        limit_s = self.limit_s * (1 if len(faults) == 1 else PAIR_SHARE)
        recovered = stream.wait_for(stream.ends(), limit_s)
        recovery_s = round(time.monotonic() - healed, 1) if recovered else None
        names = [fault.name for fault in faults]
        if not recovered:
            wrong.append(f"{' and '.join(names)}: no recovery within {limit_s:.0f} s\n{stream.describe()}")
            wrong += census.lost(self.instance, stream.id)
        details = [{name: value for name, value in vars(fault).items() if isinstance(value, str | int | float | list)}
                   for fault in faults]
        self.journal.add("fault", index=self.index - 1, seed=self.seed, kinds=names, inflicted=inflicted,
                         details=details, held_s=round(hold_s, 1), recovery_s=recovery_s, wrong=wrong)
        told = [name if did else f"{name} (not inflicted)" for name, did in zip(names, inflicted, strict=True)]
        self.say(f"{self.index - 1:4d} {' + '.join(told):50s} held {hold_s:4.1f} s, recovered in {recovery_s} s")
        self._note(wrong)
        return recovered

    def _heal(self, faults: list[Fault], wrong: list[str]) -> None:
        """Undo what was inflicted, the last first; what the API undoes once the instance is up again."""
        by_api = [fault for fault in reversed(faults) if fault.heals_by_api]
        for fault in reversed(faults):
            if fault not in by_api:
                self._attempt(fault, fault.heal, wrong)
        self._attempt(faults[0], self.instance.ensure, wrong)
        for fault in by_api:
            self._attempt(fault, fault.heal, wrong)

    def _named(self, name: str) -> None:
        """One of the faults that must end in a named state, in turn, while the other stream is under load."""
        if self.stopping.is_set() or not self.named:
            return
        kind = self.named[self.rounds % len(self.named)]
        began, self.rounds = time.monotonic(), self.rounds + 1
        wrong = kind(self.instance, f"{name}_named").run()
        self.journal.add("named", kind=kind.__name__, seconds=round(time.monotonic() - began, 1), wrong=wrong)
        self.say(f"     {kind.__name__}: {'WRONG' if wrong else 'named'} after {time.monotonic() - began:.1f} s")
        self._note(wrong)

    def _attempt(self, fault: Fault, action: Callable[[], None], wrong: list[str]) -> bool:
        """Do it; False if it could not be done."""
        try:
            action()
            return True
        except Exception as error:  # the other fault of a pair may stand in the way; the instance is what is judged
            if action in (self.instance.ensure, self.instance.ensure_services):
                wrong.append(f"{fault.name}: nothing runs again: {error}")
            elif isinstance(error, WrongError):
                wrong.append(f"{fault.name}: {error}")
            self.say(f"     {fault.name}: {action.__name__}: {type(error).__name__}: {error}")
            return isinstance(error, WrongError)

    def _note(self, wrong: list[str]) -> None:
        """Tell what is wrong, and keep the logs as evidence."""
        if not wrong:
            return
        self.wrong += wrong
        evidence = self.journal.path.with_suffix("") / f"{int(time.time())}"
        evidence.mkdir(parents=True, exist_ok=True)
        for logs in (self.instance.data / "logs", self.folder / "logs"):
            if logs.is_dir():
                shutil.copytree(logs, evidence / logs.parent.name, dirs_exist_ok=True)
        (evidence / "wrong.txt").write_text("\n".join(wrong) + "\n")
        for line in wrong:
            self.say(f"WRONG: {line}")
        self.say(f"the logs are kept in {evidence}")

    def _again(self) -> None:
        """After a round that broke off: a fresh start of everything on the same data."""
        if not self.stopping.is_set():
            with contextlib.suppress(Exception):
                self.instance.mars.stop(5)
            self.instance.ensure()


def raise_if_fatal(error: Exception) -> None:
    """What is a mistake in the nemesis itself ends it."""
    if isinstance(error, TypeError | AttributeError | NameError):
        raise error
