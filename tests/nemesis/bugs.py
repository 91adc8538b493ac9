"""Planted bugs: each takes one safeguard from Mars's workers, through the hook, and its hunt must go red.

`BUGS` maps a name to a function that changes the classes of the process that calls it. Production code has no switch for
any of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps

ALL = "all"  # the name of every one of them


@dataclass(frozen=True)
class Bug:
    """How it is planted; `in_server` ones are in the API, the others in the workers."""

    plant: Callable[[], None]
    in_server: bool


BUGS: dict[str, Bug] = {}


def bug(function: Callable[[], None], in_server: bool = False) -> Callable[[], None]:
    """Enters a planted bug under its function's name."""
    BUGS[function.__name__] = Bug(function, in_server)
    return function


def _script(name: str, *changes: tuple[str, str]) -> None:
    """Change what these patterns find in the text of a script of the exchange."""
    from mars.adapters.exchange import Exchange
    init = Exchange.__init__

    @wraps(init)
    def changed(self, *arguments: object) -> None:
        init(self, *arguments)
        text = self._scripts[name].script
        for old, new in changes:
            text, count = re.subn(old, new, text)
            assert count, (name, old)
        self._scripts[name] = self.redis.register_script(text)

    Exchange.__init__ = changed


def _checks(*endings: str) -> None:
    """Transactions check znodes with these endings no more: they pass whatever their versions are."""
    from mars.adapters.zookeeper import ZooKeeper
    real = ZooKeeper.transact

    def transact(self, *operations: tuple) -> bool:
        if any(operation[0] == "set" and operation[1].endswith("/pointer") for operation in operations):
            operations = tuple(("set", o[1], o[2], -1) if o[0] == "set" and o[1].endswith(endings) else o
                               for o in operations if not (o[0] == "check" and o[1].endswith(endings)))
        return real(self, *operations)

    ZooKeeper.transact = transact


@bug
def commit_ignores_generation() -> None:
    _checks("/generation")


@bug
def commit_ignores_query_set() -> None:
    _checks("/queries")


@bug
def commit_ignores_owner_and_pointer() -> None:
    _checks("/owner", "/pointer")


@bug
def claims_cross_stops() -> None:
    _script("claim", ("if stop then last", "if false then last"))


@bug
def positions_are_not_compared() -> None:
    """A range that overlaps what is merged, or was merged, is merged too."""
    from mars.errors import InvariantError
    from reducer.state.merge import QueryState
    real = QueryState.accept

    def accept(state: QueryState, piece: object) -> None:
        try:
            real(state, piece)
        except InvariantError:
            state._merge(piece)

    def skip(state: QueryState, piece: object) -> None:
        if piece.share.cells:
            position = state.commit.positions[piece.partition]
            state._merge(piece)
            state.commit.positions[piece.partition] = position

    QueryState.accept, QueryState._skip = accept, skip


@bug
def push_loses_cells_when_killed() -> None:
    """The claim is deleted first, in a call of its own: a mapper that dies or is cut off between takes the cells along."""
    import time

    from mars.adapters.exchange import Exchange
    from mars.model.names import Keys
    real = Exchange.push

    def push(self, stream_id: int, generation: int, claim: object, *rest: object) -> int:
        keys = Keys(stream_id)
        with self._translated():
            held = self.redis.hget(keys.claims, claim.id)
            deadline = self.redis.zscore(keys.leases, claim.id)
            self.redis.hdel(keys.claims, claim.id)
            self.redis.zrem(keys.leases, claim.id)
            time.sleep(0.05)
            if held is not None and deadline is not None:
                self.redis.hset(keys.claims, claim.id, held)
                self.redis.zadd(keys.leases, {str(claim.id): deadline})
        return real(self, stream_id, generation, claim, *rest)

    Exchange.push = push


@bug
def scripts_ignore_the_generation() -> None:
    for name in ("claim", "push", "receive", "trim"):
        _script(name, (r"if \S+ ~= ARGV\[1\] then", "if false then"))


@bug
def server_is_not_compared() -> None:
    """A Redis that restarted, or is another one, passes for the one that the generation was installed on."""
    from dataclasses import replace

    from mars.adapters.exchange import Exchange
    real = Exchange.standing

    def standing(self, *arguments: object) -> object:
        found = real(self, *arguments)
        return replace(found, installed=(found.installed[0], found.server)) if found.installed else found

    Exchange.standing = standing
    _script("claim", ("if known.2. ~= identity then", "if false then"))


@bug
def unknown_outcome_is_taken_for_done() -> None:
    from reducer.committing import pointer
    pointer.outcome = lambda *_: True


@bug
def log_is_trimmed_before_the_commit() -> None:
    from reducer.keypart import KeyPart
    real = KeyPart.commit

    def commit(part: KeyPart) -> None:
        part.assignment.log(part.exchange).trim(list(part.trim.undone), {})
        real(part)

    KeyPart.commit = commit


@bug
def uncommitted_state_survives_a_new_generation() -> None:
    from reducer.holdings import Holdings
    real = Holdings._keep_up

    def keep_up(holdings: Holdings, id_: object, view: object, owner_version: int) -> None:
        part = holdings.parts.get(id_)
        if part and part.view.generation != view.generation:
            part.truth.follow(view)
            part.inbox.after, part.trim.undone = 0, {}
        real(holdings, id_, view, owner_version)

    Holdings._keep_up = keep_up


@bug
def windows_close_without_a_check() -> None:
    from reducer.state.close import CheckedWatermark
    CheckedWatermark.offer = lambda self, reached, facts: reached


@bug
def watermark_passes_a_gap() -> None:
    """The event time of an entry that waits counts already."""
    from reducer.state.merge import QueryState
    real = QueryState.accept

    def accept(state: QueryState, piece: object) -> None:
        p, met = piece.partition, piece.header.max_event_time
        if met is not None:
            state.commit.max_event_time[p] = max(met, state.commit.max_event_time.get(p, met))
        real(state, piece)

    QueryState.accept = accept


@bug
def spilled_files_are_not_checked() -> None:
    """Length and checksum of a local file are not compared."""
    import google_crc32c

    from mapper.spill import Spill
    real = Spill.read

    def read(files: Spill, stream: object, generation: int, claim: object, columns: object) -> object:
        if claim.file:
            try:
                with open(claim.file["path"], "rb") as file:
                    data = file.read()
                claim.file.update(length=len(data), crc=google_crc32c.value(data))
            except OSError:
                pass
        return real(files, stream, generation, claim, columns)

    Spill.read = read


@bug
def aborted_transactions_count() -> None:
    """Aborted records are read as if they were committed."""
    from mapper import decode
    real = decode._visible
    decode._visible = lambda buffer, batches, _aborted: real(buffer, batches, [])


@bug
def commits_are_read_before_the_generation_is_raised() -> None:
    from reducer.leading.lead import Leader
    recover, manifests = Leader._recover_if_needed, Leader._manifests

    def early(leader: Leader, view: object, *rest: object) -> bool:
        kept = manifests(leader, view)
        leader._manifests = lambda _: kept
        try:
            return recover(leader, view, *rest)
        finally:
            del leader._manifests

    Leader._recover_if_needed = early


@partial(bug, in_server=True)
def windows_show_when_one_key_part_has_closed_them() -> None:
    """A reader sees a window of which the other key part's rows come later."""
    from mars.results.snapshot import Snapshot

    def watermark(snapshot: Snapshot) -> int | None:
        marks = [part.watermark if part else None for part in snapshot.parts]
        return None if None in marks else max(marks)

    Snapshot.watermark = property(watermark)
