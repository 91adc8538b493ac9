"""`mars up`, `mars down` and `mars doctor`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from api.instance import runfile
from mars import config as configuration
from mars.config import Config
from mars.errors import MarsError


def settings(data: Path | None, file: Path | None = None, **flags: object) -> Config:
    """The configuration of a command, from its flags: the folder, perhaps a file, and other settings."""
    return configuration.load({"data": data, **flags}, file)


def up(data: Path | None, port: int | None, detach: bool, file: Path | None) -> None:
    """Start an instance; see `mars up --help`. Attached, it returns only when the instance was stopped."""
    from api.instance import up

    config = settings(data, file, api_port=port)
    began = time.monotonic()
    print(f"Starting Mars, data in {config.data}", file=sys.stderr)

    def ready(run: runfile.Run) -> None:
        hint = "" if detach else "   Ctrl-C stops it"
        print(f"ready in {time.monotonic() - began:.1f} s: {run.api}{hint}", flush=True)

    if detach:
        ready(up.detach(config, reporter()))
        return
    up.serve(config, reporter(), ready)
    print("Mars has stopped", file=sys.stderr)


def reporter() -> Callable[[str, str, float], None]:
    """Prints one line for each part that becomes ready."""
    def report(name: str, detail: str, seconds: float) -> None:
        click.echo(f"  {name:<16} {detail:<32} {seconds:5.1f} s", err=True)
    return report


def down(data: Path | None, purge: bool) -> None:
    """Stop the instance. With `purge`, delete its folder, which must look like a data folder of Mars."""
    from api.instance import up

    config = settings(data)
    purge = purge and config.data.exists()
    if purge and not (config.data / runfile.LOCK).exists():
        raise MarsError("This folder is not purged", f"{config.data} does not look like a data folder of Mars",
                        "delete it yourself if it is one")
    stopped = up.down(config.data, purge=purge)
    print("Mars has stopped" if stopped else f"Mars was not running on {config.data}", file=sys.stderr)
    if purge:
        others = [name for name in runfile.foreign(config.data) if name != "lost+found"]
        left = "deleted" if not config.data.exists() else "empty" if not others else \
            (f"kept, because it has files that Mars did not make ({', '.join(others[:3])}"
             f"{' and more' if len(others) > 3 else ''})")
        print(f"{config.data} is {left}; a state_uri elsewhere, and a Kafka, Redis or ZooKeeper that others started, keep "
              "what they have", file=sys.stderr)
    elif stopped:
        print(f"its data stays in {config.data}; `mars down --purge` deletes it", file=sys.stderr)


def doctor(data: Path | None, file: Path | None) -> None:
    """Print what the checks found; exit code 4 if anything is missing."""
    from api.cli.doctor import check

    checks = check(settings(data, file))
    for found in checks:
        mend = f"   fix it with: {found.command}" if found.command and not found.ok else ""
        print(f"  {found.name:<10} {'ok     ' if found.ok else 'PROBLEM'}  {found.detail}{mend}")
    if not all(found.ok for found in checks):
        sys.exit(4)
