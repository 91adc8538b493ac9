"""Results of a query: pages of rows, and a stream of events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from api.rest import events
from api.rest.dependencies import Here, known_parameters
from api.rest.openapi import NAMED, media, problems
from api.rest.pools import COMMITS, ROWS
from mars.results import formats, pages, tails
from mars.results.cursors import LIMIT_DEFAULT, LIMIT_MAX, Selection
from mars.results.pages import Form, Page
from mars.results.times import instant_us

router = APIRouter(prefix="/v1/queries/{name}/results", tags=["Results"], dependencies=[Depends(known_parameters)],
                   responses={**NAMED, **problems(400, 410, 422)})
Where = Annotated[str | None, Query(description="a condition over the columns, as in WHERE: count > 10")]


@router.get("", summary="Rows of closed windows", responses={
    **media(formats.CSV, formats.ARROW), **problems(406, 409)})
async def rows(context: Here, request: Request, name: str, accept: Annotated[str, Header()] = "*/*", partial: bool = False,
               from_: Annotated[str | None, Query(alias="from", description="least window_start")] = None,
               to: Annotated[str | None, Query(description="window_start below this")] = None,
               where: Where = None, limit: Annotated[int, Query(ge=1, le=LIMIT_MAX)] = LIMIT_DEFAULT,
               order: Literal["asc", "desc"] = "asc", cursor: str | None = None,
               min_commit: Annotated[int, Query(ge=0)] = 0) -> Response:
    """Ordered by window_start, window_end, keys. `Accept` chooses JSON, CSV or an Arrow stream. `next` is the cursor of
    the next page of the same commit; 410 if rows of it are no longer kept. `min_commit` waits for a commit with at least
    that number."""
    form = FORMS[formats.choose(accept)]
    selection = Selection(instant_us("from", from_), instant_us("to", to), where or None, order == "desc", partial)

    def answer() -> Response:
        named = request.query_params.keys()
        made = pages.page_as(form, context.results, name, selection, limit, cursor or None, min_commit, named)
        return Response(made.body, media_type=made.media_type, headers=made.headers)

    return await (COMMITS if min_commit else ROWS).run(answer)


@router.get("/stream", summary="Rows as they become final, as server-sent events", response_class=StreamingResponse,
            responses=media(events.MEDIA_TYPE))
def stream(context: Here, name: str, last_event_id: Annotated[str | None, Header()] = None,
           from_: Annotated[str | None, Query(alias="from", description="a time, or `now`")] = None,
           where: Where = None) -> StreamingResponse:
    """Sends an event `result` for each window that a commit closes, or for each 5,000 of its rows: first all windows that
    are kept, then each new one. `from` leaves out older windows, `from=now` all windows that are closed already. `where`
    leaves out rows, and windows without other rows. The same rows come under the same id, whenever they are read with the
    same `from` and `where`. After a broken connection, `Last-Event-ID` with the same `from` and `where` continues without
    loss or repeat; 410 if rows after it are no longer kept. An event `error` has a problem that somebody must fix, such
    as a damaged file; the stream continues once that is done. After an `error` with status 410 the stream ends. `dropped`
    is the last event of a dropped query."""
    tail = tails.open_tail(context.results, name, last_event_id, from_, where or None)
    return StreamingResponse(events.stream(context, tail), media_type=events.MEDIA_TYPE,
                             headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})


@dataclass(frozen=True)
class Answer:
    """What goes to the client."""

    media_type: str
    headers: dict[str, str]
    body: bytes


def _csv(page: Page) -> Answer:
    return Answer("text/csv; charset=utf-8; header=present", _headers(page), formats.to_csv(page.rows))


def _arrow(page: Page) -> Answer:
    return Answer(formats.ARROW, _headers(page), formats.to_arrow(page.rows))


def _json(page: Page) -> Answer:
    document = {"columns": formats.named_types(page.rows.schema), "next": page.next, "commit": page.commit,
                "watermark": page.watermark, **({"reason": page.reason} if page.reason else {})}
    return Answer(formats.JSON, _headers(page), formats.to_json(document, page.rows))


def _headers(page: Page) -> dict[str, str]:
    next_ = {"Mars-Next": page.next} if page.next else {}
    return {"Mars-Commit": str(page.commit), "Mars-Watermark": page.watermark or "", "Vary": "Accept", **next_}


FORMS = {media_type: Form(make, lambda answer: len(answer.body))
         for media_type, make in ((formats.JSON, _json), (formats.CSV, _csv), (formats.ARROW, _arrow))}
