"""Ids of server-sent events: the query, the selection and the last row, as text for an HTTP header. Pure.

An id contains nothing else, so the same rows have the same id whenever they are sent: rows of a published window never
change, nor does their order. Where rows do change, an id has the place among the changes (mars/results/changes.py).
"""

from __future__ import annotations

import hashlib

from mars.errors import RequestError
from mars.results.cursors import Selection
from mars.results.places import Changes, Place

BEGIN = "begin again without Last-Event-ID"


def dump(query_id: str, place: Place | Changes, selection: Selection) -> str:
    """The id of the event whose last row is the one before `place`."""
    if isinstance(place, Changes):
        return "/".join([query_id, place.text, *_asked(selection)])
    return "/".join([query_id, str(place.start_us), str(place.end_us), str(place.skip), *_asked(selection)])


def load(text: str, query_id: str, selection: Selection, changing_parts: int = 0) -> Place | Changes:
    """The place after an event's rows; RequestError unless the event is one of this query and selection. `changing_parts`:
    the key parts of a query whose rows change."""
    try:
        query, place, asked = (_changes_of if changing_parts else _place_of)(text)
        if len(asked) > 1 or (isinstance(place, Changes) and len(place.parts) != changing_parts):
            raise ValueError(text)
    except ValueError:
        raise RequestError("this is not an event id", f"Last-Event-ID is {text!r}",
                           "send the id of an event of this stream, or none") from None
    if query != query_id:
        raise RequestError("the event id belongs to another query", "or to this one before it was dropped or altered", BEGIN)
    if asked != _asked(selection):
        raise RequestError("the event id belongs to other rows",
                           "from or where differs from that of the stream that the id came from",
                           "give the same from and where, or begin again without Last-Event-ID")
    return place


def _place_of(text: str) -> tuple[str, Place | Changes, list[str]]:
    query, start, end, skip, *asked = text.split("/")
    place = Place(int(start), int(end), int(skip))
    if place.skip < 1 or not -2**63 <= place.start_us < place.end_us < 2**63:
        raise ValueError(text)
    return query, place, asked


def _changes_of(text: str) -> tuple[str, Place | Changes, list[str]]:
    query, place, *asked = text.split("/")
    return query, Changes.load(place), asked


def _asked(selection: Selection) -> list[str]:
    """A short name of the selection; empty for all rows."""
    return [] if selection == Selection() else [hashlib.sha256(repr(selection).encode()).hexdigest()[:12]]
