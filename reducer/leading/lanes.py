"""Where queries stand, read from the commits, in the form that the exchange's install and attach take. Pure.

A query's cursor in a partition is its least committed position over the key parts; the other key parts' positions are
stops, which no claim may cross (rules 5, 7, 17).
"""

from __future__ import annotations

from mars.model.commits import Manifest
from mars.model.registry import Query, QuerySet


def partitions_of(queries: QuerySet) -> tuple[int, ...]:
    """All partitions in which a query may have a lane. A start is looked up at the broker, and may name one that was added
    a moment ago, before the leader has entered it into the query set."""
    return tuple(sorted({*queries.partitions}.union(*(query.start for query in queries.queries.values()))))


def positions_of(query: Query, manifests: list[Manifest]) -> dict[int, list[int]]:
    """partition -> the query's committed position in each key part."""
    committed = [m.queries[query.id].positions if query.id in m.queries else {} for m in manifests]
    return {p: [positions.get(p, start) for positions in committed] for p, start in query.start.items()}


def attach_state(query: Query, manifests: list[Manifest]) -> dict:
    """What `attach` needs for one query: cursors and stops by partition, and the committed positions. Offsets are texts, as
    Lua keeps only 14 digits of a number that it writes."""
    state: dict = {"cursors": {}, "stops": {}, "positions": []}
    for partition, positions in positions_of(query, manifests).items():
        cursor = min(positions)
        state["cursors"][partition] = str(cursor)
        state["stops"][partition] = [str(position) for position in sorted(set(positions)) if position > cursor]
        state["positions"] += [[key_part, f"{partition}:{query.id}", str(position)]
                               for key_part, position in enumerate(positions)]
    return state


def install_state(queries: QuerySet, manifests: list[Manifest]) -> dict:
    """What `install` needs: every running query's lane in every partition."""
    partitions = [str(partition) for partition in partitions_of(queries)]
    state: dict = {"key_parts": len(manifests), "positions": [], "lanes": {p: {} for p in partitions},
                   "stops": {p: [] for p in partitions}}
    for query in queries.running().values():
        one = attach_state(query, manifests)
        for partition, cursor in one["cursors"].items():
            state["lanes"][str(partition)][query.id] = f"{query.incarnation}:{cursor}"
            state["stops"][str(partition)] += one["stops"][partition]
        state["positions"] += one["positions"]
    return state
