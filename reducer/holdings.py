"""The key parts that a reducer holds: taken up and let go of as the leader assigns them, and stepped one after the other."""

from __future__ import annotations

import logging
from collections.abc import Collection

from mars.adapters.computability import stop_uncomputable
from mars.adapters.exchange import Exchange
from mars.adapters.outside import OUTSIDE, remedy_of
from mars.adapters.storage import STATE_AWAY, Storage
from mars.adapters.view import StreamView
from mars.adapters.zookeeper import ZooKeeper
from mars.config import Config
from mars.errors import MarsError, NotReadyError, Remedy
from reducer.committing.assignment import Assignment, PartId
from reducer.keypart import KeyPart
from reducer.refusals import Refusals
from reducer.remedies import Remedies

log = logging.getLogger("mars.reducer")
REFUSED_S = 0.02  # before a key part that was refused is read again, the first time
AWAY_S, FULL_DISK_S = 0.1, 1.0  # pauses for what is waited out


class Holdings:
    """`parts` by their ids; used by the reducer's main thread alone. Whatever goes wrong with one key part ends neither the
    others nor the reducer, unless it is a defect."""

    def __init__(self, config: Config, zookeeper: ZooKeeper, exchange: Exchange, storage: Storage,
                 remedies: Remedies) -> None:
        self.config, self.zookeeper, self.exchange, self.storage = config, zookeeper, exchange, storage
        self.remedies = remedies
        self.parts: dict[PartId, KeyPart] = {}
        self.refusals = Refusals(REFUSED_S, zookeeper.clock)

    # -- following --------------------------------------------------------------------------------------------------

    def follow(self, views: dict[int, StreamView], owned: dict[PartId, int]) -> None:
        """Take up what is owned (id -> version of the owner's znode), let go of the rest, and follow the query sets."""
        for id_ in self.parts.keys() - owned.keys():
            log.info("key part %s is let go of", id_)
            del self.parts[id_]
        self.refusals.keep(owned.keys())
        for id_, owner_version in owned.items():
            if id_ in self.parts or not self.refusals.waits(id_):
                self._keep_up(id_, views[id_.stream_id], owner_version)
                if id_ not in self.parts:
                    self.refusals.note(id_)

    def _keep_up(self, id_: PartId, view: StreamView, owner_version: int) -> None:
        """Load a key part that is new here, or of which what is held is worth nothing; else follow its query set."""
        part = self.parts.get(id_)
        if (part is None or not part.assignment.knows(view)) and stop_uncomputable(self.zookeeper, view):
            return  # the query set without them comes at once
        if part is not None and not part.assignment.lasts(view, owner_version):
            part = None
        assignment = (part.assignment.follow(view) if part
                      else Assignment.read(self.zookeeper, view, id_.key_part, owner_version))
        if assignment is None:
            raise NotReadyError("the stream was dropped", view.stream.name)
        try:
            if part is None:
                self.parts[id_] = KeyPart.load(self.config, self.zookeeper, self.exchange, self.storage, assignment)
            elif not part.assignment.knows(view):
                part.take_queries(view)
        except STATE_AWAY as error:
            # A later round tries again, and key parts that are in hand do not wait for it.
            log.error("%s cannot be loaded: %s", assignment, error)
            self.parts.pop(id_, None)
        except OUTSIDE as error:
            if remedy_of(error) is Remedy.RETRY:
                raise
            self.parts.pop(id_, None)
            self._apply(assignment, error)

    # -- stepping ---------------------------------------------------------------------------------------------------

    def heard(self, streams: Collection[int | None]) -> bool:
        """Entries of these streams have come (None: perhaps of any). True if a key part need not wait any more."""
        return self.refusals.heard(streams)

    def step(self, woken: Collection[int | None]) -> bool:
        """One step of each; those of the streams in `woken` receive at once, all of them if None is among these. True if
        anything was received."""
        worked = [self._step(id_, None in woken or id_.stream_id in woken) for id_ in list(self.parts)]
        return any(worked)

    def _step(self, id_: PartId, woken: bool) -> bool:
        """What is waited out leaves a key part as it is; else it is thrown away, and read again from the commits."""
        part = self.parts[id_]
        try:
            worked = part.step(woken)
            self.refusals.forget(id_)
            return worked
        except OUTSIDE as error:
            remedy = remedy_of(error)
            if remedy is Remedy.RETRY:
                self._wait(part, error)
                return False
            self._apply(part.assignment, error)
        del self.parts[id_]
        self.refusals.note(id_, by_exchange=remedy is Remedy.READ_AGAIN)
        self.remedies.cache.forget()
        self.remedies.news()
        return False

    def _apply(self, assignment: Assignment, error: Exception) -> None:
        """Only errors of our own have another remedy than to try again."""
        assert isinstance(error, MarsError)
        self.remedies.apply(assignment, error)

    def _wait(self, part: KeyPart, error: Exception) -> None:
        if isinstance(error, OSError):  # a full disk: what is merged is committed when there is room
            log.error("%s cannot be committed: %s", part.assignment, error)
            self.zookeeper.clock.sleep(FULL_DISK_S)
        else:
            log.warning("waiting: %r", error)
            self.zookeeper.clock.sleep(AWAY_S)

    @property
    def have_more(self) -> bool:
        """Is there more to receive at once?"""
        return any(part.inbox.has_more for part in self.parts.values())

    def due_in_s(self) -> list[float]:
        """After how long each commit is due that is to be made."""
        return [due_s for part in self.parts.values() if (due_s := part.due_in_s()) is not None]

    def commit(self) -> None:
        """The last commits, before the process ends: a restart need not merge again what is merged."""
        for part in self.parts.values():
            try:
                if part.queries.have_changed:
                    part.commit()
            except OUTSIDE as error:
                if remedy_of(error) not in (Remedy.RETRY, Remedy.READ_AGAIN):
                    raise
                log.info("%s is not committed at the end: %r", part.assignment, error)
