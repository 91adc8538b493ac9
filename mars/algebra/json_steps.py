"""The steps of a JSON path like $.a.b[0], which get_json_object takes."""

from __future__ import annotations

import re

STEP = re.compile(r"\.([^.\[\]*'\"]+)|\[(\d{1,9})\]|\['([^']+)'\]")


def steps(path: str) -> list[str | int] | None:
    """The names and places of a path like $.a.b[0]; None if it is not one."""
    if not path.startswith("$"):
        return None
    found: list[str | int] = []
    place = 1
    while place < len(path):
        match = STEP.match(path, place)
        if match is None:
            return None
        found.append(int(match[2]) if match[2] else match[1] or match[3])
        place = match.end()
    return found
