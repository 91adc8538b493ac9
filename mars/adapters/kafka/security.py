"""How Mars connects to Kafka: the settings in the names of both clients, and what a refused connection says about the
settings.

Host names are always verified. Nothing here holds a connection.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable

from mars.adapters.kafka.errors import KafkaDistrust
from mars.config import Config
from mars.errors import ConfigurationError

# kafka-python's names: every client gets these, and `librdkafka` translates them.
Security = dict[str, str]
_LIBRDKAFKA = {
    "security_protocol": "security.protocol", "sasl_mechanism": "sasl.mechanism",
    "sasl_plain_username": "sasl.username", "sasl_plain_password": "sasl.password", "ssl_cafile": "ssl.ca.location",
    "ssl_certfile": "ssl.certificate.location", "ssl_keyfile": "ssl.key.location",
}
_SETTINGS = {
    "security_protocol": "kafka_security_protocol", "sasl_mechanism": "kafka_sasl_mechanism",
    "sasl_plain_username": "kafka_sasl_username", "sasl_plain_password": "kafka_sasl_password",
    "ssl_cafile": "kafka_tls_ca", "ssl_certfile": "kafka_tls_certificate", "ssl_keyfile": "kafka_tls_key",
}
_CA = "kafka_tls_ca must name a PEM file of the authority that signed the brokers' certificates"
_NAME = "kafka_address and the brokers' advertised.listeners must use names that the brokers' certificates contain"
_PROTOCOL = "check that kafka_security_protocol is the protocol of the broker's listener at this port"
# What kafka-python, OpenSSL and brokers say: pattern, what it means, what to do. The first match counts.
_MEANINGS = tuple((re.compile(pattern, re.IGNORECASE), meaning, hint) for pattern, meaning, hint in (
    (r"(hostname|ip address) mismatch", "Kafka's certificate is for another host name", _NAME),
    (r"certificate has expired|not yet valid", "Kafka's certificate is out of date",
     "renew the brokers' certificates, and check this machine's clock"),
    (r"certificate verify failed", "Kafka's certificate is not trusted", _CA),
    (r"certificate.?required|bad.?certificate|alert unknown ca|certificate unknown", "Kafka does not take our certificate",
     "kafka_tls_certificate and kafka_tls_key must name one that the brokers trust"),
    (r"SaslAuthenticationFailed", "Kafka refuses the user or the password",
     "check kafka_sasl_username, kafka_sasl_password and kafka_sasl_mechanism"),
    (r"UnsupportedSaslMechanism|does not support .* mechanism",
     "Kafka does not offer this mechanism", "kafka_sasl_mechanism must be one that the brokers enable"),
    (r"IllegalSaslState|invalid frame length|EOF occurred in violation|wrong.version.number",
     "Kafka's listener speaks another protocol", _PROTOCOL),
))


def security_of(config: Config) -> Security:
    """How to connect to Kafka, in kafka-python's names; empty for PLAINTEXT. Raises ConfigurationError if a PEM file
    cannot be used here. It holds the password: never show it."""
    if config.kafka_security_protocol == "PLAINTEXT":
        return {}
    security = {name: value for name, setting in _SETTINGS.items() if (value := getattr(config, setting))}
    if config.kafka_security_protocol.endswith("SSL"):
        _check_files(config)
    return security


def librdkafka(security: Security) -> dict[str, str]:
    """The same in librdkafka's names."""
    named = {_LIBRDKAFKA[name]: value for name, value in security.items()}
    return named | ({"ssl.endpoint.identification.algorithm": "https"} if named else {})


def distrust(address: str, said: str) -> KafkaDistrust | None:
    """A client's words about a failed connection, as an error that names the settings; None if none of these settings is
    the cause."""
    for pattern, meaning, hint in _MEANINGS:
        if pattern.search(said):
            return KafkaDistrust(meaning, f"at {address}: {said}", hint)
    return None


def _check_files(config: Config) -> None:
    """Reads the PEM files as a client will, because clients say little about them."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if config.kafka_tls_ca:
        _checked("kafka_tls_ca", config.kafka_tls_ca, "a PEM file of certificates",
                 lambda: context.load_verify_locations(config.kafka_tls_ca))
    if config.kafka_tls_certificate:
        # This empty password makes OpenSSL refuse a key that has one; otherwise OpenSSL would ask at the terminal.
        _checked("kafka_tls_certificate", config.kafka_tls_certificate, "a PEM file, with its key in kafka_tls_key",
                 lambda: context.load_cert_chain(config.kafka_tls_certificate, config.kafka_tls_key, lambda: ""))


def _checked(setting: str, file: str, what: str, load: Callable[[], object]) -> None:
    try:
        load()
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        reason = error.strerror if isinstance(error, OSError) else None
        raise ConfigurationError(f"{setting} = {file} cannot be used", reason or str(error),
                                 f"it must be {what}, readable on every machine that has workers") from None
