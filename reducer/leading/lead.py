"""The leader's work: recovery, lanes, assignments, what the broker shows. One round does what is needed, again and again.

Everything here can be done again by the next leader: each step compares what is with what should be.
"""

from __future__ import annotations

import logging
import shutil

import orjson

from mars import faults
from mars.adapters.exchange import Standing
from mars.adapters.outside import OUTSIDE, remedy_of
from mars.adapters.view import StreamView, read_stream
from mars.adapters.view_cache import ViewCache
from mars.errors import InvariantError, MarsError, Remedy
from mars.model import names
from mars.model.commits import Manifest, Pointer
from mars.runtime.system import SYSTEM, Event, Runtime
from reducer.breach import answer
from reducer.connections import Connections
from reducer.leading.elect import Candidate
from reducer.leading.lanes import attach_state, install_state, partitions_of
from reducer.leading.memory import MemoryWatch
from reducer.leading.watch_topic import TopicWatch

log = logging.getLogger("mars.leader")
FOLLOW_S = 1.0  # between looks of one who does not lead, and rounds of one whom nothing wakes
ROUND_MIN_S, ROUND_MAX_S = 0.03, 0.15  # between rounds: windows wait for them
ROUND_SHARE = 0.1  # of a core
SILENT_S = 15.0  # whoever hears nothing of Kafka for so long lets another one lead
DELETE_AGAIN_S = 60.0  # each try looks through all of Redis


class Leader:
    """A candidate with the means to lead; `run` is a thread of the reducer's process and ends with it."""

    def __init__(self, connections: Connections, candidate: Candidate, stopping: Event, cache: ViewCache, wake: Event,
                 runtime: Runtime = SYSTEM) -> None:
        self.zookeeper, self.exchange, self.storage = connections.zookeeper, connections.exchange, connections.storage
        self.candidate, self.stopping, self.cache, self.wake = candidate, stopping, cache, wake
        self.clock = runtime.clock
        self.topics = TopicWatch(connections, runtime)
        self.memory = MemoryWatch(self.exchange, self.zookeeper, candidate, runtime.clock)
        self.cleaned: set[int] = set()
        self.stays: dict[int, float] = {}  # folders that could not be deleted, and when they are tried again
        self.damaged: set[int] = set()  # streams whose recovery waits for owners to fall back

    def run(self) -> None:
        """Lead whenever elected, until stopped: a round when `wake` is set, and by itself when something may have become
        due. Rounds use at most about a tenth of a core. Outside faults are waited out; the state is compared anew."""
        led, due_s, least_s = False, 0.0, ROUND_MIN_S
        while not self.stopping.wait(least_s):
            self.wake.wait(max(0.0, due_s - least_s))
            self.wake.clear()
            cpu_s = self.clock.thread_cpu_s()
            try:
                leads = self.candidate.check()
                if leads and not led:
                    faults.point("leader.elected")
                    log.info("%s leads with epoch %s", self.candidate.reducer_id, self.candidate.epoch)
                led = leads
                due_s = self._round() if leads else FOLLOW_S
            except OUTSIDE as error:
                if remedy_of(error) is Remedy.RECOVER:
                    raise  # it is of no stream that could be recovered: another one shall lead
                log.warning("waiting: %s", error)
                self.stopping.wait(0.2)
                due_s = 0.0
            least_s = min(ROUND_MAX_S, max(ROUND_MIN_S, (self.clock.thread_cpu_s() - cpu_s) / ROUND_SHARE))

    def _round(self) -> float:
        """Do for every stream what is needed; after how many seconds the next round is due if nobody wakes us."""
        if self.topics.silent_s() > SILENT_S and len(self.cache.children(names.REDUCERS)) > 1:
            # Without checks of the topics no window closes; the host of another reducer may be heard.
            log.warning("%s hears nothing of Kafka, and resigns", self.candidate.reducer_id)
            self.topics.forget_silence()
            self.candidate.resign()
            return FOLLOW_S
        views = self.cache.streams()
        self._assign(views)
        due_s = FOLLOW_S
        for view in views.values():
            try:
                standing = self.exchange.standing(view.stream.id, partitions_of(view.queries))
                if self._recover_if_needed(view, standing):
                    due_s = 0.0
                    continue
                self._reconcile_lanes(view, standing)
                self.topics.look(view, self.candidate, self.zookeeper)
                due_s = min(due_s, self.topics.due_in_s(view))
            except MarsError as error:  # one stream's trouble must not hold the others
                self._mend(view, error)
                due_s = min(due_s, ROUND_MAX_S)
        self.topics.keep(views)
        self.memory.look(views.values())
        self._clean(views)
        return due_s

    def _mend(self, view: StreamView, error: MarsError) -> None:
        """Do what helps against an error of one stream; the next round looks at the stream anew."""
        if error.remedy is Remedy.FALL_BACK:
            # Owners read their commits again when the generation changes, and fall back (rule 25).
            if view.stream.id not in self.damaged:
                self.zookeeper.ensure(names.recovery_request(view.stream.id), str(error).encode())
                self.damaged.add(view.stream.id)  # only now: a request that got lost is made again
            log.error("stream %s: %s", view.stream.name, error)
        elif isinstance(error, InvariantError):
            log.error("stream %s asks for a recovery", view.stream.name, exc_info=error)
            answer(self.zookeeper, view, error)
        else:
            log.warning("stream %s: %s", view.stream.name, error)

    def _epoch(self) -> int:
        """Under which we lead: rounds are those of a leader alone."""
        assert self.candidate.epoch is not None
        return self.candidate.epoch

    # -- recovery (rule 5) ----------------------------------------------------------------------------------------

    def _recover_if_needed(self, view: StreamView, standing: Standing) -> bool:
        """Recover the stream if Redis has another generation than ZooKeeper, was restarted or replaced since the
        generation was installed, or a reducer asked for it."""
        installed, wanted = standing.installed, (view.generation, standing.server)
        asked = self.cache.get(names.recovery_request(view.stream.id))
        if installed == wanted and asked is None:
            return False
        self.cache.forget()
        if view.stream.id in self.damaged and asked is None:
            self._manifests(view)  # the generation has been raised for it: not again before its owners have fallen back
        log.warning("stream %s: recovery, the exchange has %s, wanted %s", view.stream.name, installed, wanted)
        self.storage.require()  # else each round would raise the generation again
        path = names.generation(view.stream.id)
        generation = max(view.generation, installed[0] if installed else 0) + 1
        removal = [("delete", names.recovery_request(view.stream.id))] if asked else []
        if not self.zookeeper.transact(self.candidate.guard(), *removal,
                                       ("set", path, str(generation).encode(), view.generation_version)):
            return True
        faults.point("leader.generation_raised")
        # Only now: what is committed after this read is refused by the new generation.
        manifests = self._manifests(view)
        self.damaged.discard(view.stream.id)
        fresh = read_stream(self.zookeeper, view.stream)
        faults.point("leader.commits_read")
        if fresh:
            led = self.exchange.lead(view.stream.id, generation=generation, epoch=self._epoch())
            led.install(standing.server, install_state(fresh.queries, manifests))
            faults.point("leader.installed")
        return True

    def _manifests(self, view: StreamView) -> list[Manifest]:
        """The committed manifests of all key parts, not older than this call."""
        manifests = []
        for key_part in range(view.stream.key_parts):
            node = self.zookeeper.get_synced(names.pointer(view.stream.id, key_part))
            pointer = Pointer.load(node.data) if node else None
            manifests.append(self.storage.manifest(pointer) if pointer else Manifest(view.stream.id, key_part))
        return manifests

    # -- lanes (rule 17) ------------------------------------------------------------------------------------------

    def _reconcile_lanes(self, view: StreamView, standing: Standing) -> None:
        """Attach what runs and is not on its lanes with its incarnation; detach what should not be there."""
        attached = standing.attached
        running = view.queries.running()
        led = self.exchange.lead(view.stream.id, generation=view.generation, epoch=self._epoch())
        for id_ in sorted(attached.keys() - running.keys()):
            # An incarnation that this view does not know yet was attached by another leader, and may run.
            known = {p: i for p, i in attached[id_].items() if i < view.queries.next_incarnation}
            if known:
                led.detach(id_, known)
        missing = [query for id_, query in running.items()
                   if attached.get(id_) != dict.fromkeys(query.start, query.incarnation)]
        if missing:
            manifests = self._manifests(view)
            for query in missing:
                led.attach(query.id, query.incarnation, attach_state(query, manifests))
                faults.point("leader.attached")

    # -- assignments ----------------------------------------------------------------------------------------------

    def _assign(self, views: dict[int, StreamView]) -> None:
        """Give each key part whose owner is gone to the live reducer with the fewest, and even out by one at a time."""
        live = self.cache.children(names.REDUCERS)
        if not live:
            return
        owners = {}
        for view in views.values():
            for key_part in range(view.stream.key_parts):
                node = self.cache.get(names.owner(view.stream.id, key_part))
                if node:
                    owners[view.stream.id, key_part] = (orjson.loads(node.data)["id"] if node.data else None, node.version)
        load = {reducer: sum(1 for owner, _ in owners.values() if owner == reducer) for reducer in live}
        for (stream_id, key_part), (owner, version) in owners.items():
            least = min(load, key=lambda reducer: (load[reducer], reducer))
            if owner in load and load[owner] - load[least] < 2:
                continue
            data = orjson.dumps({"id": least})
            done = self.zookeeper.transact(self.candidate.guard(), ("set", names.owner(stream_id, key_part), data, version))
            # The next round may be sooner than the notice of our own write: it would even out what is even already.
            self.cache.forget()
            if not done:
                return  # what is known of the others may be as old
            load[least] += 1
            if owner in load:
                load[owner] -= 1
            faults.point("leader.assigned")

    # -- dropped streams ------------------------------------------------------------------------------------------

    def _clean(self, views: dict[int, StreamView]) -> None:
        """Delete the files and Redis keys of streams that are gone. An id is never used again, so what is gone stays gone;
        but whoever does not lead any more may have an old view, in which the newest streams are not there yet."""
        root = self.storage.root
        on_disk = {int(entry.name) for entry in root.iterdir() if entry.name.isdigit()} if root.is_dir() else set()
        for stream_id in (on_disk | self.cleaned) - views.keys():
            if self.clock.monotonic_s() >= self.stays.get(stream_id, 0.0) and self._is_gone(stream_id):
                self.storage.require()  # the streams of another instance's folder are not ours to delete
                self.exchange.forget(stream_id)
                self._delete(stream_id)
        self.cleaned = set(views)

    def _delete(self, stream_id: int) -> None:
        """Delete a stream's folder. What cannot be deleted is told once, and tried again after a while only: each try asks
        ZooKeeper, and looks through all of Redis."""
        failed: list[BaseException] = []
        shutil.rmtree(self.storage.root / str(stream_id), onerror=lambda _, path, error: failed.append(error[1]))
        failed = [error for error in failed if not isinstance(error, FileNotFoundError)]
        if failed and stream_id not in self.stays:
            log.warning("the folder of dropped stream %s cannot be deleted: %s", stream_id, failed[0])
        self.stays.pop(stream_id, None)
        if failed:
            self.stays[stream_id] = self.clock.monotonic_s() + DELETE_AGAIN_S

    def _is_gone(self, stream_id: int) -> bool:
        """Was the stream dropped, as the ensemble knows now, and do we still lead?"""
        return (self.zookeeper.get_synced(names.stream(stream_id)) is None
                and self.zookeeper.transact(self.candidate.guard()))
