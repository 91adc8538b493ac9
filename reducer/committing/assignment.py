"""An assignment: a key part that is ours, under the versions that each transaction of its owner checks (rules 3, 4).

What is known here may be old, and the key part another's by now: then a check fails, and nothing is written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from mars.adapters.exchange import Exchange
from mars.adapters.exchange_roles import OwnedLog
from mars.adapters.view import StreamView
from mars.adapters.zookeeper import ZooKeeper
from mars.model import names
from mars.model.commits import Pointer
from mars.model.registry import QuerySet

Operations = tuple[tuple, ...]  # of one transaction (ZooKeeper.transact)


class PartId(NamedTuple):
    """Which key part: its stream's id, and its number in the stream."""

    stream_id: int
    key_part: int


@dataclass(frozen=True)
class Assignment:
    """A key part of the stream of `view`, given to us with version `owner_version` of its owner's znode. `pointer` names its
    last commit, None before the first, and has the version `pointer_version`."""

    view: StreamView
    key_part: int
    owner_version: int
    pointer_version: int
    pointer: Pointer | None = None

    @staticmethod
    def read(zookeeper: ZooKeeper, view: StreamView, key_part: int, owner_version: int) -> Assignment | None:
        """The assignment with the pointer as it is now; None if the stream was dropped. The pointer is read after the owner,
        so that a commit of the former owner in between makes ours fail, not vanish."""
        node = zookeeper.get_synced(names.pointer(view.stream.id, key_part))
        return Assignment(view, key_part, owner_version, node.version, Pointer.load(node.data)) if node else None

    def read_again(self, zookeeper: ZooKeeper) -> Assignment | None:
        """The same with the pointer as it is now; None if the stream was dropped."""
        return Assignment.read(zookeeper, self.view, self.key_part, self.owner_version)

    def __str__(self) -> str:
        return f"key part {self.key_part} of stream {self.view.stream.name}"

    def log(self, exchange: Exchange) -> OwnedLog:
        """The key part's log."""
        return exchange.log(self.view.stream.id, generation=self.view.generation, key_part=self.key_part,
                            epoch=self.owner_version)

    # -- what changes -----------------------------------------------------------------------------------------------

    def lasts(self, view: StreamView, owner_version: int) -> bool:
        """Is what is held under it worth anything, as the stream is now? Not in another generation, nor after it was given
        away and back, nor with other partitions: windows may be closed without them (rule 23)."""
        return (self.owner_version == owner_version and self.view.generation_version == view.generation_version
                and self.view.queries.partitions == view.queries.partitions)

    def knows(self, view: StreamView) -> bool:
        """Is the query set that of this view?"""
        return self.view.queries_version == view.queries_version

    def follow(self, view: StreamView) -> Assignment:
        """The same with another query set."""
        return replace(self, view=view)

    def committed(self, pointer: Pointer) -> Assignment:
        """The same once `to_commit` of this pointer went through."""
        return replace(self, pointer=pointer, pointer_version=self.pointer_version + 1)

    # -- transactions -----------------------------------------------------------------------------------------------

    def to_commit(self, pointer: Pointer) -> Operations:
        """Sets the pointer, unless generation, assignment, query set or pointer are others."""
        return (*self._fence(), ("check", self._queries, self.view.queries_version),
                ("set", self._pointer, pointer.dump(), self.pointer_version))

    def to_fall_back(self, pointer: Pointer, queries: QuerySet) -> Operations:
        """Sets the pointer and the query set, under the same conditions."""
        return (*self._fence(), ("set", self._queries, queries.dump(), self.view.queries_version),
                ("set", self._pointer, pointer.dump(), self.pointer_version))

    def to_prove(self) -> Operations:
        """Sets nothing: assignment, query set and pointer are as we know them. What is deleted then, nobody needs, in
        whichever generation."""
        return (self._owner_check(), ("check", self._queries, self.view.queries_version),
                ("check", self._pointer, self.pointer_version))

    def _fence(self) -> Operations:
        return ("check", names.generation(self.view.stream.id), self.view.generation_version), self._owner_check()

    def _owner_check(self) -> tuple:
        return "check", names.owner(self.view.stream.id, self.key_part), self.owner_version

    @property
    def _queries(self) -> str:
        return names.queries(self.view.stream.id)

    @property
    def _pointer(self) -> str:
        return names.pointer(self.view.stream.id, self.key_part)
