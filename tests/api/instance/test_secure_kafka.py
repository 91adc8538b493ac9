"""Kafka with TLS and passwords: tuples from claim to result, and what a wrong setting is told."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from api.cli.lines import ensure_topic, send
from api.instance.services import kafka
from api.statements.adhoc_job import COUNTS, FAULT, Task, mapping
from benchmarks.secure_kafka import PASSWORD, SecureKafka, secure_kafka
from mapper.fetch import open_reader
from mars.adapters.kafka.admin import KafkaAdmin
from mars.adapters.kafka.security import security_of
from mars.adapters.kafka.transactions import Transactions
from mars.adapters.kafka.wire import Wire
from mars.config import Config, load
from mars.errors import NotReadyError
from tests.cluster import Cluster
from tests.conftest import Stack
from tests.mapper.confluent_reader import ConfluentReader

pytestmark = pytest.mark.services
PARTITIONS, TUPLES = 2, 40_000
WIDE = "x" * 200  # large responses are of many TLS records
WAYS = [("SSL", ""), ("MUTUAL", ""), ("SASL_SSL", "SCRAM-SHA-256"), ("SASL_SSL", "PLAIN")]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secure")
    with secure_kafka(load({"data": folder, "kafka_heap_mb": 256}, environment={}), folder) as found:
        yield found


@pytest.fixture(scope="module")
def other_ca(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("other") / "ca.pem"
    trustme.CA().cert_pem.write_to_path(file)
    return file


def lines(count: int) -> list[bytes]:
    """CSV tuples of one second after the other; the last ones only let windows close."""
    return [b"%d,%d,%s" % (i // 100, i % 7, WIDE.encode()) for i in range(count)] + [b"9999,0,end"] * PARTITIONS


def test_tuples_from_claim_to_result(broker: SecureKafka, stack: Stack, tmp_path: Path):
    """Over TLS with a password: sent in the way of `mars load`, read, reduced, read once more by a task of an ad-hoc query;
    and no log has the password."""
    settings = broker.settings("SASL_SSL")
    secured = replace(stack, config=stack.config.model_copy(update=settings))
    security = security_of(secured.config)
    partitions, made = ensure_topic(settings["kafka_address"], security, "tuples")
    assert (partitions, made) == (4, True)
    assert send(iter(lines(TUPLES)), settings["kafka_address"], security, "tuples", PARTITIONS, None,
                lambda *_: None) == TUPLES + PARTITIONS
    cluster = Cluster(secured, tmp_path / "cluster", mappers=1, reducers=1)
    try:
        cluster.sql("CREATE STREAM s (ts BIGINT, k INT, t STRING) FROM KAFKA 'tuples' FORMAT CSV TIMESTAMP ts UNIT s")
        cluster.sql("CREATE QUERY q AS SELECT k, count(*) AS n, max(t) AS t FROM s GROUP BY k WINDOWING 1000 s "
                    "WATERMARK 0 s IDLE 1 s FROM EARLIEST")
        cluster.wait(lambda: cluster.has_read_all("q") and cluster.rows("q").num_rows == 7, 100, "not all is read", ["q"])
        found = {row["k"]: (row["n"], row["t"]) for row in cluster.rows("q").to_pylist()}
        assert found == {k: (len(range(k, TUPLES, 7)), WIDE) for k in range(7)}
        stream, query = cluster.context.catalog.query("q")
        task = Task(cluster.config, stream, query.plan, [(1, 10, 110)])
        told = dict(mapping(task)(0))
        assert FAULT not in told
        assert json.loads(told[COUNTS])["tuples"] == 100
        logs = "".join(file.read_text(errors="replace") for file in (tmp_path / "cluster" / "logs").iterdir())
        assert "leads with epoch" in logs
        assert PASSWORD not in logs + cluster.report(["q"]) + repr(cluster.config)
    finally:
        cluster.close()


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_every_client_speaks_every_way(broker: SecureKafka, listener: str, mechanism: str, caplog):
    """Producer, both readers and the admin client; none logs the password."""
    caplog.set_level(logging.INFO)
    settings = broker.settings(listener, mechanism)
    address, security = settings["kafka_address"], security_of(load(settings, environment={}))
    admin, topic = KafkaAdmin(address, security=security), f"{listener}-{mechanism}"
    id_ = admin.create(topic).topic_id
    sent = lines(5_000)
    assert send(iter(sent), address, security, topic, 1, None, lambda *_: None) == len(sent)
    for opened in (open_reader, ConfluentReader):
        reader = opened(address, security, topic, id_)
        assert reader.last_stable_offsets() == {0: len(sent)}
        messages = reader.read(0, 0, len(sent), 16 << 20).messages
        assert messages.buffer[messages.start[0]:messages.start[0] + 3].tobytes() == sent[0][:3]
        assert len(messages) == len(sent)
        assert messages.length.sum() == sum(map(len, sent))
        reader.close()
    assert [message.value for message in admin.peek(topic, 1, newest=True)] == sent[-1:]
    assert "kafka.net" in {record.name.rpartition(".")[0] for record in caplog.records}
    assert PASSWORD not in caplog.text


def test_transactions(broker: SecureKafka):
    settings = broker.settings("SASL_SSL")
    transactions = Transactions(settings["kafka_address"], "redrive", security_of(load(settings, environment={})))
    transactions.send("redriven", [(0, b"a letter")], "first", lambda: None)
    assert transactions.last("redriven") == "first"
    transactions.close()


def wrong(broker: SecureKafka, other_ca: Path, what: str) -> Config:
    """Settings of which one is wrong."""
    settings = broker.settings("SASL_SSL" if what == "password" else "SSL")
    changes = {"authority": {"kafka_tls_ca": str(other_ca)},
               "host name": {"kafka_address": settings["kafka_address"].replace("127.0.0.1", "localhost")},
               "password": {"kafka_sasl_password": "another one"},
               "protocol": {"kafka_security_protocol": "PLAINTEXT", "kafka_tls_ca": ""},
               "certificate": {"kafka_address": broker.addresses["MUTUAL"]},
               "listener": {"kafka_address": broker.addresses["PLAINTEXT"]}}
    return load(settings | changes[what], environment={})


TOLD = {"authority": ("not trusted", "kafka_tls_ca"), "host name": ("another host name", "kafka_address"),
        "password": ("refuses the user or the password", "kafka_sasl_password"),
        "certificate": ("does not take our certificate", "kafka_tls_certificate"),
        "protocol": ("another protocol", "kafka_security_protocol"),
        "listener": ("another protocol", "kafka_security_protocol")}


def test_what_is_wrong_is_told_with_its_setting(broker: SecureKafka, other_ca: Path, tmp_path: Path):
    """At the start, by the admin client and by the mappers' reader."""
    attempts = {}
    for what in TOLD:
        config = wrong(broker, other_ca, what)
        place, security = config.kafka_address, security_of(config)
        attempts |= {(what, "start"): lambda config=config: kafka.start(config, tmp_path),
                     (what, "admin"): lambda p=place, s=security: KafkaAdmin(p, 1.0, s).topics(),
                     (what, "wire"): lambda p=place, s=security: Wire(p, s, retry_s=1.0).topic("tuples")}
    with ThreadPoolExecutor(len(attempts)) as pool:
        found = dict(zip(attempts, pool.map(_raised, attempts.values()), strict=True))
    for (what, _), error in found.items():
        title, hint = TOLD[what]
        assert isinstance(error, NotReadyError), found
        assert title in error.title, found
        assert hint in error.hint, found
        assert "another one" not in f"{error} {error.hint}"


def _raised(attempt) -> BaseException | None:
    try:
        attempt()
    except Exception as error:
        return error
    return None
