"""`mars status`: what runs, read from the run file, ZooKeeper and the API."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from api.cli.client import Client
from api.cli.commands.instance import settings
from api.instance import runfile
from api.instance.runfile import Run
from mars.config import Config
from mars.errors import MarsError, NotFoundError
from mars.model.workforce import RETIRES
from mars.workers import KINDS


def status(data: Path | None, as_json: bool) -> None:
    """Print the state; exit code 3 if nothing runs."""
    config = settings(data)
    found = collect(config)
    print(json.dumps(found) if as_json else describe(found, config), flush=True)
    if found["state"] == "stopped":
        sys.exit(3)


def collect(config: Config) -> dict:
    """The state as `mars status --json` prints it. `state` is stopped, starting, ready, or degraded. `reason` says what
    has ended and when it is started again, and then what does not answer."""
    run = runfile.running(config.data)
    if run is None:
        return {"state": "stopped"}
    found: dict[str, Any] = {
        "state": run.state, "api": run.api, "kafka": run.kafka, "redis": run.redis, "zookeeper": run.zookeeper,
        **{kind.plural: [] for kind in KINDS}, "queries": [], "sinks": [],
        "data": str(config.data)}
    reasons = list(run.troubles)
    if run.state == runfile.READY:
        try:
            found |= workers(run, config)
            with Client.of(run, config.api_token) as client:
                found["queries"] = client.get("/v1/queries")["queries"]
                found["sinks"] = sinks(client)
                found["wanted"] = wanted(client)
                client.get("/readyz")  # a full state folder, or a Kafka that is away
        except MarsError as error:
            found["state"] = "degraded"
            leads_here = "`mars status`" in (error.hint or "")
            reasons.append(f"{error} ({error.hint})" if error.hint and not leads_here else str(error))
    return found | ({"reason": "; ".join(reasons)} if reasons else {})


def sinks(client: Client) -> list[dict]:
    """The sinks; none of an API that is older than sinks are, as after an update until the next `mars up`."""
    try:
        return client.get("/v1/sinks")["sinks"]
    except NotFoundError:
        return []


def wanted(client: Client) -> dict[str, int]:
    """How many workers of each kind are wanted; nothing of an API that is older than this."""
    try:
        return {kind: of["wanted"] for kind, of in client.get("/v1/workers").items() if of["scaled"]}
    except NotFoundError:
        return {}


def workers(run: Run, config: Config) -> dict[str, list[dict]]:
    """The workers of each kind as they registered themselves, by slot."""
    from mars.adapters.zookeeper import ZooKeeper

    zookeeper = ZooKeeper(run.zookeeper, config.zookeeper_session_ms)
    try:
        return {kind.plural: zookeeper.documents(kind.folder) for kind in KINDS}
    finally:
        zookeeper.stop()


def describe(found: dict, config: Config) -> str:
    """The state in lines for people."""
    if found["state"] == "stopped":
        return f"stopped   nothing runs on {config.data}; start it with `mars up`"
    lines = [f"{found['state']:<10}{found['api']}   data in {config.data}"]
    if "reason" in found:
        lines.append(f"  {found['reason']}")
    lines += [f"  {name:<10}{found[name]}" for name in ("kafka", "redis", "zookeeper")]
    for kind in KINDS:
        alive, count = found.get(kind.plural, []), found.get("wanted", {}).get(kind.plural)
        lines += [f"  {kind.name:<10}{w['id']}  pid {w['pid']} on {w['host']}{'  leader' if w.get('leader') else ''}"
                  f"{'  retires' if w.get(RETIRES) else ''}" for w in alive]
        if count is not None and count != sum(not w.get(RETIRES) for w in alive):
            lines.append(f"  {kind.name:<10}{count} wanted, {len(alive)} alive")
    lines += [f"  query     {q['name']}  {q['state']}" + (f": {q['reason']}" if q["reason"] else "")
              for q in found["queries"]] or ["  no queries"]
    lines += [f"  sink      {s['name']}  {s['state']}" + (f": {s['reason']}" if s["reason"] else "")
              for s in found.get("sinks", [])]
    return "\n".join(lines)
