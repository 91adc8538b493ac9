"""The workers of the instance, and how many of them are wanted."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from api.rest.dependencies import Here
from api.rest.openapi import problems
from api.rest.pools import STATEMENTS
from api.statements import workforce
from sql.read.workers import COUNT_MAX

router = APIRouter(prefix="/v1/workers", tags=["Workers"])


class Wanted(BaseModel):
    """What is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")
    mappers: int | None = Field(None, ge=1, le=COUNT_MAX)
    reducers: int | None = Field(None, ge=1, le=COUNT_MAX)


@router.get("", summary="The workers, by kind", responses=problems(503))
def workers(context: Here) -> dict:
    """Of each kind how many are wanted, the most that there may be, and those that live."""
    return workforce.document(context)


@router.post("", summary="Want other numbers of workers", responses=problems(403, 409, 413, 422, 503))
@STATEMENTS.route
def change(context: Here, body: Wanted) -> dict:
    """Further workers start, and surplus ones end once they have given back what they hold. 409 above `mappers_max` or
    `reducers_max`."""
    notes = workforce.change(context, body.model_dump(exclude_none=True))
    return {**workforce.document(context), "notes": notes}
