"""The readers are checked: against an API that lies, falls silent or refuses, each way of being wrong is seen."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pyarrow as pa
import pytest

from tests.nemesis import follower, readers
from tests.nemesis.refusals import Broken
from tests.nemesis.tuples import Statistic

ROWS = [(start, key, start * 10 + key) for start in (0, 5, 10) for key in (1, 2)]
COLUMNS = ("window_start", "window_end", "rest", "n")
STATISTIC = Statistic("some", "", 5_000, {"rest": "rest"}, {"n": "n"})


def instant(second: int) -> datetime:
    return datetime.fromtimestamp(1_700_000_000 + second, UTC)


def table() -> pa.Table:
    """The rows as pages have them."""
    return pa.table({"window_start": [instant(start) for start, *_ in ROWS],
                     "window_end": [instant(start + 5) for start, *_ in ROWS],
                     "rest": [key for _, key, _ in ROWS], "n": [n for *_, n in ROWS]})


def event(rows: list[tuple], number: int) -> str:
    """As the API tells rows."""
    data = {"columns": [{"name": name} for name in COLUMNS],
            "rows": [[instant(start).isoformat(), instant(start + 5).isoformat(), key, n] for start, key, n in rows]}
    return f"event: result\nid: {number}\ndata: {json.dumps(data)}\n\n"


class Fake:
    """An API: of the stream it says `told` and then keeps the connection open; all else it answers as `answers` has it,
    by the end of the path, or as it should."""

    def __init__(self) -> None:
        self.told, self.answers, self.is_open = ": connected\n\n", {}, threading.Event()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                fake.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, to: BaseHTTPRequestHandler) -> None:
        end = to.path.partition("?")[0].rpartition("/")[2]
        status, text = self.answers.get(end, (200, self.document() if end == "q" else self.told))
        to.send_response(status)
        to.end_headers()
        to.wfile.write(text.encode())
        if end == "stream" and status == 200:
            to.wfile.flush()
            self.is_open.wait(10)

    def document(self) -> str:
        """Of a query that has closed nothing, so that no page is asked for."""
        return json.dumps({"watermark": None, "positions": {"0": 5}, "commit": 3, "counters": {"tuples": 5}})

    def close(self) -> None:
        self.is_open.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def fake(monkeypatch) -> Iterator[Fake]:
    for module in (follower, readers):
        monkeypatch.setattr(module, "POLL_S", 0.03)
    made = Fake()
    yield made
    made.close()


def follow(fake: Fake, patience_s: float = 0.8) -> list[str]:
    """What one who follows its events finds broken in the end."""
    one = follower.Follower(lambda: fake.url, "q", Broken(), threading.Event())
    threading.Thread(target=one.follow, daemon=True).start()
    one.check(table(), patience_s)
    return one.broken.lines


def test_events_that_tell_all_rows_are_accepted(fake):
    fake.told += event(ROWS[:3], 1) + event(ROWS[3:], 2) + event([(20, 1, 1)], 3)
    assert follow(fake, 10) == []


@pytest.mark.parametrize("told", [
    "", event(ROWS[:4], 1), event(ROWS[:-1], 1), event(ROWS[:2] + ROWS[4:], 1), event(ROWS + ROWS[2:3], 1),
    event([*ROWS[:-1], (*ROWS[-1][:2], 7)], 1), event([(3, 1, 1), *ROWS], 1)],
    ids=["none", "an end", "an end in a window", "a gap", "a row twice", "another value", "a window that is not"])
def test_events_that_are_not_the_pages_are_seen(fake, told):
    fake.told += told
    [wrong] = follow(fake)
    assert wrong.startswith("q: events told")


def test_a_follower_whom_nobody_answers_says_nothing_of_what_did_not_come(fake):
    fake.close()
    assert follow(fake, 0.8) == []


@pytest.mark.parametrize("status", [500, 404, 422])
def test_a_stream_that_is_refused_is_seen(fake, status):
    fake.answers["stream"] = (status, "no")
    refused, missing = follow(fake)
    assert refused == f"q: the stream of events answered {status}: no"
    assert missing.startswith("q: events told 0 rows")


@pytest.mark.parametrize(("told", "words"), [("event: dropped\ndata: {}\n\n", "say that it was dropped"),
                                             ("event: result\nid: 1\ndata: {]\n\n", "an event does not read"),
                                             ("event: error\ndata: gone\n\n", "the stream of events answered gone")])
def test_an_event_that_should_not_be_is_seen(fake, told, words):
    fake.told += told
    assert words in follow(fake)[0]


def look(fake: Fake, prepare: Callable[[readers.Readers], None] = lambda made: None) -> list[str]:
    """What readers find broken in some looks."""
    made = readers.Readers(lambda: fake.url, {"some": "q"}, (STATISTIC,))
    prepare(made)
    made.start()
    time.sleep(0.7)
    fake.is_open.set()
    made.stop()
    return made.broken


@pytest.mark.parametrize(("status", "text", "words"), [
    (500, "an internal error", "its document answered 500"), (502, "", "answered 502"),
    (404, "no such query", "answered 404"), (200, '{"commit": 3}', "KeyError"), (200, '{"commit": ', "does not read"),
    (200, '{"commit": null, "reason": "a committed file cannot be read"}', "its document answered a committed file")])
def test_what_a_query_answers_must_be_right(fake, status, text, words):
    fake.answers["q"] = (status, text)
    [wrong] = look(fake)
    assert words in wrong


def test_who_has_to_wait_and_who_has_dropped_the_query_says_nothing(fake):
    assert look(fake) == []
    fake.answers["q"] = (503, "not ready")
    assert look(fake) == []
    fake.answers["q"] = (404, "no such query")
    assert look(fake, lambda made: made.dropped("q")) == []


def test_only_where_a_file_was_damaged_an_answer_may_say_so():
    broken, answer = Broken(), httpx.Response(500, text='{"title": "a committed file does not match its checksum"}')
    broken.is_damaged = True
    assert not broken.is_given("q", "its page", answer)
    assert broken.lines == []
    broken.is_damaged = False
    assert not broken.is_given("q", "its page", answer)
    assert len(broken.lines) == 1
