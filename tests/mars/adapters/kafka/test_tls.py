"""TLS to brokers: settings in the words of both clients, files that cannot be used, and channels over it."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import trustme
from kafka.net.selector import NetworkSelector

from api.instance.services import kafka
from mars.adapters.kafka.channel import LARGE_BYTES
from mars.adapters.kafka.connect import Connector
from mars.adapters.kafka.errors import KafkaUnreachable
from mars.adapters.kafka.security import distrust, librdkafka, security_of
from mars.adapters.kafka.wire import Wire
from mars.config import load
from mars.errors import ConfigurationError
from tests.mars.adapters.kafka.test_channel import Request, channel, response

SASL = {"kafka_security_protocol": "SASL_SSL", "kafka_sasl_mechanism": "PLAIN", "kafka_sasl_username": "u",
        "kafka_sasl_password": "a secret"}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> SimpleNamespace:
    """PEM files of two authorities and of a certificate and key of the first."""
    folder = tmp_path_factory.mktemp("pem")
    authority, other = trustme.CA(), trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    issued.cert_chain_pems[0].write_to_path(folder / "certificate.pem")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    other.issue_cert("127.0.0.1").private_key_pem.write_to_path(folder / "other_key.pem")
    (folder / "no.pem").write_text("nothing")
    return SimpleNamespace(folder=folder, authority=authority, issued=issued)


def test_plaintext_has_no_security():
    assert security_of(load(environment={})) == {}
    assert librdkafka({}) == {}


def test_both_clients_are_told_the_same(files):
    paths = {f"kafka_tls_{name}": f"{files.folder}/{name}.pem" for name in ("ca", "certificate", "key")}
    config = load({**SASL, **paths}, environment={})
    security = security_of(config)
    assert security == {
        "security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_plain_username": "u",
        "sasl_plain_password": "a secret", "ssl_cafile": f"{files.folder}/ca.pem",
        "ssl_certfile": f"{files.folder}/certificate.pem", "ssl_keyfile": f"{files.folder}/key.pem"}
    assert librdkafka(security) == {
        "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "a secret",
        "ssl.ca.location": f"{files.folder}/ca.pem", "ssl.certificate.location": f"{files.folder}/certificate.pem",
        "ssl.key.location": f"{files.folder}/key.pem", "ssl.endpoint.identification.algorithm": "https"}
    assert set(security) <= set(Connector.DEFAULT_CONFIG)
    assert Connector.DEFAULT_CONFIG["ssl_check_hostname"] is True


@pytest.mark.parametrize(("settings", "words"), [
    ({"kafka_tls_ca": "none.pem"}, ["kafka_tls_ca", "No such file"]),
    ({"kafka_tls_ca": "no.pem"}, ["kafka_tls_ca"]),
    ({"kafka_tls_ca": "a\0.pem"}, ["kafka_tls_ca", "null byte"]),
    ({"kafka_tls_certificate": "certificate.pem", "kafka_tls_key": "other_key.pem"}, ["kafka_tls_certificate", "mismatch"])])
def test_a_file_that_cannot_be_used_is_named(files, settings, words):
    paths = {name: str(files.folder / file) for name, file in settings.items()}
    with pytest.raises(ConfigurationError) as caught:
        security_of(load({"kafka_security_protocol": "SSL", **paths}, environment={}))
    assert [word for word in (*words, *paths.values()) if word.lower() not in f"{caught.value} {caught.value.hint}".lower()
            and word not in paths.values()] == []


def test_a_relative_file_is_one_of_this_folder():
    config = load({"kafka_security_protocol": "SSL", "kafka_tls_ca": "ca.pem"}, environment={})
    assert config.kafka_tls_ca == str(Path("ca.pem").absolute())


def test_our_own_kafka_has_no_tls(tmp_path):
    with pytest.raises(ConfigurationError, match="kafka_address is empty"):
        kafka.start(load({"data": tmp_path, "kafka_security_protocol": "SSL"}, environment={}), tmp_path)


def test_what_is_about_no_setting_is_left_alone():
    assert distrust("k:1", "111 ECONNREFUSED") is None


def test_a_peer_that_says_nothing_of_tls_is_not_waited_for():
    """It takes the connection: the kernel does, of a process that stands still."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        wire = Wire(address, {"security_protocol": "SSL"}, timeout_s=1.0, retry_s=1.0)

        def connect() -> None:
            with pytest.raises(KafkaUnreachable):
                wire.connect()
            told.set()

        told = threading.Event()
        waiting = threading.Thread(target=connect, daemon=True)
        waiting.start()
        waiting.join(60)
        assert told.is_set()


@pytest.fixture
def secured(files):
    """The two ends of a TLS connection, ours as kafka-python leaves it."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    files.issued.configure_cert(server)
    files.authority.configure_trust(client)
    theirs = []

    def accept() -> None:
        theirs.append(server.wrap_socket(listening.accept()[0], server_side=True))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        accepting = threading.Thread(target=accept)
        accepting.start()
        ours = client.wrap_socket(socket.create_connection(listening.getsockname()), server_hostname="127.0.0.1")
        accepting.join()
    ours.setblocking(False)
    yield ours, theirs[0]
    ours.close()
    theirs[0].close()


@pytest.mark.parametrize("size", [0, LARGE_BYTES, 3_000_001])
@pytest.mark.parametrize("piece", [1 << 30, 16_384, 4_097])
def test_responses_over_tls_are_whole_whatever_their_records(secured, size, piece):
    """A record may hold the end of one response and the next one: what lies in the TLS layer is not waited for."""
    ours, theirs = secured
    body = (bytes(i * 7 & 255 for i in range(1_000)) * (size // 1_000 + 1))[:size]
    sent = response(1, body) + response(2, b"next") + response(3, body)
    sender = threading.Thread(target=lambda: [theirs.sendall(sent[i:i + piece]) for i in range(0, len(sent), piece)])
    link = channel(ours, timeout_s=60.0)
    for _ in range(3):
        link.send(Request())
    sender.start()
    assert [bytes(link.receive()) for _ in range(3)] == [body, b"next", body]
    sender.join()


def test_a_broker_that_stops_inside_a_record_is_not_waited_for_longer_than_allowed(secured):
    ours, theirs = secured
    link = channel(ours, timeout_s=0.05)
    link.send(Request())
    theirs.sendall(struct.pack(">i", 500_000) + b"x" * 20_000)
    with pytest.raises(TimeoutError):
        link.receive()


def test_a_connection_over_tls_that_ends_is_an_error(secured):
    ours, theirs = secured
    link = channel(ours)
    link.send(Request())
    theirs.sendall(response(1, b"x" * 500_000)[:100_000])
    theirs.shutdown(socket.SHUT_RDWR)
    with pytest.raises(Exception, match=r"closed the connection|EOF"):
        link.receive()


def test_a_connector_tells_why_it_cannot_connect(files):
    net = NetworkSelector()
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    connector = Connector(net, bootstrap_servers=f"127.0.0.1:{port}", security_protocol="SSL",
                          ssl_cafile=str(files.folder / "ca.pem"))
    with pytest.raises(Exception, match="bootstrap"):
        connector.bootstrap(timeout_ms=100)
    assert "ECONNREFUSED" in connector.fault
    connector.close()
    net.close()
