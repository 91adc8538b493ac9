"""A stream's dead letters, page by page."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from api.rest.dependencies import Here, known_parameters
from api.rest.openapi import NAMED, problems
from api.statements import letter_pages
from api.statements.letter_pages import Condition
from api.statements.letters import why_none
from mars.results import formats
from mars.results.cursors import LIMIT_DEFAULT, LIMIT_MAX

router = APIRouter(prefix="/v1/streams/{name}/dead-letters", tags=["Dead letters"],
                   dependencies=[Depends(known_parameters)])


@router.get("", summary="Tuples that cannot be read", responses={**NAMED, **problems(400, 422)})
def rows(context: Here, name: str, limit: Annotated[int, Query(ge=1, le=LIMIT_MAX)] = LIMIT_DEFAULT,
         cursor: str | None = None,
         where: Annotated[str | None, Query(description="a condition over the columns, for example: partition = 0")] = None
         ) -> Response:
    """Ordered by partition, offset, line. `next` is the cursor of the next page, for the same `where`; letters that come
    later may be on that page. `deleted` counts older letters that are no longer kept. `redriven` letters were sent
    again."""
    stream = context.catalog.stream(name)
    page = letter_pages.page(context, stream, Condition(where or None), limit, cursor or None)
    document = {"columns": formats.named_types(page.rows.schema), "next": page.next, "deleted": page.deleted}
    if not len(page.rows) and not cursor:
        document["reason"] = why_none(context, stream, bool(where), page.deleted)
    return Response(formats.to_json(document, page.rows), media_type=formats.JSON)
