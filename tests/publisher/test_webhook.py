"""The target in a real HTTP server: what a message is, what is tried again, what is refused."""

from __future__ import annotations

import base64
import ipaddress
import socket
import ssl
from collections.abc import Callable, Iterator
from datetime import timedelta

import orjson
import pyarrow as pa
import pytest
import trustme

from mars import config as configuration
from mars.adapters.addresses import Reach
from mars.adapters.target_errors import TargetAwayError, TargetRefusesError
from mars.adapters.webhook import key_bytes, retry_after_s, signature
from mars.model.connections import Connection
from mars.model.sinks import Into, Mark, Sink
from mars.publisher.target import Way
from mars.publisher.webhook import WebhookTarget, messages
from mars.results.formats import rows as json_rows
from tests.publisher.hooks import Receiver
from tests.publisher.rows import LINES, START, table

SECRETS = {"key": "whsec_" + base64.b64encode(b"secret bytes").decode(), "token": "t0ken"}
SINK = Sink("s1", "s", "pages", "q1", Into("WEBHOOK", "", "hook"))
START_US = int(START.timestamp()) * 1_000_000
MINUTE_US = 60_000_000


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver(b"secret bytes")
    yield made
    made.close()


@pytest.fixture
def target(tmp_path) -> Iterator[Callable[..., WebhookTarget]]:
    """Makes the target of an address, of a Mars with these settings."""
    made: list[WebhookTarget] = []

    def make(url: str, ca: str = "", **settings: object) -> WebhookTarget:
        config = configuration.load({"data": tmp_path, **settings}, environment={})
        options = {"URL": url, **({"TLS_CA": ca} if ca else {})}
        connection = Connection("hook", "HTTP", options, {"KEY": "key", "TOKEN": "token"})
        made.append(WebhookTarget(Way(config, SECRETS.__getitem__, "me"), SINK, connection))
        made[-1].claim(Mark(1), is_known=False)
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_the_signature_is_that_of_standard_webhooks() -> None:
    """The example of the specification's own libraries."""
    key = key_bytes("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    assert signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}') == (
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    assert key_bytes("plain") == b"plain"
    with pytest.raises(TargetRefusesError):
        key_bytes("whsec_!")


def test_a_message_has_the_rows_of_one_window_as_results_show_them(receiver, target) -> None:
    two = pa.concat_tables([table(), table(LINES[:1], START + timedelta(minutes=1))])
    target(receiver.url).deliver(two, Mark(1, (START_US + MINUTE_US, START_US + 2 * MINUTE_US, 1), 5))
    [(first, body), (second, _)] = receiver.taken
    assert receiver.tokens == ["Bearer t0ken"] * 2
    assert (first, second) == (f"me.s1.{START_US}.{START_US + MINUTE_US}.0",
                               f"me.s1.{START_US + MINUTE_US}.{START_US + 2 * MINUTE_US}.0")
    document = orjson.loads(body)
    rows = document.pop("rows")
    assert document == {"query": "pages", "window_start": "2026-01-01T00:00:00Z", "window_end": "2026-01-01T00:01:00Z",
                        "columns": table().column_names}
    assert [tuple(row) for row in rows] == json_rows(table())


def test_the_next_part_of_a_window_has_another_id_which_stays_the_same() -> None:
    before = Mark(3, (START_US, START_US + MINUTE_US, 5000))
    [(id_, body)] = messages("me.s1", "pages", table(), before)
    assert id_ == f"me.s1.{START_US}.{START_US + MINUTE_US}.5000"
    assert list(messages("me.s1", "pages", table(), before)) == [(id_, body)]
    assert list(messages("me.s1", "pages", table([]), before)) == []


@pytest.mark.parametrize(("code", "error"), [
    (500, TargetAwayError), (503, TargetAwayError), (429, TargetAwayError), (408, TargetAwayError),
    (400, TargetRefusesError), (404, TargetRefusesError), (410, TargetRefusesError), (302, TargetRefusesError)])
def test_what_passes_is_tried_again_and_the_rest_is_told(receiver, target, code: int, error: type[Exception]) -> None:
    receiver.answers = [code]
    one = target(receiver.url)
    with pytest.raises(error, match=str(code)):
        one.deliver(table(), Mark(1))
    assert receiver.taken == []
    one.deliver(table(), Mark(1))
    assert len(receiver.rows()) == len(LINES)


def test_a_receiver_that_is_gone_is_away(receiver, target) -> None:
    one = target(receiver.url)
    receiver.close()
    with pytest.raises(TargetAwayError, match=r"127\.0\.0\.1"):
        one.deliver(table(), Mark(1))


@pytest.mark.parametrize(("url", "said"), [
    ("http://example.com/x", "http is for this machine alone"), ("https://u:topsecret@example.com/", "bearer token"),
    ("ftp://example.com", "https"), ("nonsense", "https"), ("https://", "https")])
def test_an_address_that_cannot_be(target, url: str, said: str) -> None:
    with pytest.raises(TargetRefusesError) as refused:
        target(url)
    assert said in refused.value.hint
    assert "topsecret" not in str(refused.value)


OPEN = {"api_host": "0.0.0.0", "api_token": "a-token-of-the-API", "api_tls_certificate": "/c", "api_tls_key": "/k"}


@pytest.mark.parametrize(("address", "here", "elsewhere"), [
    ("127.0.0.1", "", "this machine"), ("::1", "", "this machine"), ("::ffff:127.0.0.1", "", "this machine"),
    ("10.1.2.3", "", "private"), ("192.168.1.1", "", "private"), ("fd00::1", "", "private"), ("100.64.0.1", "", "private"),
    ("169.254.169.254", "credentials", "credentials"), ("fe80::1", "credentials", "credentials"),
    ("64:ff9b::a9fe:a9fe", "credentials", "credentials"), ("fd00:ec2::254", "credentials", "credentials"),
    ("2002:a9fe:a9fe::1", "credentials", "credentials"), ("100.100.100.200", "credentials", "credentials"),
    ("0.0.0.0", "no machine", "no machine"), ("224.0.0.1", "no machine", "no machine"),
    ("240.0.0.1", "no machine", "no machine"), ("8.8.8.8", "", ""), ("2606:4700::1111", "", ""), ("172.20.0.9", "", "")])
def test_which_addresses_are_reached(tmp_path, address: str, here: str, elsewhere: str) -> None:
    """While only this machine reaches the API, and while others do; one private network may always be reached."""
    network = {"webhook_networks": "172.16.0.0/12, 2001:db8::/32"}
    for said, settings in ((here, {}), (elsewhere, OPEN), (elsewhere, {"api_behind_tls": True})):
        reach = Reach.of(configuration.load({"data": tmp_path, **network, **settings}, environment={}))
        why = reach.refusal(ipaddress.ip_address(address))
        assert why is None if not said else said in why


def test_a_name_is_looked_up_and_what_was_looked_at_is_called(receiver, target, monkeypatch) -> None:
    """The name has another address each time: a good one, then one of a cloud's credentials."""
    port = receiver.server.server_port
    found, look_up = ["127.0.0.1", "169.254.169.254"], socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *given, **named: look_up(
        found.pop(0) if host == "hooks.example" else host, *given, **named))
    one = target(f"https://hooks.example:{port}/x")
    one.hook.url = one.hook.url.copy_with(scheme="http")  # the receiver has no certificate
    one.deliver(table(LINES[:1]), Mark(1))
    assert receiver.hosts == [f"hooks.example:{port}"]
    with pytest.raises(TargetRefusesError, match=r"its address is 169\.254\.169\.254"):
        one.deliver(table(LINES[:1]), Mark(1))
    assert len(receiver.taken) == 1


def test_a_sink_is_refused_at_once_where_it_must_not_go(receiver, target) -> None:
    assert target(receiver.url).prepare(may_make=True) is False
    with pytest.raises(TargetRefusesError, match="this machine"):
        target(receiver.url, **OPEN).prepare(may_make=True)
    with pytest.raises(TargetAwayError, match="has no address"):
        target("https://nowhere.invalid/").prepare(may_make=True)


def test_a_certificate_is_that_of_the_name_and_not_of_the_address(target, tmp_path, monkeypatch) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("hooks.example").configure_cert(tls)
    receiver = Receiver(b"secret bytes", tls)
    port = receiver.server.server_port
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(socket.AF_INET, 1, 6, "", ("127.0.0.1", port))])
    target(f"https://hooks.example:{port}/x", ca=str(tmp_path / "ca.pem")).deliver(table(LINES[:1]), Mark(1))
    assert len(receiver.taken) == 1
    with pytest.raises(TargetAwayError, match="CERTIFICATE_VERIFY_FAILED"):
        target(f"https://other.example:{port}/x", ca=str(tmp_path / "ca.pem")).deliver(table(LINES[:1]), Mark(1))
    receiver.close()


@pytest.mark.parametrize(("header", "wait_s"), [
    ("7", 7), ("0", 0), ("", 0), ("soon", 0), ("999999", 3600), ("Thu, 01 Jan 2026 00:00:30 GMT", 30),
    ("Thu, 01 Jan 2020 00:00:00 GMT", 0)])
def test_how_long_a_receiver_wants_to_be_left_alone(header: str, wait_s: float) -> None:
    assert retry_after_s(header, int(START.timestamp())) == wait_s


def test_the_wait_that_a_receiver_asks_for_comes_with_the_error(receiver, target) -> None:
    receiver.answers, receiver.retry_after = [429, 503], "33"
    one = target(receiver.url)
    for _ in range(2):
        with pytest.raises(TargetAwayError) as away:
            one.deliver(table(LINES[:1]), Mark(1))
        assert away.value.after_s == 33


def test_a_path_is_not_shown_as_it_may_be_secret(receiver, target) -> None:
    receiver.answers = [500]
    with pytest.raises(TargetAwayError) as away:
        target(receiver.url).deliver(table(), Mark(1))
    assert "/hook" not in str(away.value)
