"""Adds to the OpenAPI document what the routes' types do not say: the statuses of their answers, that errors are
problems, and the token if one is required."""

from __future__ import annotations

from fastapi import FastAPI

from api.rest.problems import MEDIA_TYPE

MEANINGS = {
    400: "A statement or a condition that is refused, with its place in it",
    401: "No token, or a wrong one",
    403: "A browser sent it for another page",
    404: "An unknown name",
    406: "None of the accepted media types can be given",
    409: "A name that exists, or the wrong state",
    410: "Rows after this place are no longer kept",
    413: "The body is too large",
    421: "The header Host is not a name of this API",
    422: "A parameter or a body that is not valid",
    500: "An internal error",
    503: "Something that Mars needs does not answer, or too many ask at once: try again",
}
PROBLEM = {
    "type": "object",
    "title": "Problem",
    "description": "RFC 9457. `line`, `column` and `length` are a place in the statement.",
    "required": ["type", "title", "status", "detail", "hint"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        **{name: {"type": "string"} for name in ("title", "detail", "hint")},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        **{name: {"type": ["integer", "null"], "minimum": 0} for name in ("line", "column", "length")},
    },
}
_CONTENT = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}


def problems(*statuses: int) -> dict[int | str, dict]:
    """For `responses` of a route: the problems with which it can answer."""
    return {status: {"description": MEANINGS[status], "content": _CONTENT} for status in statuses}


def media(*types: str, status: int = 200) -> dict[int | str, dict]:
    """For `responses` of a route: the media types with which it answers besides its response class."""
    return {status: {"content": {type_: {} for type_ in types}}}


EVERY = problems(421, 500)
NAMED = problems(404, 503)  # for a route that reads something by name
CHANGING = problems(403, 404, 409, 503)  # for a route that changes something by name


def install(app: FastAPI, open_paths: tuple[str, ...], is_guarded: bool) -> None:
    """Complete the application's document. `is_guarded`: all except the open paths require a token."""
    make = app.openapi

    def document() -> dict:
        if app.openapi_schema is None:
            app.openapi_schema = make()
            _complete(app.openapi_schema, open_paths if is_guarded else None)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's own way to change the document


def _complete(document: dict, open_paths: tuple[str, ...] | None) -> None:
    components = document["components"]
    components["schemas"]["Problem"] = PROBLEM
    for name in ("HTTPValidationError", "ValidationError"):  # the framework's own schemas, which problems replace
        components["schemas"].pop(name, None)
    if open_paths is not None:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, methods in document["paths"].items():
        for operation in methods.values():
            answers = operation["responses"]
            if MEDIA_TYPE not in answers.get("422", {}).get("content", {MEDIA_TYPE: {}}):
                del answers["422"]  # of a route that has no input that could be wrong
            if open_paths is not None and path not in open_paths:
                operation["security"] = [{"token": []}]
                answers.update({str(status): answer for status, answer in problems(401).items()})
            operation["responses"] = dict(sorted(answers.items()))
