"""How many workers are wanted and how many live: ALTER WORKERS, SHOW WORKERS, and their documents for REST."""

from __future__ import annotations

from collections.abc import Mapping

from api.statements import status
from api.statements.answers import Answer, listing
from api.statements.context import Context
from mars.errors import ConflictError
from mars.model.workforce import RETIRES
from mars.workers import KINDS, SCALED
from sql import statements as kinds
from sql.refusals import refusal_at


def alter_workers(context: Context, statement: kinds.AlterWorkers) -> Answer:
    """Want other numbers of workers from now on. SqlError, at the number, if a setting does not allow it."""
    most = context.workforce.most
    for kind, count, place in statement.counts:
        if count > most[kind]:
            raise refusal_at(statement.sql, place, *_above(kind, most[kind]))
    return Answer("altered", "workers", notes=change(context, {kind: count for kind, count, _ in statement.counts}))


def change(context: Context, counts: Mapping[str, int]) -> list[str]:
    """Want these numbers, by the plural of a kind; notes for a person. ConflictError if a setting does not allow one."""
    most = context.workforce.most
    for kind, count in counts.items():
        if count > most[kind]:
            title, detail, hint = _above(kind, most[kind])
            raise ConflictError(title, detail, hint)
    wanted = context.workforce.ask(counts) if counts else context.workforce.wanted()
    numbers = " and ".join(f"{count} {kind}" for kind, count in wanted.items())
    told = [f"Wanted are {numbers}. `SHOW WORKERS` shows who lives."]
    parts = sum(stream.key_parts for stream in context.catalog.catalog().streams.values())
    if 0 < parts < counts.get("reducers", 0):
        told.append(f"All streams together have {parts} key parts, and each has one reducer: the others have nothing to do.")
    return told


def _above(kind: str, most: int) -> tuple[str, str, str]:
    return (f"there may be at most {most} {kind}",
            f"Spark has a slot for each worker from the start on, and {kind}_max is {most}",
            f"start Mars with a higher {kind}_max")


def document(context: Context) -> dict:
    """Of each kind: how many are wanted, the most that may be, and the workers that live."""
    wanted = context.workforce.wanted()
    found: dict[str, dict] = {}
    for kind in KINDS:
        alive = [{"id": w["id"], "slot": w["slot"], "host": w["host"], "pid": w["pid"], "leader": bool(w.get("leader")),
                  "retires": bool(w.get(RETIRES))} for w in status.workers(context, kind)]
        number = wanted.get(kind.plural, getattr(context.config, kind.plural))
        found[kind.plural] = {"wanted": number, "most": context.config.most(kind), "scaled": kind in SCALED,
                              "alive": sorted(alive, key=lambda worker: (worker["slot"], worker["id"]))}
    return found


def show_workers(context: Context, _statement: kinds.ShowWorkers) -> Answer:
    """One row for each slot that is wanted or has a worker."""
    lines: list[tuple] = []
    found = document(context)
    for kind in KINDS:
        of = found[kind.plural]
        lines += [(kind.name, w["slot"], w["id"], _state(w), w["host"], w["pid"]) for w in of["alive"]]
        missing = sorted(set(range(of["wanted"])) - {w["slot"] for w in of["alive"]}) if of["scaled"] else []
        lines += [(kind.name, slot, None, "starting", None, None) for slot in missing]
    columns = {"kind": "STRING", "slot": "INT", "id": "STRING", "state": "STRING", "host": "STRING", "pid": "INT"}
    return Answer("rows", table=listing(columns, lines))


def _state(worker: dict) -> str:
    if worker["retires"]:
        return "retiring"
    return "leads" if worker["leader"] else "works"
