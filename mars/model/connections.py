"""Connections: where a sink delivers to, and which options each kind takes. Pure.

A connection never holds a password: an option that is secret names a secret, which mars/adapters/secrets.py keeps.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, field

POSTGRES, KAFKA, HTTP, S3, ICEBERG = "POSTGRES", "KAFKA", "HTTP", "S3", "ICEBERG"
NUMBER_MAX = 65_535  # numbers are ports


@dataclass(frozen=True)
class Option:
    """What an option may be: of `choices` if there are any, else a whole number or text. `default` None: it must be given,
    unless it is `optional`. One that is `secret` is given by the name of a secret alone."""

    default: str | int | None = None
    choices: tuple[str, ...] = ()
    is_number: bool = False
    secret: bool = False
    optional: bool = False


TLS = ("VERIFY", "REQUIRE", "OFF")
STORE = {"ENDPOINT": Option(optional=True), "REGION": Option("us-east-1"), "ACCESS_KEY": Option(optional=True),
         "SECRET_KEY": Option(secret=True, optional=True)}
OPTIONS: dict[str, dict[str, Option]] = {
    POSTGRES: {
        "HOST": Option(), "PORT": Option(5432, is_number=True), "DATABASE": Option(), "USER": Option(),
        "PASSWORD": Option(secret=True, optional=True), "TLS": Option("VERIFY", TLS), "TLS_CA": Option(optional=True),
    },
    KAFKA: {
        "ADDRESS": Option(), "SECURITY": Option("PLAINTEXT", ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
        "MECHANISM": Option("SCRAM-SHA-512", ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")),
        "USER": Option(optional=True), "PASSWORD": Option(secret=True, optional=True), "TLS_CA": Option(optional=True),
    },
    HTTP: {
        "URL": Option(), "KEY": Option(secret=True), "TOKEN": Option(secret=True, optional=True),
        "TLS_CA": Option(optional=True),
    },
    S3: STORE,
    ICEBERG: {
        "URI": Option(), "WAREHOUSE": Option(optional=True), "CATALOG": Option("default"),
        "TOKEN": Option(secret=True, optional=True), "TLS_CA": Option(optional=True), **STORE,
    },
}


def missing(kind: str, given: Collection[str]) -> list[str]:
    """The options that a connection of the kind needs besides those."""
    return [name for name, rule in OPTIONS[kind].items()
            if rule.default is None and not rule.optional and name not in given]


@dataclass(frozen=True)
class Connection:
    """`options` are those that were given, by their names in capitals; `secrets` names the secret of each secret option."""

    name: str
    kind: str
    options: dict[str, str | int] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    created_ms: int = 0

    def option(self, name: str) -> str | int | None:
        """Its value, or its default."""
        return self.options.get(name, OPTIONS[self.kind][name].default)

    def to_json(self) -> dict:
        """A JSON-able form; `Connection(**form)` gives back an equal connection."""
        return asdict(self)

    def shown(self) -> str:
        """Its options as they are written in SQL, secrets by their names."""
        known = OPTIONS[self.kind]
        given = [(name, _text(self.options[name], known[name])) for name in known if name in self.options]
        given += [(name, f"SECRET {secret}") for name, secret in self.secrets.items()]
        return ", ".join(f"{name} {value}" for name, value in given)


def _text(value: str | int, option: Option) -> str:
    return str(value) if option.choices or option.is_number else "'" + str(value).replace("'", "''") + "'"
