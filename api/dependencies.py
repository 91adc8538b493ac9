"""What routes take from a request. Asynchronous where it waits for nothing: it then needs no thread."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Depends, Request

from api.context import Context
from api.problems import RequestError
from sql.refusals import did_you_mean

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLIS_MAX = 2**63 // 1000 - 1  # in microseconds, with a little more or less, it still has 64 bits


async def _context(request: Request) -> Context:
    return request.app.state.context


Here = Annotated[Context, Depends(_context)]


async def known_parameters(request: Request) -> None:
    """RequestError if the request has a query parameter that its route does not take, or takes once and has twice: either
    would be answered with other rows than were asked for."""
    known = [field.alias for field in request.scope["route"].dependant.query_params]
    listed = f"it takes {', '.join(known)}"
    for name in request.query_params:
        if name not in known:
            raise RequestError(f"unknown parameter {name}", f"{request.url.path} does not take it",
                               did_you_mean(name, known, listed))
        if len(request.query_params.getlist(name)) > 1:
            raise RequestError(f"parameter {name} stands twice", " and ".join(request.query_params.getlist(name)),
                               "give it once")


def instant_us(name: str, text: str | None) -> int | None:
    """Microseconds since the epoch, in 64 bits, of RFC 3339 text (without an offset: UTC) or epoch milliseconds."""
    if text is None or text == "":
        return None
    try:
        if text.lstrip("-").isdigit():
            return _in_64_bits(int(text)) * 1000
        # A plus sign that was not escaped in a URL arrives as a space.
        head, sep, tail = text.partition("T")
        time = datetime.fromisoformat(f"{head}{sep}{tail.replace(' ', '+')}")
    except ValueError:
        raise RequestError(f"{name} is no time", f"{name} = {text}",
                           "give RFC 3339, like 2026-01-31T12:00:00Z, or milliseconds since 1970") from None
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH) // timedelta(microseconds=1)


def _in_64_bits(millis: int) -> int:
    if abs(millis) > MILLIS_MAX:
        raise ValueError(f"{millis} has other units")
    return millis
