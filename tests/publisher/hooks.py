"""An HTTP server that takes webhooks, or does not."""

from __future__ import annotations

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import orjson

from mars.adapters.webhook import signature


class Receiver:
    """Keeps each message that it takes: (id, body). `answers` are the codes of the next ones; then it takes all. A message
    whose signature is wrong is answered 401. `retry_after` is that header of what is not taken."""

    def __init__(self, key: bytes, tls: ssl.SSLContext | None = None) -> None:
        self.taken: list[tuple[str, bytes]] = []
        self.answers: list[int] = []
        self.tokens: list[str | None] = []
        self.hosts: list[str | None] = []
        self.retry_after = ""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                id_ = self.headers["webhook-id"]
                signed = signature(key, id_, int(self.headers["webhook-timestamp"]), body)
                receiver.hosts.append(self.headers["host"])
                receiver.tokens.append(self.headers["authorization"])
                code = receiver.answers.pop(0) if receiver.answers else 204
                code = code if self.headers["webhook-signature"] == signed else 401
                if code < 300:
                    receiver.taken.append((id_, body))
                self.send_response(code)
                self.send_header("content-length", "0")
                if code >= 300 and receiver.retry_after:
                    self.send_header("retry-after", receiver.retry_after)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def rows(self) -> list[tuple]:
        """The rows of all messages, each id once. A repeat must have the same body."""
        bodies: dict[str, bytes] = {}
        for id_, body in self.taken:
            assert bodies.setdefault(id_, body) == body, id_
        return [tuple(row) for body in bodies.values() for row in orjson.loads(body)["rows"]]

    def close(self) -> None:
        """Stop it."""
        self.server.shutdown()
        self.server.server_close()
