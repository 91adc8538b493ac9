"""Connections as resources. No secret goes in or out: they are named."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from api.rest.dependencies import Here
from api.rest.openapi import CHANGING, NAMED, problems
from api.rest.pools import STATEMENTS
from api.statements import connections
from mars.adapters.catalog_names import require_free
from mars.model.registry import Catalog

router = APIRouter(prefix="/v1/connections", tags=["Sinks"])


class SecretName(BaseModel):
    """The name of a secret that `mars secret set` keeps."""

    model_config = ConfigDict(extra="forbid")
    secret: str = Field(min_length=1, max_length=100)


class NewConnection(BaseModel):
    """`to` is POSTGRES, KAFKA, ICEBERG, S3 or HTTP, `options` as in CREATE CONNECTION."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=200, examples=["backup"])
    to: str = Field(examples=["KAFKA"])
    options: dict[str, int | str | SecretName] = Field(examples=[{"ADDRESS": "kafka-1:9092"}])


@router.get("", summary="All connections", responses=problems(503))
def every(context: Here) -> dict:
    """By name."""
    return {"connections": connections.documents(context)}


@router.get("/{name}", summary="One connection", responses=NAMED)
def one(context: Here, name: str) -> dict:
    """Its options, and the sinks that use it."""
    return connections.named(context, name)


@router.post("", status_code=201, summary="Make a connection", responses={**CHANGING, **problems(400, 413, 422)})
@STATEMENTS.route
def create(context: Here, body: NewConnection, response: Response) -> dict:
    """The secrets that it names must be there."""
    require_free(Catalog(), body.name)
    options = {key: value.model_dump() if isinstance(value, SecretName) else value for key, value in body.options.items()}
    made = connections.create(context, connections.of_request(context, body.name, body.to, options))
    response.headers["Location"] = f"/v1/connections/{quote(body.name, safe='')}"
    return connections.document(made, [])


@router.delete("/{name}", status_code=204, summary="Drop a connection", responses=CHANGING)
@STATEMENTS.route
def drop(context: Here, name: str) -> None:
    """409 that names the sinks which use it."""
    context.sink_definitions.drop_connection(name)
