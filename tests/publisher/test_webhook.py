"""The target in a real HTTP server: what a message is, what is tried again, what is refused."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from datetime import timedelta

import orjson
import pyarrow as pa
import pytest

from mars.adapters.target_errors import TargetAwayError, TargetRefusesError
from mars.adapters.webhook import key_bytes, signature
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
def target() -> Iterator[Callable[[str], WebhookTarget]]:
    """Makes the target of an address."""
    made: list[WebhookTarget] = []

    def make(url: str) -> WebhookTarget:
        connection = Connection("hook", "HTTP", {"URL": url}, {"KEY": "key", "TOKEN": "token"})
        made.append(WebhookTarget(Way(None, SECRETS.__getitem__, "me"), SINK, connection))
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


def test_a_path_is_not_shown_as_it_may_be_secret(receiver, target) -> None:
    receiver.answers = [500]
    with pytest.raises(TargetAwayError) as away:
        target(receiver.url).deliver(table(), Mark(1))
    assert "/hook" not in str(away.value)
