"""Where queries stand, read from the commits, in the form that the exchange's install and attach take. Pure.

A query's cursor in a partition is its least committed position over the key parts; the other key parts' positions are
stops, which no claim may cross (rules 5, 7, 17).
"""

from __future__ import annotations

from mars.commits import Manifest
from mars.registry import Query, QuerySet


def partitions_of(queries: QuerySet) -> tuple[int, ...]:
    """All partitions in which a query may have a lane. A start is looked up at the broker, and may name one that was added
    a moment ago, before the leader has entered it into the query set."""
    return tuple(sorted({*queries.partitions}.union(*(query.start for query in queries.queries.values()))))


def positions_of(query: Query, manifests: list[Manifest]) -> dict[int, list[int]]:
    """partition -> the query's committed position in each key part."""
    committed = [m.queries[query.id].positions if query.id in m.queries else {} for m in manifests]
    return {p: [positions.get(p, start) for positions in committed] for p, start in query.start.items()}


def nows_of(query: Query, manifests: list[Manifest], partition: int, cursor: int) -> list[tuple[int, int, str]]:
    """(end, now, query) of the ranges above the cursor that some key part has merged already (rule 26). Two queries may have
    merged one range at different times, each on its lane."""
    found = {(*pair, query.id) for m in manifests if query.id in m.queries
             for pair in m.queries[query.id].nows.get(partition, []) if pair[0] > cursor}
    return sorted(found)


def attach_state(query: Query, manifests: list[Manifest]) -> dict:
    """What `attach` needs for one query: cursors, stops and nows by partition, and the committed positions. Where counting
    goes on after a fall-back is a stop too (rule 25)."""
    state: dict = {"cursors": {}, "stops": {}, "nows": {}, "positions": []}
    for partition, positions in positions_of(query, manifests).items():
        cursor = min(positions)
        nows = nows_of(query, manifests, partition, cursor)
        state["cursors"][partition] = cursor
        counted = {m.queries[query.id].counted.get(partition, 0) for m in manifests if query.id in m.queries}
        state["stops"][partition] = sorted({p for p in {*positions, *counted} if p > cursor} | {end for end, *_ in nows})
        state["nows"][partition] = nows
        state["positions"] += [[k, f"{partition}:{query.id}", p] for k, p in enumerate(positions)]
    return state


def install_state(queries: QuerySet, manifests: list[Manifest]) -> dict:
    """What `install` needs: every running query's lane in every partition. The claim script joins equal ones."""
    state: dict = {"key_parts": len(manifests), "positions": [],
                   **{name: {str(p): [] if name != "lanes" else {} for p in partitions_of(queries)}
                      for name in ("lanes", "stops", "nows")}}
    for query in queries.running().values():
        one = attach_state(query, manifests)
        for partition, cursor in one["cursors"].items():
            key = str(partition)
            state["lanes"][key][query.id] = f"{query.incarnation}:{cursor}"
            state["stops"][key] += one["stops"][partition]
            state["nows"][key] += one["nows"][partition]
        state["positions"] += one["positions"]
    return state
