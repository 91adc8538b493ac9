"""A bound on what a request may send: every body is a statement or a few words, and is held in memory as a whole."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.rest.problems import problem

BODY_BYTES_MAX = 1_048_576
TITLE = "the body is too large"


class BodyLimit:
    """Middleware: 413 for a body above `bytes_max`. If the request says its length, it is refused before it is read."""

    def __init__(self, app: ASGIApp, bytes_max: int = BODY_BYTES_MAX) -> None:
        self.app = app
        self.bytes_max = bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.bytes_max:
            refused = problem(413, TITLE, f"it may have {self.bytes_max:,} bytes", "send one statement in a request")
            return await refused(scope, receive, send)
        seen = 0

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.bytes_max:
                raise HTTPException(413, TITLE)
            return message

        return await self.app(scope, limited, send)
