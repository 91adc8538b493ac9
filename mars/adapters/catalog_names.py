"""Finding names in a catalog, and what to say if a name does not exist or exists already. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from mars.errors import ConflictError, NotFoundError, SqlError
from mars.model.identifiers import identifier
from mars.model.plan import Stream
from mars.model.registry import Catalog

TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """'did you mean x? ' for the closest known name, or nothing."""
    by_key = {k.lower(): k for k in known}
    near = difflib.get_close_matches(name.lower(), by_key, n=1, cutoff=0.6)
    return f"did you mean {by_key[near[0]]}? " if near else ""


def how_to_fill(topic: str) -> str:
    """What to do about a topic that does not exist: its first tuples create it, if Kafka allows its name."""
    if not TOPIC.fullmatch(topic) or topic in (".", ".."):
        return "this cannot be a topic's name: a name has up to 249 letters and digits of ASCII, '.', '_' and '-'"
    return f"a topic comes with its first tuples, for example: mars load FILE --topic {topic}"


def require_free(catalog: Catalog, name: str) -> None:
    """ConflictError if a stream or query has the name; SqlError if it cannot be part of an address."""
    if not name.strip() or name in (".", "..") or any(c == "/" or not c.isprintable() for c in name):
        raise SqlError("this cannot be a name", repr(name), "leave out slashes and control characters, and use more than "
                       "dots: names are part of the addresses of the REST interface")
    kind = catalog.kind(name)
    if kind == "late":
        raise ConflictError("the name exists", f"the late tuples of a query are called {name}", "choose another name")
    if kind:
        raise ConflictError("the name exists", f"there is already a {kind} {name}",
                            f"choose another name, or DROP {kind.upper()} {name} first")


def require_free_late(catalog: Catalog, name: str, late_to: str | None) -> None:
    """The same for the name of a new query's late tuples; None is allowed."""
    if late_to is not None and late_to.lower() == name.lower():
        raise ConflictError("the name exists", f"LATE TO {late_to} has the name of the query itself",
                            f"write LATE TO {late_to}_late")
    if late_to is not None:
        require_free(catalog, late_to)


def find_stream(catalog: Catalog, name: str) -> Stream:
    """The stream of that name in any case; NotFoundError with a did-you-mean."""
    stream = catalog.streams.get(name.lower())
    if stream is None:
        raise unknown("stream", name, catalog)
    return stream


def query_place(catalog: Catalog, name: str) -> tuple[Stream, str]:
    """The stream and the id of the query of that name in any case; NotFoundError with a did-you-mean."""
    place = catalog.queries.get(name.lower())
    if place is None:
        raise unknown("query", name, catalog)
    return find_stream(catalog, place[0]), place[1]


def late_place(catalog: Catalog, name: str) -> tuple[Stream, str]:
    """The stream and the id of the query whose late tuples have that name; NotFoundError with a did-you-mean."""
    place = catalog.late.get(name.lower())
    if place is None:
        raise NotFoundError("unknown late tuples", f"no query has LATE TO {name}",
                            f"{did_you_mean(name, catalog.late)}`SHOW QUERIES` shows the statements of all queries")
    return find_stream(catalog, place[0]), place[1]


def unknown(kind: str, name: str, catalog: Catalog) -> NotFoundError:
    """The error for a name that is not a `kind`."""
    other = catalog.kind(name)
    if other == "late":
        return NotFoundError(f"unknown {kind}", f"{name} are the late tuples of a query, not a {kind}",
                             f"write SELECT * FROM {identifier(name)}")
    if other and other != kind:
        return NotFoundError(f"unknown {kind}", f"{name} is a {other}, not a {kind}", f"see `DESCRIBE {name}`")
    known = [s.name for s in catalog.streams.values()] if kind == "stream" else list(catalog.queries)
    listing = "SHOW STREAMS" if kind == "stream" else "SHOW QUERIES"
    return NotFoundError(f"unknown {kind}", f"there is no {kind} {name}",
                         f"{did_you_mean(name, known)}`{listing}` lists them all")
