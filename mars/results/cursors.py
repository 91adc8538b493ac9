"""Page cursors: where a page ended, and as of which commit, as URL-safe text.

Windows behind a published watermark never change, so the watermark in the cursor names the rows of its commit for ever;
the vector of commit numbers tells people and programs which commit that was.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from dataclasses import dataclass, fields
from operator import le
from typing import Annotated, TypeVar

import orjson
from pydantic import Field, TypeAdapter

from mars.errors import RequestError
from mars.results.formats import timestamp_text

LIMIT_DEFAULT, LIMIT_MAX = 1_000, 100_000
# The types in cursors, which are checked because anybody may have written a cursor.
Number = Annotated[int, Field(gt=-2**63, lt=2**63)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
T = TypeVar("T")


def _time(time_us: int | None) -> str:
    return timestamp_text(time_us) or "not given"


# The name of each field of a selection in a request, and how its value is written there.
PARAMETERS = {"first_us": ("from", _time), "end_us": ("to", _time), "where": ("where", lambda text: text or "not given"),
              "descending": ("order", lambda is_so: "desc" if is_so else "asc"),
              "partial": ("partial", lambda is_so: str(is_so).lower())}


@dataclass(frozen=True)
class Selection:
    """The rows asked for: first_us <= window_start < end_us; `where` is a condition over result columns."""

    first_us: Number | None = None
    end_us: Number | None = None
    where: str | None = None
    descending: bool = False
    partial: bool = False


@dataclass(frozen=True)
class Cursor:
    """The next page of `query` (its id): rows as of the commit vector `commits`, whose watermark is `bound_us`, after
    `skip` rows of the window [start_us, end_us). `open_id` names the open windows that go with a partial page. Windows up to
    `gone_us` had lost rows to the retention when the first page was read."""

    query: str
    commits: tuple[Count, ...]
    bound_us: Number | None
    selection: Selection
    start_us: Number
    end_us: Number
    skip: Count
    open_id: str = ""
    gone_us: Number | None = None

    def check(self, query_id: str, given: Selection, named: Collection[str] = ()) -> None:
        """RequestError if the page belongs to another query, or if a parameter contradicts the first page's. A parameter
        counts if it is not its default, or is named in the request (`named`)."""
        if query_id != self.query:
            raise RequestError("the cursor belongs to another query", "or to this one before ALTER QUERY",
                               "begin again without cursor")
        for field in fields(Selection):
            said, first = getattr(given, field.name), getattr(self.selection, field.name)
            name, shown = PARAMETERS[field.name]
            is_said = said != field.default or (name in named and said is not None)
            if is_said and said != first:
                raise RequestError("the cursor contradicts a parameter",
                                   f"{name} is {shown(said)} now and was {shown(first)} on the first page",
                                   "repeat the parameters of the first page, or leave them out")

    def has_lost(self, gone_us: int | None) -> bool:
        """Are rows of this or a further page no longer kept, if windows up to `gone_us` have lost some by now?"""
        if gone_us is None:
            return False
        first_us, has_grown = self.selection.first_us, self.gone_us is None or gone_us > self.gone_us
        ends_early = self.selection.descending and has_grown and (first_us is None or first_us < gone_us)
        return gone_us >= self.end_us or ends_early

    def is_of(self, vector: tuple[int, ...], watermark_us: int | None) -> bool:
        """Can a page have had this cursor, if these are the commits and the watermark now? Both only grow."""
        is_later = self.bound_us is not None and (watermark_us is None or self.bound_us > watermark_us)
        return not is_later and len(self.commits) == len(vector) and all(map(le, self.commits, vector))


CURSOR = TypeAdapter(Cursor)


def dump(cursor: object) -> str:
    """A cursor as text that needs no escaping in a URL."""
    return base64.urlsafe_b64encode(orjson.dumps(cursor)).decode().rstrip("=")


def load(text: str, kind: TypeAdapter[T]) -> T:
    """The cursor of such a text; RequestError for any other."""
    try:
        return kind.validate_json(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), strict=True)
    except (binascii.Error, ValueError) as error:
        raise no_cursor() from error


def no_cursor() -> RequestError:
    """The error for a text that is not the cursor of any page."""
    return RequestError("this is not a cursor", hint="give `next` of the previous page, or leave out cursor")
