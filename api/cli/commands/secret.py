"""`mars secret`: passwords that connections name. Values come by stdin, a file or a prompt, never by an argument, which `ps`
and histories would show; and they go to ZooKeeper encrypted, past the API."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from api.cli.commands.instance import settings
from api.instance import runfile
from mars.adapters.changes import PATIENCE_S
from mars.adapters.secrets import SecretStore
from mars.adapters.zookeeper import ZooKeeper
from mars.errors import ConflictError, MarsError


def set_secret(data: Path | None, name: str, file: Path | None) -> None:
    """Keep a secret; see `mars secret set --help`."""
    with store(data) as secrets:
        secrets.set(name, _value(file))
    print(f"secret {name} is set; write PASSWORD SECRET {name}", file=sys.stderr)


def list_secrets(data: Path | None) -> None:
    """Print the names."""
    with store(data) as secrets:
        for name in secrets.list():
            print(name)


def drop_secret(data: Path | None, name: str) -> None:
    """Forget a secret that no connection names."""
    from mars.adapters.sink_catalog import SinkStore

    with store(data) as secrets:
        connections = SinkStore(secrets.zk, PATIENCE_S).read().connections.values()
        users = sorted(c.name for c in connections if name in c.secrets.values())
        if users:
            raise ConflictError("the secret is in use", f"connections with {name}: {', '.join(users)}", "drop them first")
        secrets.drop(name)
    print(f"secret {name} is dropped", file=sys.stderr)


@contextmanager
def store(data: Path | None) -> Iterator[SecretStore]:
    """The secrets of the instance that runs on a folder; NotRunningError if none does."""
    config = settings(data)
    run = runfile.require(config.data)
    zookeeper = ZooKeeper(run.zookeeper, config.zookeeper_session_ms)
    try:
        yield SecretStore(zookeeper, config, PATIENCE_S)
    finally:
        zookeeper.stop()


def _value(file: Path | None) -> bytes:
    """The secret, without one line end behind it, which editors and `echo` write."""
    if file is None and sys.stdin.isatty():
        return click.prompt("secret", hide_input=True, confirmation_prompt=True, err=True).encode()
    try:
        raw = sys.stdin.buffer.read() if file is None else file.read_bytes()
        raw.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise MarsError(f"{file or 'stdin'} cannot be read", "it is no UTF-8" if isinstance(error, ValueError)
                        else str(error.strerror)) from None
    return raw.removesuffix(b"\n").removesuffix(b"\r")
