"""Sinks as resources."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from api.rest.dependencies import Here
from api.rest.openapi import CHANGING, NAMED, problems
from api.rest.pools import STATEMENTS
from api.statements import sink_status, sinks
from api.statements.context import Context
from mars.errors import SqlError
from sql import statements as kinds
from sql.read.instants import parse_instant
from sql.read.sinks import parse_into

router = APIRouter(prefix="/v1/sinks", tags=["Sinks"])


class NewSink(BaseModel):
    """`into` is what stands behind INTO in CREATE SINK; `from` is EARLIEST, LATEST or a time."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    name: str = Field(min_length=1, max_length=200)
    query: str = Field(min_length=1, max_length=200)
    into: str = Field(min_length=1)
    where: str | None = None
    start: str = Field("EARLIEST", alias="from")


class Replay(BaseModel):
    """`from` is EARLIEST or a time."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    start: str = Field(alias="from")


@router.get("", summary="All sinks", responses=problems(503))
def every(context: Here) -> dict:
    """In the order of creation."""
    return {"sinks": sink_status.documents(context)}


@router.get("/{name}", summary="One sink", responses=NAMED)
def one(context: Here, name: str) -> dict:
    """State, reason, and how far it has delivered."""
    return _document(context, name)


@router.post("", status_code=201, summary="Make a sink", responses={**CHANGING, **problems(400, 413, 422)})
@STATEMENTS.route
def create(context: Here, body: NewSink, response: Response) -> dict:
    """Its table or topic is made, or checked, before this returns."""
    answer = sinks.create_sink(context, _statement(body))
    response.headers["Location"] = f"/v1/sinks/{quote(body.name, safe='')}"
    return {**_document(context, body.name), "notes": answer.notes}


@router.delete("/{name}", status_code=204, summary="Drop a sink", responses=CHANGING)
@STATEMENTS.route
def drop(context: Here, name: str) -> None:
    """What it has delivered stays in the target."""
    context.sink_definitions.drop(name)


@router.post("/{name}/pause", summary="Pause a sink", responses=CHANGING)
@STATEMENTS.route
def pause(context: Here, name: str) -> dict:
    """It stops where it is."""
    context.sink_definitions.pause(name)
    return _document(context, name)


@router.post("/{name}/resume", summary="Resume a sink", responses=CHANGING)
@STATEMENTS.route
def resume(context: Here, name: str) -> dict:
    """It goes on where it stopped. Whoever resumes one that has lost something accepts the loss."""
    context.sink_definitions.resume(name)
    return _document(context, name)


@router.post("/{name}/replay", summary="Deliver again", responses={**CHANGING, **problems(400, 413, 422)})
@STATEMENTS.route
def replay(context: Here, name: str, body: Replay) -> dict:
    """It delivers again what is kept of windows that start at that time or later."""
    sinks.replay(context, name, _start(body.start, ("EARLIEST",)))
    return _document(context, name)


def _start(text: str, words: tuple[str, ...]) -> str:
    """One of the words in capitals, or an instant."""
    start = text.upper() if text.upper() in words else parse_instant(text)
    if start is None:
        raise SqlError(f"'{text}' is no time", f"from is {', '.join(words)} or a time in ISO 8601",
                       "write 2026-01-31T12:00:00Z")
    return start


def _statement(body: NewSink) -> kinds.CreateSink:
    """The statement that a body means."""
    start = _start(body.start, ("EARLIEST", "LATEST"))
    into = parse_into(body.into)
    where = None if body.where is None else kinds.Name(body.where, 0, len(body.where))
    return kinds.CreateSink(kinds.Name(body.name), kinds.Name(body.query), into, where, start, body.into)


def _document(context: Context, name: str) -> dict:
    return sink_status.document(context, context.sinks.sink(name))
