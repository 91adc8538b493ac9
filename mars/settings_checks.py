"""Which settings contradict each other. Looks at values alone, at no file and no network."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from mars.settings import Settings
from mars.workers import SCALED

SASL = ("kafka_sasl_mechanism", "kafka_sasl_username", "kafka_sasl_password")
TLS = ("kafka_tls_ca", "kafka_tls_certificate", "kafka_tls_key")


def contradictions(settings: Settings) -> Iterator[str]:
    """Each contradiction as one sentence that names the settings, and shows no secret."""
    if settings.run_tuples_max < settings.batch_tuples:
        yield f"run_tuples_max ({settings.run_tuples_max}) must not be below batch_tuples ({settings.batch_tuples})"
    for kind in SCALED:
        most = getattr(settings, f"{kind.plural}_max")
        if 0 < most < (count := getattr(settings, kind.plural)):
            yield f"{kind.plural}_max ({most}) must be 0, or not below {kind.plural} ({count})"
    yield from _api(settings)
    yield from _kafka(settings)


def _api(settings: Settings) -> Iterator[str]:
    if bool(settings.api_tls_certificate) != bool(settings.api_tls_key):
        yield "api_tls_certificate and api_tls_key must be given together"
    if not is_loopback(settings.api_host):
        unsafe = f"api_host {settings.api_host} is not loopback"
        if not settings.api_token:
            yield f"{unsafe}, so api_token must be given"
        if not (settings.api_tls_certificate or settings.api_behind_tls):
            yield f"{unsafe}, so api_tls_certificate or api_behind_tls must be given"


def _kafka(settings: Settings) -> Iterator[str]:
    protocol = f"kafka_security_protocol {settings.kafka_security_protocol}"
    if not settings.kafka_security_protocol.endswith("SSL"):
        for name in (name for name in TLS if getattr(settings, name)):
            yield f"{name} is given, but {protocol} has no TLS: it must be SSL or SASL_SSL"
    if bool(settings.kafka_tls_certificate) != bool(settings.kafka_tls_key):
        yield "kafka_tls_certificate and kafka_tls_key must be given together"
    for name in SASL:
        if settings.kafka_security_protocol.startswith("SASL") and not getattr(settings, name):
            yield f"{protocol} needs {name}"
        if not settings.kafka_security_protocol.startswith("SASL") and getattr(settings, name):
            yield f"{name} is given, but {protocol} has no password: it must be SASL_SSL or SASL_PLAINTEXT"


def is_loopback(host: str) -> bool:
    """True if only this machine can reach the host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
