"""What routes take from a request. Functions that wait for nothing are asynchronous, so they need no thread."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from api.statements.context import Context
from mars.errors import RequestError
from sql.refusals import did_you_mean


async def _context(request: Request) -> Context:
    return request.app.state.context


Here = Annotated[Context, Depends(_context)]


async def known_parameters(request: Request) -> None:
    """RequestError if the request has a query parameter that its route does not take, or has one twice. Ignoring either
    would return other rows than were asked for."""
    known = [field.alias for field in request.scope["route"].dependant.query_params]
    listed = f"it takes {', '.join(known)}"
    for name in request.query_params:
        if name not in known:
            raise RequestError(f"unknown parameter {name}", f"{request.url.path} does not take it",
                               did_you_mean(name, known, listed))
        if len(request.query_params.getlist(name)) > 1:
            raise RequestError(f"parameter {name} is given twice", " and ".join(request.query_params.getlist(name)),
                               "give it once")
