"""A Kafka with a listener for each way to speak to it, for tests and the curve of TLS.

Its certificates are made anew and are good for 127.0.0.1 alone, so that `localhost` is a wrong host name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trustme
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from cryptography.hazmat.primitives import serialization

from api.instance.services import kafka, ports
from mars.config import Config

LISTENERS = ("PLAINTEXT", "SSL", "SASL_SSL", "MUTUAL")  # the last one is TLS that wants a certificate of ours too
USER, PASSWORD = "mars", "a-password-for-tests"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_LISTENERS = """
listeners=PLAINTEXT://127.0.0.1:{kafka},CONTROLLER://127.0.0.1:{kafka_controller},{secure}
advertised.listeners=PLAINTEXT://127.0.0.1:{kafka},{secure}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL,MUTUAL:SSL
ssl.keystore.type=PEM
ssl.keystore.location={keys}
ssl.truststore.type=PEM
ssl.truststore.location={ca}
listener.name.mutual.ssl.client.auth=required
sasl.enabled.mechanisms={mechanisms}
listener.name.sasl_ssl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";
"""
_SCRAM = """listener.name.sasl_ssl.{mechanism}.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
"""


@dataclass(frozen=True)
class SecureKafka:
    """The running broker: its process, its address by listener, and the PEM files of the authority that it is trusted by and
    of a certificate that it trusts."""

    pid: int | None
    addresses: dict[str, str]
    ca: Path
    certificate: Path

    def settings(self, listener: str, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
        """Mars's settings for this way."""
        protocol = "SSL" if listener == "MUTUAL" else listener
        found = {"kafka_address": self.addresses[listener], "kafka_security_protocol": protocol}
        if protocol.endswith("SSL"):
            found["kafka_tls_ca"] = str(self.ca)
        if protocol.startswith("SASL"):
            found |= {"kafka_sasl_mechanism": mechanism, "kafka_sasl_username": USER, "kafka_sasl_password": PASSWORD}
        if listener == "MUTUAL":
            found |= dict.fromkeys(("kafka_tls_certificate", "kafka_tls_key"), str(self.certificate))
        return found


@contextmanager
def secure_kafka(config: Config, folder: Path) -> Iterator[SecureKafka]:
    """A broker with its data in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    ca, keys = certificates(folder)
    names = ("kafka", *(name.lower() for name in LISTENERS[1:]))
    chosen = {name: ports.pick(folder, name) for name in (*names, "kafka_controller")}
    addresses = {listener: f"127.0.0.1:{chosen[name]}" for listener, name in zip(LISTENERS, names, strict=True)}
    more = _LISTENERS.format(
        **chosen, secure=",".join(f"{name}://{addresses[name]}" for name in LISTENERS[1:]), keys=keys, ca=ca,
        mechanisms=",".join(MECHANISMS), user=USER, password=PASSWORD)
    service = kafka.start(config, folder, more + "".join(_SCRAM.format(mechanism=m.lower()) for m in MECHANISMS[1:]))
    try:
        _make_user(service.address)
        yield SecureKafka(service.pid, addresses, ca, keys)
    finally:
        service.stop()


def certificates(folder: Path) -> tuple[Path, Path]:
    """PEM files of a new authority, and of a key and certificate of 127.0.0.1 in the form that Kafka reads."""
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    ca, keys = folder / "ca.pem", folder / "broker.pem"
    authority.cert_pem.write_to_path(ca)
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    keys.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                       serialization.NoEncryption()) + issued.cert_chain_pems[0].bytes())
    return ca, keys


def _make_user(address: str) -> None:
    """Let the user prove its password by SCRAM; for PLAIN it stands in the broker's own settings."""
    admin = AdminClient({"bootstrap.servers": address})
    for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):  # a request takes a user once
        made = UserScramCredentialUpsertion(USER, ScramCredentialInfo(kind, 4096), PASSWORD.encode())
        admin.alter_user_scram_credentials([made])[USER].result(20)
