"""Which settings contradict each other. Looks at values alone, at no file and no network."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mars.config import Config

SASL = ("kafka_sasl_mechanism", "kafka_sasl_username", "kafka_sasl_password")
TLS = ("kafka_tls_ca", "kafka_tls_certificate", "kafka_tls_key")


def contradictions(config: Config) -> Iterator[str]:
    """Each contradiction as one sentence that names the settings, and shows no secret."""
    if config.run_tuples_max < config.batch_tuples:
        yield f"run_tuples_max ({config.run_tuples_max}) must not be below batch_tuples ({config.batch_tuples})"
    yield from _api(config)
    yield from _kafka(config)


def _api(config: Config) -> Iterator[str]:
    if bool(config.api_tls_certificate) != bool(config.api_tls_key):
        yield "api_tls_certificate and api_tls_key must be given together"
    if not _is_loopback(config.api_host):
        unsafe = f"api_host {config.api_host} is not loopback"
        if not config.api_token:
            yield f"{unsafe}, so api_token must be given"
        if not (config.api_tls_certificate or config.api_behind_tls):
            yield f"{unsafe}, so api_tls_certificate or api_behind_tls must be given"


def _kafka(config: Config) -> Iterator[str]:
    protocol = f"kafka_security_protocol {config.kafka_security_protocol}"
    if not config.kafka_security_protocol.endswith("SSL"):
        for name in (name for name in TLS if getattr(config, name)):
            yield f"{name} is given, but {protocol} has no TLS: it must be SSL or SASL_SSL"
    if bool(config.kafka_tls_certificate) != bool(config.kafka_tls_key):
        yield "kafka_tls_certificate and kafka_tls_key must be given together"
    for name in SASL:
        if config.kafka_security_protocol.startswith("SASL") and not getattr(config, name):
            yield f"{protocol} needs {name}"
        if not config.kafka_security_protocol.startswith("SASL") and getattr(config, name):
            yield f"{name} is given, but {protocol} has no password: it must be SASL_SSL or SASL_PLAINTEXT"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
