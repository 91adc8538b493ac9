"""What answers at this address, liveness, readiness and metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from api.rest import docs_page, metrics
from api.rest.dependencies import Here
from api.rest.openapi import problems
from api.rest.problems import problem
from api.statements import status

router = APIRouter(tags=["System"])
LINKS = {"sql": "/v1/sql", "streams": "/v1/streams", "queries": "/v1/queries", "sinks": "/v1/sinks",
         "connections": "/v1/connections", "workers": "/v1/workers", "metrics": "/metrics", "health": "/healthz",
         "readiness": "/readyz", "docs": "/docs", "openapi": "/openapi.json"}


@router.get("/", summary="What answers at this address")
async def index(request: Request) -> dict:
    """Name, version, and the paths of everything else."""
    return {"name": "Mars", "version": request.app.version, "links": LINKS}


@router.get("/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    """The API's description for a browser."""
    return HTMLResponse(docs_page.page(request.app.openapi()), headers={"Content-Security-Policy": docs_page.POLICY})


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="The process answers")
async def health() -> dict:
    """Always 200 while the process lives."""
    return {"status": "ok"}


@router.head("/readyz", include_in_schema=False, response_model=None)
@router.get("/readyz", summary="Everything that Mars needs answers", response_model=None, responses=problems(503))
def ready(context: Here) -> dict | Response:
    """200 with each dependency's state, or a 503 problem with the same."""
    found = status.dependencies(context)
    missing = [name for name, state in found.items() if not state["ready"]]
    if not missing:
        return {"status": "ready", "dependencies": found}
    return problem(503, "not ready", "; ".join(f"{name}: {found[name]['detail']}" for name in missing),
                   "wait a moment, then see `mars status` and the logs", dependencies=found)


@router.get("/metrics", summary="Prometheus metrics", response_class=PlainTextResponse, responses=problems(503))
def prometheus(context: Here) -> Response:
    """In the text format of Prometheus."""
    return Response(metrics.render(context), media_type=metrics.MEDIA_TYPE)
