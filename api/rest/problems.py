"""Turns every error into RFC 9457 problem JSON, wherever it comes from."""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from mars.errors import (
    Blame,
    ConflictError,
    FormatError,
    GoneError,
    MarsError,
    NotFoundError,
    NotReadyError,
    RequestError,
    SqlError,
    UserError,
)
from mars.results.open_windows import OpenFileError

LOG = logging.getLogger("mars.api")
MEDIA_TYPE = "application/problem+json"
TYPES = {400: "sql", 401: "token", 403: "foreign-page", 404: "unknown-name", 406: "format", 409: "conflict", 410: "gone",
         413: "too-large", 421: "host", 422: "request", 503: "not-ready"}
METHODS = ("GET", "HEAD", "POST", "DELETE")
BODY_HINT = "send a JSON object with Content-Type: application/json"
TITLE_MAX, TEXT_MAX = 200, 4_000


class UnauthorizedError(UserError):
    """No token, or a wrong one."""


# The HTTP status of each type of error; any other error is 500.
STATUSES: dict[type[MarsError], int] = {
    SqlError: 400, UnauthorizedError: 401, NotFoundError: 404, FormatError: 406, ConflictError: 409, GoneError: 410,
    RequestError: 422, NotReadyError: 503, OpenFileError: 503}


def install(app: FastAPI) -> None:
    """Make the application answer every error with a problem. The handlers are asynchronous, so an error needs no free
    thread."""
    app.exception_handler(MarsError)(_mars_error)
    app.exception_handler(RequestValidationError)(_invalid_request)
    app.exception_handler(HTTPException)(_http_error)
    app.exception_handler(Exception)(_defect)


def problem(status: int, title: str, detail: str = "", hint: str = "", type_: str = "", **more: object) -> JSONResponse:
    """A problem as an HTTP answer."""
    body = {"type": f"urn:mars:problem:{type_ or TYPES.get(status, 'internal')}", "title": shown(title, TITLE_MAX),
            "status": status, "detail": shown(detail, TEXT_MAX), "hint": shown(hint, TEXT_MAX), **more}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse(body, status, media_type=MEDIA_TYPE, headers=headers)


def shown(text: str, length_max: int) -> str:
    """The text in a form that an answer can hold: cut, and without halves of characters. The text may come from a
    client."""
    text = text if len(text) <= length_max else text[:length_max - 1] + "…"
    return text.encode(errors="replace").decode()


def status_of(error: MarsError) -> int:
    """The status of an error, by the nearest of its types that has one."""
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)


def of_error(error: MarsError) -> JSONResponse:
    """The answer to a MarsError."""
    if not isinstance(error, SqlError):
        return problem(status_of(error), error.title, error.detail, error.hint)
    return problem(status_of(error), error.title, error.detail, error.hint,
                   line=error.line or None, column=error.column or None, length=error.length)


async def _mars_error(request: Request, error: MarsError) -> JSONResponse:
    if status_of(error) >= 500:
        trace = error if error.blame is Blame.US else None
        LOG.warning("%s %s: %s", request.method, request.url.path, error, exc_info=trace)
    return of_error(error)


async def _invalid_request(request: Request, error: RequestValidationError) -> JSONResponse:
    faults = error.errors()
    first = faults[0]
    place = [str(part) for part in first["loc"]]
    if first["type"] == "json_invalid":
        return problem(422, "the body is not JSON", str(first.get("ctx", {}).get("error", first["msg"])), BODY_HINT)
    where = ".".join(place[1:]) or place[0]
    if first["type"] == "extra_forbidden":
        return problem(422, f"unknown key {where}", f"{request.url.path} does not take it in its body", "see /docs")
    hint = BODY_HINT if place[0] == "body" else "see /docs"
    return problem(422, f"wrong {where}", "; ".join(f"{'.'.join(map(str, f['loc'][1:])) or f['loc'][0]}: {f['msg']}"
                                                     for f in faults), hint)


async def _http_error(request: Request, error: HTTPException) -> JSONResponse:
    if error.status_code == 404:
        return problem(404, "unknown path", f"there is nothing at {request.url.path}", "see /docs", "unknown-path")
    if error.status_code == 405:
        answer = problem(405, "wrong method", f"{request.method} does not work on {request.url.path}", "see /docs", "method")
        answer.headers["Allow"] = ", ".join(_methods(request))
        return answer
    if error.status_code == 400:  # the framework's message for a body that it cannot decode
        return problem(422, "the body is not JSON", "it is not UTF-8, or nested too deep", BODY_HINT)
    return problem(error.status_code, str(error.detail))


def _methods(request: Request) -> list[str]:
    """The methods that work on the path. The path may have a route for each method, and the framework names only one of
    them."""
    return [method for method in METHODS
            if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in request.app.routes)]


async def _defect(request: Request, error: Exception) -> JSONResponse:
    LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, "an internal error", f"{type(error).__name__} in {request.method} {request.url.path}",
                   "the server's log has the details")
