"""Requests that wait long take no thread from the others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import httpx
import pytest

from api.rest import pools
from api.rest.app import create_app
from api.statements import dispatch
from api.statements.answers import Answer
from mars.results import snapshot

pytestmark = pytest.mark.services
MANY = 45


def talk(context, talked: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    """Talk to the application in one event loop, as its server runs it."""
    async def run() -> None:
        transport = httpx.ASGITransport(create_app(context), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            await talked(client)

    asyncio.run(run())


async def others_answer(client: httpx.AsyncClient) -> None:
    """Everything that does not wait is there at once: liveness, an error, and what is read on a thread."""
    async with asyncio.timeout(2):
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/nothing")).status_code == 404
        assert (await client.get("/v1/queries")).status_code == 200


def test_who_waits_for_a_commit_keeps_nobody_waiting(context, new_query, monkeypatch):
    name = new_query().query.name
    monkeypatch.setattr(snapshot, "COMMIT_WAIT_S", 4.0)

    async def talked(client: httpx.AsyncClient) -> None:
        path = f"/v1/queries/{name}/results"
        waiting = [asyncio.create_task(client.get(path, params={"min_commit": 999_999_999})) for _ in range(MANY)]
        await asyncio.sleep(0.5)
        await others_answer(client)
        async with asyncio.timeout(2):
            assert (await client.get(path)).status_code == 200
        titles = [(await answer).json()["title"] for answer in waiting]
        assert titles == ["the commit has not come yet"] * MANY

    talk(context, talked)


def test_long_statements_keep_nobody_waiting_and_are_stopped_before_their_turn(context, monkeypatch):
    go_on = threading.Event()

    def execute(_context, sql: str, _id: str) -> Answer:
        assert go_on.wait(30)
        return Answer("created", sql)

    monkeypatch.setattr(dispatch, "execute", execute)

    async def talked(client: httpx.AsyncClient) -> None:
        running = [asyncio.create_task(client.post("/v1/sql", json={"sql": "x", "id": str(i)})) for i in range(MANY)]
        await asyncio.sleep(0.5)
        try:
            await others_answer(client)
            async with asyncio.timeout(2):
                last = f"/v1/sql/{MANY - 1}"
                assert (await client.get(last)).json()["done"] == 0
                assert (await client.delete(last)).status_code == 204
        finally:
            go_on.set()
        *done, stopped = [await answer for answer in running]
        assert {answer.status_code for answer in done} == {200}
        assert (stopped.status_code, stopped.json()["title"]) == (400, "the statement was stopped")

    talk(context, talked)


def test_a_lane_that_stays_full_says_so(monkeypatch):
    monkeypatch.setattr(pools, "QUEUE_S", 0.2)
    pool, go_on = pools.Pool("tests", 1), threading.Event()

    async def talked() -> None:
        first = asyncio.create_task(pool.run(go_on.wait, 30))
        await asyncio.sleep(0.05)
        with pytest.raises(pools.NotReadyError, match="too many tests"):
            await pool.run(int)
        go_on.set()
        assert await first
        assert await pool.run(int, "7") == 7

    asyncio.run(talked())
