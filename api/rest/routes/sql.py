"""POST /v1/sql: any one statement."""

from __future__ import annotations

import uuid

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from api.rest.dependencies import Here
from api.rest.openapi import CHANGING, problems
from api.rest.pools import STATEMENTS
from api.statements import dispatch
from api.statements.context import Context
from mars.errors import NotFoundError, SqlError

router = APIRouter(tags=["SQL"])


class Sql(BaseModel):
    """A statement. With an `id` of the client's choice, GET and DELETE /v1/sql/{id} follow and stop it while it runs."""

    model_config = ConfigDict(extra="forbid")
    sql: str
    id: str | None = Field(None, min_length=1, max_length=100)


@router.post("/v1/sql", summary="Run one statement", responses={**CHANGING, **problems(400, 413, 422)})
async def run(context: Here, body: Sql) -> Response:
    """Any one statement of the dialect. `kind` says what happened; SELECT, SHOW, DESCRIBE, PEEK and EXPLAIN have `rows`;
    `notes` are sentences for a person."""
    id_ = body.id or uuid.uuid4().hex
    context.progress.report(id_, 0, 0)
    try:
        answer = await STATEMENTS.run(_execute, context, body.sql, id_)
    finally:
        context.progress.end(id_)
    return Response(answer, media_type="application/json")


@router.get("/v1/sql/{id}", summary="The progress of a running statement", responses=problems(404))
async def progress(context: Here, id: str) -> dict:
    """`done` of `total` parts; both are 0 until they are known."""
    found = context.progress.read(id)
    if found is None:
        raise _unknown(id)
    return {"id": id, "done": found[0], "total": found[1]}


@router.delete("/v1/sql/{id}", status_code=204, summary="Stop a running statement", responses=problems(403, 404))
async def cancel(context: Here, id: str) -> None:
    """The statement's own caller gets an error, if the statement is a SELECT or a REDRIVE, or still waits for its turn.
    All other statements end by themselves in a moment."""
    if not context.progress.cancel(id):
        raise _unknown(id)


def _execute(context: Context, sql: str, id_: str) -> bytes:
    if context.progress.is_cancelled(id_):  # while it waited for a thread
        raise SqlError("the statement was stopped", "on request")
    return dispatch.execute(context, sql, id_).to_json()


def _unknown(id_: str) -> NotFoundError:
    return NotFoundError("unknown statement", f"no statement {id_} runs", "it has ended, or was sent without this id")
