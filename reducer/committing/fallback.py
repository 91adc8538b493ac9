"""Falling back when a file of a commit is damaged (rule 25): each query goes back to its newest commit that can be read
whole.

A query's state, positions, results and counters are then those of the earlier commit, and what came since is merged
again. It remembers the watermark that readers knew, and readers wait until that is reached again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace

from mars.adapters.storage import CorruptFileError, Storage
from mars.adapters.view import StreamView, stop_queries
from mars.adapters.zookeeper import ZooKeeper
from mars.model import names
from mars.model.commits import Manifest, Pointer, QueryCommit, ResultSegment, Segment
from mars.model.identifiers import identifier
from mars.model.log_epochs import together
from mars.model.plan import Stream
from mars.model.registry import RUNNING, Query, QuerySet
from reducer.committing.assignment import Assignment
from reducer.committing.history import History, Point, pointer_to
from reducer.state.changelog import still_revised

log = logging.getLogger("mars.reducer")
STATE_LOST = "STATE_LOST"


@dataclass
class Found:
    """A manifest whose files can all be read, and the points before it. `notes` says in words what became of each query
    that fell back, `lost` of each query of which nothing can be read. `reads`: can the manifest that the pointer names be
    read?"""

    reads: bool
    manifest: Manifest
    points: list[Point]
    notes: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)


def points(storage: Storage, pointer: Pointer | None, last: Manifest) -> list[Point]:
    """The earlier commits that a pointer names and whose manifests can be read, the last one first."""
    found = []
    for earlier in pointer.earlier if pointer else ():
        try:
            empty = Manifest(last.stream_id, last.key_part)
            found.append(Point(earlier, storage.manifest(earlier) if earlier.manifest else empty))
        except CorruptFileError as error:
            log.warning("an earlier commit cannot be fallen back to: %s", error)
    return found


def fall_back(zookeeper: ZooKeeper, storage: Storage, assignment: Assignment) -> bool:
    """Set the key part's pointer to what can still be read, and ask for a recovery, in one transaction. Queries of which
    nothing can be read stop as STATE_LOST. False if nothing could be done: then the files have to come back.
    StateAwayError if the state folder itself is missing."""
    now = assignment.read_again(zookeeper)
    if now is None or now.pointer is None:
        return True
    storage.require()
    found = find(storage, now)
    if found.lost:
        storage.require()
        found = find(storage, now)  # look once more: a file server may have just come back
    if found.lost:
        return _stop_lost(zookeeper, now.view, found)
    if found.reads and not found.notes:
        return True  # whole again
    file = storage.new_file(found.manifest.folder, "commit")
    segment = file.add(found.manifest.dump())
    file.write()
    queries = QuerySet.load(now.view.queries.dump())  # the view is shared and must not be changed
    for id_, note in found.notes.items():
        log.error("query %s: %s", id_, note)
        if queries.queries[id_].state == RUNNING:  # a query that has stopped keeps its reason
            queries.queries[id_].reason = note
    pointer = pointer_to(segment, found.manifest, History.of(found.points))
    request = names.recovery_request(now.view.stream.id)
    asked = zookeeper.get(request)
    return zookeeper.transact(
        *now.to_fall_back(pointer, queries),
        ("check", request, asked.version) if asked else ("create", request, b"a key part fell back to an older commit"))


def _stop_lost(zookeeper: ZooKeeper, view: StreamView, found: Found) -> bool:
    """Stop the queries of which nothing can be read; all of the stream if not even a manifest can. True if any was
    stopped."""
    reasons = dict(found.lost)
    if not found.reads:
        names_ = ", ".join(sorted(view.queries.queries[id_].name for id_ in found.lost))
        reasons = {id_: f"the state of {names_} is in the way: {next(iter(found.lost.values()))}"
                   for id_ in view.queries.queries} | reasons
    stopped = []
    for id_, reason in reasons.items():
        log.error("query %s: %s", id_, reason)
        stopped += stop_queries(zookeeper, view.stream, [id_], STATE_LOST, reason, only_running=False)
    return bool(stopped)


def find(storage: Storage, assignment: Assignment) -> Found:
    """One manifest, under the next commit number, with the newest commit of each query that can be read whole."""
    view, pointer, empty = assignment.view, assignment.pointer, Manifest(assignment.view.stream.id, assignment.key_part)
    assert pointer is not None, "before the first commit there is nothing to fall back from"
    manifest, damage = _newest(storage, pointer)
    earlier = points(storage, pointer, empty)
    found = Found(manifest is not None, replace(manifest or empty, commit=pointer.commit + 1, queries={}), earlier)
    for id_, query in view.queries.queries.items():
        last = manifest.queries.get(id_) if manifest else None
        if manifest is None and id_ not in pointer.published:
            continue  # it has no commit here yet
        if manifest is not None:
            damage = ""
            if last and query.state != STATE_LOST:
                damage = _damage(storage, last, pointer.manifest.path, view.stream, query)
            if not damage:
                found.manifest.queries |= {id_: last} if last else {}
                continue
        _choose(storage, found, view.stream, query, last, pointer, damage)
    return found


def _newest(storage: Storage, pointer: Pointer) -> tuple[Manifest | None, str]:
    try:
        return storage.manifest(pointer), ""
    except CorruptFileError as error:
        return None, str(error)


def _choose(storage: Storage, found: Found, stream: Stream, query: Query, last: QueryCommit | None, pointer: Pointer,
            damage: str) -> None:
    """Take the query's newest earlier commit that can be read whole, or note that the query is lost."""
    id_ = query.id
    for point in found.points:
        entry = point.manifest.queries.get(id_)
        if entry and _damage(storage, entry, "", stream, query):
            continue
        entry = entry or QueryCommit(last.incarnation if last else 0)
        others = [p.manifest.queries[id_] for p in found.points if id_ in p.manifest.queries] + ([last] if last else [])
        commits = max([entry.commits + pointer.commit - point.earlier.commit] + [other.commits for other in others]) + 1
        found.manifest.queries[id_] = again(entry, others, commits, pointer.published.get(id_))
        found.manifest.queries[id_].fell_at = found.manifest.commit
        if query.plan.aggregation.late == "UPDATE" and (known := pointer.published.get(id_)) is not None:
            found.manifest.queries[id_].revised_from, found.manifest.queries[id_].revised_until = commits, known
        found.notes[id_] = (f"key part {found.manifest.key_part} fell back from commit {pointer.commit} to "
                            f"{point.earlier.commit}, and what came since is merged again: {damage}")
        return
    if id_ not in found.lost:
        found.lost[id_] = (
            f"key part {found.manifest.key_part}: {damage}, and no earlier commit reads either; put the file back from a "
            f"backup and RESUME QUERY {identifier(query.name)}, or DROP it and CREATE it FROM EARLIEST")


def again(entry: QueryCommit, others: list[QueryCommit], commits: int, published: int | None) -> QueryCommit:
    """An earlier commit as it was, with the leader epochs of the other commits, under a commit number that nobody has
    seen; `published` is the watermark that readers knew."""
    is_behind = published is not None and (entry.watermark is None or published > entry.watermark)
    return replace(entry.copy(), commits=commits, leader_epochs=_leader_epochs([entry, *others]),
                   published=published if is_behind else None)


def _leader_epochs(entries: list[QueryCommit]) -> dict[int, list[tuple[int, int]]]:
    """The leader epochs of all records that were counted, because they may be lost before they are read again."""
    return {p: together([entry.leader_epochs.get(p, []) for entry in entries])
            for p in {p for entry in entries for p in entry.leader_epochs}}


def _damage(storage: Storage, entry: QueryCommit, newest: str, stream: Stream, query: Query) -> str:
    """Which part of a query's state, or of its results in the file `newest`, cannot be read; '' if everything can. The state
    of LATE UPDATE lies in results, too."""
    kept, needed = query.plan.aggregation, list[ResultSegment]()
    if kept.late == "UPDATE":
        try:
            needed = still_revised(kept, stream, entry.watermark, [*storage.older_results(entry), *entry.results])
        except CorruptFileError as error:
            return str(error)
    return _unread(storage, [*entry.state, *_results_in(entry, newest), *(result.segment for result in needed)])


def _results_in(entry: QueryCommit, path: str) -> list[Segment]:
    return [result.segment for result in (*entry.results, *entry.late) if result.segment.path == path]


def _unread(storage: Storage, segments: list[Segment]) -> str:
    for segment in segments:
        try:
            storage.read(segment)
        except CorruptFileError as error:
            return str(error)
    return ""
