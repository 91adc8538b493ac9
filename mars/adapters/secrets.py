"""Secrets: passwords by name, encrypted in ZooKeeper; the key is a file of its own that only this user can read.

Whoever has ZooKeeper's data has no password without the key, and the other way round. Nothing here is ever shown: errors
name secrets, and no value leaves but by `get`.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mars.adapters.changes import answering
from mars.adapters.view import instance_id
from mars.adapters.zookeeper import ZooKeeper
from mars.config import Config
from mars.errors import ConfigurationError, NotFoundError, RequestError
from mars.model import names

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
BYTES_MAX = 64 * 1024
KEY_BYTES, NONCE_BYTES = 32, 12
FILE = "secret.key"


class SecretStore:
    """The secrets of one instance. The key is made with the first secret; a host with workers but without the key cannot
    read any. NotReadyError while ZooKeeper does not answer."""

    def __init__(self, zk: ZooKeeper, config: Config, patience_s: float = 0.0) -> None:
        self.zk = zk
        self.key_file = Path(config.secret_key_file) if config.secret_key_file else config.data / FILE
        self.patience_s = patience_s

    def set(self, name: str, value: bytes) -> None:
        """Keep a secret, in place of an earlier one of that name. RequestError for a name or a value that cannot be one."""
        if not NAME.fullmatch(name):
            raise RequestError("this cannot be the name of a secret", repr(name),
                               "a name begins with a letter, and has letters, digits, '_', '.' and '-'")
        if not 0 < len(value) <= BYTES_MAX:
            raise RequestError("the secret is empty" if not value else "the secret is too long",
                               f"it has {len(value):,} bytes, and may have 1 to {BYTES_MAX:,}", "give the password alone")
        nonce = secrets.token_bytes(NONCE_BYTES)
        data = nonce + AESGCM(self._key(make=True)).encrypt(nonce, value, self._bound_to(name))
        answering(self.zk, lambda: self._write(f"{names.SECRETS}/{name}", data), self.patience_s)

    def get(self, name: str) -> str:
        """The secret's text. NotFoundError if there is none; ConfigurationError if the key is missing or another one."""
        znode = answering(self.zk, lambda: self.zk.get(f"{names.SECRETS}/{name}"), self.patience_s)
        if znode is None:
            raise unknown(name)
        try:
            value = AESGCM(self._key()).decrypt(znode.data[:NONCE_BYTES], znode.data[NONCE_BYTES:], self._bound_to(name))
        except InvalidTag:
            raise ConfigurationError("the secrets were kept with another key", f"{self.key_file} does not open {name}",
                                     "put the key file back from a backup, or set the secrets anew") from None
        return value.decode()

    def list(self) -> list[str]:
        """The names of all secrets, sorted."""
        return answering(self.zk, lambda: self.zk.children(names.SECRETS), self.patience_s)

    def drop(self, name: str) -> None:
        """Forget a secret. NotFoundError if there is none."""
        if not answering(self.zk, lambda: self.zk.transact(("delete", f"{names.SECRETS}/{name}")), self.patience_s):
            raise unknown(name)

    def _write(self, path: str, data: bytes) -> None:
        self.zk.ensure(path, data)
        self.zk.client.set(path, data)

    def _bound_to(self, name: str) -> bytes:
        """What an encrypted secret is tied to, so that nobody can put one in another's place."""
        return f"{instance_id(self.zk)}/{name}".encode()

    def _key(self, make: bool = False) -> bytes:
        if make and not self.key_file.exists():
            self._make_key()
        try:
            key = self.key_file.read_bytes()
            mode = self.key_file.stat().st_mode
        except OSError as error:
            raise ConfigurationError("the key of the secrets cannot be read", f"{self.key_file}: {error.strerror}",
                                     "copy it from the host where `mars secret set` ran, or set secret_key_file") from None
        if mode & 0o077:
            raise ConfigurationError("others can read the key of the secrets", f"{self.key_file} has mode {mode & 0o777:o}",
                                     f"chmod 600 {self.key_file}, and set the secrets anew if somebody may have read it")
        if len(key) != KEY_BYTES:
            raise ConfigurationError("the key of the secrets is damaged", f"{self.key_file} has {len(key)} bytes, and "
                                     f"should have {KEY_BYTES}",
                                     "put it back from a backup, or delete it and set the secrets anew")
        return key

    def _make_key(self) -> None:
        self.key_file.parent.mkdir(parents=True, exist_ok=True)
        new = self.key_file.with_name(f"{self.key_file.name}.{os.getpid()}.part")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):  # another process was quicker: its key holds
                os.link(new, self.key_file)
        finally:
            new.unlink(missing_ok=True)


def unknown(name: str) -> NotFoundError:
    """The error for a name that is no secret's."""
    return NotFoundError("unknown secret", f"there is no secret {name}",
                         f"`mars secret set {name}` asks for it; `mars secret list` lists them all")
