"""The REST application and its server: its routes, who may use them, and how it stops."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI, Request, Response

from api.rest import openapi, problems
from api.rest.body_limit import BodyLimit
from api.rest.foreign_pages import ForeignPages
from api.rest.problems import UnauthorizedError
from api.rest.routes import connections, letters, queries, results, sinks, sql, system, workers
from api.statements.context import Context
from mars.config import Config
from mars.settings_checks import is_loopback

OPEN_PATHS = ("/healthz", "/readyz")
GRACE_S = 3
DESCRIPTION = "Exact, live window statistics over Kafka topics, in SQL."


def create_app(context: Context) -> FastAPI:
    """The application over a context. It makes no connections and starts no threads of its own."""
    app = FastAPI(title="Mars", version="0.1.0", description=DESCRIPTION, docs_url=None, redoc_url=None,
                  responses=openapi.EVERY)
    app.state.context = context
    problems.install(app)
    for module in (sql, queries, results, letters, sinks, connections, workers, system):
        app.include_router(module.router)
    is_open = not is_loopback(context.config.api_host)
    openapi.install(app, OPEN_PATHS, is_open)
    if is_open:
        app.middleware("http")(_token_guard(context.config.api_token))
    app.add_middleware(BodyLimit)
    app.add_middleware(ForeignPages, config=context.config, is_open=is_open)
    return app


def serve(app: FastAPI, config: Config) -> None:
    """Answer requests until SIGINT or SIGTERM. Then open streams end, and running requests get GRACE_S seconds. Closes
    the application's context. Call it from the main thread."""
    context: Context = app.state.context
    settings = uvicorn.Config(app, host=config.api_host, port=config.api_port, log_config=None, access_log=False,
                              timeout_graceful_shutdown=GRACE_S, ssl_certfile=config.api_tls_certificate or None,
                              ssl_keyfile=config.api_tls_key or None, server_header=False)
    try:
        _Server(settings, context).run()
    finally:
        # kafka-python tells it as an error, with a stack trace, that its own timers meet a closed connection.
        logging.getLogger("kafka.net.selector").setLevel(logging.CRITICAL)
        context.close()


class _Server(uvicorn.Server):
    """Ends the open streams before it waits for them."""

    def __init__(self, settings: uvicorn.Config, context: Context) -> None:
        super().__init__(settings)
        self.context = context

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        logging.getLogger("mars.api").info("stopping on signal %d", sig)
        self.context.shutdown.set()
        super().handle_exit(sig, frame)


def _token_guard(token: str) -> Callable[[Request, Callable], Awaitable[Response]]:
    async def guard(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        given = request.headers.get("authorization", "")
        wanted = f"Bearer {token}"
        if request.url.path in OPEN_PATHS or (token and hmac.compare_digest(given.encode(), wanted.encode())):
            return await call_next(request)
        return problems.of_error(UnauthorizedError("a token is needed", "the request has no valid bearer token",
                                                   "send the header `Authorization: Bearer` and the api_token"))

    return guard
