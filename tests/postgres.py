"""A real Postgres for tests, with a password that is hard on quoting."""

from __future__ import annotations

from api.demo import postgres


class Postgres(postgres.Postgres):
    """As the demo's."""

    password = "w0rd of-the@house'"

    def __init__(self) -> None:
        super().__init__(self.password)
