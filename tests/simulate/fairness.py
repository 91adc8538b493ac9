"""Who gets claims, and who waits while others do (rule 11): lanes behind a front, fronts, and each query among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tests.simulate import claiming
from tests.simulate.scripts import Store

KIND_MAX = 5  # so many claims in a row may pass over all fronts, or all lanes behind: a split moves the turns
QUERY_MAX = 12  # and a query, times the number of queries that wait

Waiting = dict[str, set[str]]  # the kinds of lanes that wait for claims, "front" and "behind", each with its queries


class Fairness:
    """Looks at each new claim: who had tuples that could be claimed, and who got them. `report` is told what is unfair."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self.report = report
        self.passed: Counter[str] = Counter()  # claims in a row, by kind of lane and by query

    def claim(self, store: Store, arguments: dict, call: Callable[[], dict | None]) -> dict | None:
        """The claim that `call` gives of this store."""
        last, waiting = store.counters["claim"], self._waiting(store, arguments) if arguments["allow_new"] else {}
        if arguments.get("fronts_only"):  # beside the turns: mapper/fronts.py bounds their share of a worker's time
            return call()
        rates = arguments.get("rates") or {}
        lanes = {p: max((cursor for query, (_, cursor) in lane.items() if query not in rates), default=0)
                 for p, lane in store.lanes.items()}
        made = call()
        if made is not None and made["id"] > last:
            limited = not rates.keys().isdisjoint(made["tasks"])
            kind = "front" if made["start"] == lanes[made["partition"]] and not limited else "behind"
            self._note(waiting, kind, set(made["tasks"]), len(rates))
        return made

    @staticmethod
    def _waiting(store: Store, arguments: dict) -> Waiting:
        found: Waiting = {}
        most, bound, key_parts, least = (arguments[name] for name in ("most", "bound", "key_parts", "least"))
        for p, last in arguments["ends"].items():
            riders = claiming._lanes_of(store, p, arguments.get("rates") or {})
            cursors = [*riders]
            for start, following in zip(cursors, [*cursors[1:], None], strict=False):
                members = riders[start]
                if last - start < least:
                    continue
                if claiming._range_end(store, p, start, members, following, most, bound, key_parts, last) - start >= least:
                    found.setdefault("behind" if following is not None else "front", set()).update(q for q, _ in members)
        return found

    def _note(self, waiting: Waiting, got: str, tasks: set[str], limited: int) -> None:
        queries = set().union(*waiting.values()) if waiting else set()
        passed = {kind: self.passed[kind] + 1 for kind in waiting if kind != got}
        passed |= {query: self.passed[query] + 1 for query in queries - tasks}
        self.passed = Counter(passed)
        for name, count in passed.items():
            if count > (KIND_MAX if name in waiting else QUERY_MAX * (len(queries) + limited)):
                self.report(f"I7: {name} had tuples to claim, and {count} claims in a row went to others: {waiting}")
