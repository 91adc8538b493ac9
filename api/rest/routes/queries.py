"""Streams and queries as resources."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from api.rest.dependencies import Here
from api.rest.openapi import CHANGING, NAMED, problems
from api.rest.pools import STATEMENTS
from api.statements import define, status
from api.statements.context import Context
from mars.errors import ConflictError, NotFoundError

router = APIRouter(prefix="/v1", tags=["Streams and queries"])


class NewQuery(BaseModel):
    """`sql` is the SELECT of a continuous query; `into` a sink."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=200)
    sql: str = Field(min_length=1)
    into: str | None = None


@router.get("/streams", summary="All streams", responses=problems(503))
def streams(context: Here) -> dict:
    """Sorted by name."""
    return {"streams": status.stream_documents(context)}


@router.get("/queries", summary="All queries", responses=problems(503))
def queries(context: Here) -> dict:
    """In the order of creation."""
    return {"queries": status.query_documents(context)}


@router.get("/queries/{name}", summary="One query", responses=NAMED)
def query(context: Here, name: str) -> dict:
    """State, watermark, lag, positions and counters, as of the last commit."""
    return _document(context, name)


@router.post("/queries", status_code=201, summary="Start a query, or find the same one", responses={
    **CHANGING, **problems(400, 413, 422), 200: {"description": "The same query exists already", "model": dict}})
@STATEMENTS.route
def create(context: Here, body: NewQuery, response: Response) -> dict:
    """201 with the new query; 200 if a query of this name and meaning exists already, so that a retry is safe."""
    made, notes = define.create_or_find(context, body.name, body.sql, body.into)
    response.status_code = 201 if made else 200
    response.headers["Location"] = f"/v1/queries/{quote(body.name, safe='')}"
    try:
        return {**_document(context, body.name), "notes": notes}
    except NotFoundError:
        raise ConflictError("the query has just been dropped", f"{body.name} existed when the request came",
                            "send it again if the query is to exist") from None


@router.delete("/queries/{name}", status_code=204, summary="Drop a query", responses=CHANGING)
@STATEMENTS.route
def drop(context: Here, name: str) -> None:
    """Its results are dropped too, and so is the sink that was made with it."""
    define.drop(context, name)


@router.post("/queries/{name}/pause", summary="Pause a query", responses=CHANGING)
@STATEMENTS.route
def pause(context: Here, name: str) -> dict:
    """The query stops where it is and keeps its state."""
    context.definitions.pause(name)
    return _document(context, name)


@router.post("/queries/{name}/resume", summary="Resume a query", responses=CHANGING)
@STATEMENTS.route
def resume(context: Here, name: str) -> dict:
    """The query continues where it stopped."""
    define.resume(context, name)
    return _document(context, name)


def _document(context: Context, name: str) -> dict:
    return status.query_document(context, *context.catalog.query(name))
